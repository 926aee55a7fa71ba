package rte_test

import (
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/rte"
)

// sayer is what a program finds in every job of many ranks.
func sayer(t *testing.T, j rte.Job) rte.Sayer {
	t.Helper()
	s, ok := j.(rte.Sayer)
	if !ok {
		t.Fatalf("a job by %s cannot say things once", j.Launcher())
	}
	return s
}

func TestSayOnceInProcess(t *testing.T) {
	h := rte.NewHub(3)
	if sayer(t, h.Job(2)).SayOnce("copy", "x") {
		t.Error("the first is not to print")
	}
	if !sayer(t, h.Job(0)).SayOnce("copy", "y") || !sayer(t, h.Job(2)).SayOnce("copy", "x") {
		t.Error("others are to print, too")
	}
	if sayer(t, h.Job(0)).SayOnce("room", "z") {
		t.Error("keys are mixed up")
	}
}

// TestSayOnceHydra: without our mpirun the ranks of a host agree who speaks.
func TestSayOnceHydra(t *testing.T) {
	out, err := hydra(t, "say", "-n", "4").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, key := range []string{"copy", "room"} {
		if n := strings.Count(string(out), key+" is missing"); n != 1 {
			t.Errorf("%d ranks spoke of %s:\n%s", n, key, out)
		}
	}
}

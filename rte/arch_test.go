package rte

import (
	"testing"

	"github.com/ompi-go/ompi-go/datatype"
)

func TestArchitectures(t *testing.T) {
	h := NewHub(3)
	for r, a := range []datatype.Arch{datatype.ArchLittle, datatype.ArchBig} {
		if err := PutArch(h.Job(r), a); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Job(2).Put(archKey, []byte("PDP-11")); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 3)
	for r := range 3 {
		go func() { done <- h.Job(r).Fence() }()
	}
	for range 3 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	for r, want := range []datatype.Arch{datatype.ArchLittle, datatype.ArchBig} {
		if a, err := ArchOf(h.Job(0), r); err != nil || a != want {
			t.Errorf("rank %d: %v, %v; want %v", r, a, err, want)
		}
	}
	if a, err := ArchOf(h.Job(0), 2); err == nil {
		t.Errorf("a foreign card gives %v", a)
	}
	if _, err := ArchOf(h.Job(0), 3); err == nil {
		t.Error("a rank that does not exist has an architecture")
	}
}

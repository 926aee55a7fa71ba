package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/internal/mpiruntest"
)

// build makes a program of this module.
func build(t *testing.T, dir, pkg string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.Base(pkg))
	if out, err := exec.Command("go", "build", "-o", path, pkg).CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
	return path
}

func TestPortals4(t *testing.T) {
	dir := t.TempDir()
	mpirun, program := build(t, dir, "../../cmd/mpirun"), build(t, dir, "../portals4")
	for _, nal := range []string{"shm", "tcp"} {
		t.Run(nal, func(t *testing.T) {
			mpiruntest.New(t, mpirun, "-n", "3", "--mca", "portals4_nal", nal, program).Run(0,
				`rank 0: PTL_EVENT_PUT, match bits 0x6702, in the guest book at 0: greetings from rank 2`,
				`rank 2: PTL_EVENT_PUT, match bits 0x6701, in the guest book at 0: greetings from rank 1`,
				`rank 1: PTL_EVENT_ACK of our text, 21 bytes`,
				`the token went around 3 ranks`)
		})
	}
	t.Run("one rank", func(t *testing.T) {
		mpiruntest.New(t, mpirun, "-n", "1", program).Run(1, `one rank`)
	})
}

// TestNoMPI: neither ompi nor a PML is in the program.
func TestNoMPI(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for p := range strings.Lines(string(out)) {
		p, ours := strings.CutPrefix(strings.TrimSpace(p), "github.com/ompi-go/ompi-go/")
		floor, _, _ := strings.Cut(p, "/")
		if ours && (floor == "ompi" || floor == "pml" || floor == "bml" || floor == "coll") {
			t.Errorf("the program contains %s", p)
		}
	}
}

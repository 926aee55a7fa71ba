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

func TestBTLAlone(t *testing.T) {
	dir := t.TempDir()
	mpirun, program := build(t, dir, "../../cmd/mpirun"), build(t, dir, "../btlalone")
	for _, name := range []string{"sm", "tcp"} {
		t.Run(name, func(t *testing.T) {
			mpiruntest.New(t, mpirun, "-n", "3", "--mca", "btl", name, program, "-n", "50").
				Run(0, `^rank 1 over `+name+`: +0 bytes`, `^rank 2 over `+name+`: 16384 bytes`)
		})
	}
	t.Run("both", func(t *testing.T) {
		mpiruntest.New(t, mpirun, "-n", "2", program, "-n", "50").Run(0, `^rank 1 over sm: +8 bytes`)
	})
	t.Run("unreached", func(t *testing.T) {
		mpiruntest.New(t, mpirun, "-n", "2", "--mca", "btl", "tcp", "--mca", "btl_tcp_disable_family", "4", "--mca", "btl_tcp_if_include", "127.0.0.0/8", program).
			Run(-1, `btlalone: .*no BTL reaches rank 1`)
	})
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

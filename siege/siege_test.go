package siege_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/internal/mpiruntest"
)

// The test program is also the ranks; mpirun is built once.
const roleVar = "OMPI_GO_SIEGE_ROLE"

// binaries is where mpirun is.
var binaries string

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		rankMain(role, os.Args[1:])
		return
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	var err error
	if binaries, err = os.MkdirTemp("", "ompi-go-siege-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(binaries)
	// The ranks of some tests are another user's.
	if err := os.Chmod(binaries, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if out, err := exec.Command("go", "build", "-o", binaries, "../cmd/mpirun").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building mpirun: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// How long a whole run and the end of a job may take.
const (
	limit = mpiruntest.Limit
	swift = mpiruntest.Swift
)

type job = mpiruntest.Job

// mpirun prepares our mpirun with words for it, then the role of its ranks and the words for that.
func mpirun(t *testing.T, words string, role ...string) *job {
	t.Helper()
	return launcher(t, filepath.Join(binaries, "mpirun"), strings.Fields(words), role...)
}

// singleton prepares a rank that nobody launches.
func singleton(t *testing.T, role ...string) *job {
	t.Helper()
	return launcher(t, os.Args[0], nil, role...)
}

// launcher prepares any launcher. The ranks learn their role from the environment, which every launcher hands on.
func launcher(t *testing.T, path string, words []string, role ...string) *job {
	t.Helper()
	args := append([]string(nil), words...)
	if path != os.Args[0] {
		args = append(args, os.Args[0])
	}
	j := mpiruntest.New(t, path, append(args, role[1:]...)...)
	j.Linger = swift
	return j.Env("HOME="+t.TempDir(), roleVar+"="+role[0])
}

// hydra prepares MPICH's launcher.
func hydra(t *testing.T, words string, role ...string) *job {
	t.Helper()
	path, err := exec.LookPath("mpiexec.hydra")
	if err != nil {
		t.Skip("mpiexec.hydra (MPICH) is not installed: ", err)
	}
	return launcher(t, path, strings.Fields(words), role...)
}

// program runs another executable instead of this one.
func program(j *job, path string) *job {
	for i, a := range j.Cmd.Args {
		if a == os.Args[0] {
			j.Cmd.Args[i] = path
		}
	}
	return j
}

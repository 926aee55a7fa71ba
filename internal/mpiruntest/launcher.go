package mpiruntest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Launcher is cmd/mpirun, built when the first test of a test program needs it. The zero value is ready.
type Launcher struct {
	once sync.Once
	dir  string
	path string
	err  error
}

// Path is the launcher's.
func (l *Launcher) Path(t testing.TB) string {
	t.Helper()
	l.once.Do(func() {
		if l.dir, l.err = os.MkdirTemp("", "ompi-go-test"); l.err != nil {
			return
		}
		l.path = filepath.Join(l.dir, "mpirun")
		if out, err := exec.Command("go", "build", "-o", l.path, "github.com/ompi-go/ompi-go/cmd/mpirun").CombinedOutput(); err != nil {
			l.err = fmt.Errorf("building mpirun: %w\n%s", err, out)
		}
	})
	if l.err != nil {
		t.Fatal(l.err)
	}
	return l.path
}

// Remove deletes it, after the last test.
func (l *Launcher) Remove() {
	if l.dir != "" {
		os.RemoveAll(l.dir)
	}
}

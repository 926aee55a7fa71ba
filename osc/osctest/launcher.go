package osctest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// launcher is cmd/mpirun, built when the first test of a test program needs it.
var launcher launcherOnce

type launcherOnce struct {
	once sync.Once
	dir  string
	path string
	err  error
}

func (l *launcherOnce) remove() {
	if l.dir != "" {
		os.RemoveAll(l.dir)
	}
}

func mpirun(t testing.TB) string {
	t.Helper()
	l := &launcher
	l.once.Do(func() {
		if l.dir, l.err = os.MkdirTemp("", "ompi-go-osctest"); l.err != nil {
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

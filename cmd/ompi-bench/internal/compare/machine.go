package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/ompi-go/ompi-go/bench/peers"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/limits"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
)

// runTimeout bounds one run of one side.
const runTimeout = 10 * time.Minute

// module is this project's import path, from which mpirun is built where none is installed.
const module = "github.com/ompi-go/ompi-go"

// NewRunner is a Runner on this machine. cleanup removes what was made for the run.
func NewRunner() (r *Runner, cleanup func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("compare: find this program: %w", err)
	}
	work, err := os.MkdirTemp("", "ompi-bench-")
	if err != nil {
		return nil, nil, fmt.Errorf("compare: %w", err)
	}
	cache := filepath.Join(work, "peers")
	if dir, err := os.UserCacheDir(); err == nil {
		cache = filepath.Join(dir, "ompi-go", "peers")
	}
	r = &Runner{
		Cores: runtime.NumCPU(),
		Ours: func(ctx context.Context) (string, string, error) {
			mpirun, err := findMpirun(ctx, self, work)
			return mpirun, self, err
		},
		Peer:     func(ctx context.Context, name string) (peer, error) { return findPeer(ctx, name, cache) },
		Start:    start,
		Limits:   func(ctx context.Context) ([]report.Limit, error) { return limits.Measure(ctx, self) },
		Out:      os.Stdout,
		Progress: report.NewProgress(os.Stderr),
	}
	return r, func() { os.RemoveAll(work) }, nil
}

// findMpirun takes the mpirun beside this program, or builds it.
func findMpirun(ctx context.Context, self, work string) (string, error) {
	beside := filepath.Join(filepath.Dir(self), "mpirun")
	if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		return beside, nil
	}
	made := filepath.Join(work, "mpirun")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", made, module+"/cmd/mpirun")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compare: there is no mpirun beside %s, and building it failed (run inside the source tree, or install mpirun there): %w\n%s",
			self, err, bytes.TrimSpace(out))
	}
	return made, nil
}

func findPeer(ctx context.Context, name, cache string) (peer, error) {
	launcher, err := exec.LookPath("mpirun." + name)
	if err != nil {
		return peer{}, fmt.Errorf("mpirun.%s is not installed", name)
	}
	if _, err := exec.LookPath("mpicc." + name); err != nil {
		return peer{}, fmt.Errorf("mpicc.%s is not installed", name)
	}
	program, err := peers.Build(ctx, "mpicc."+name, cache)
	return peer{launcher, program}, err
}

// start runs a program to its end. When time is up its launcher is asked to end the job, then killed.
func start(ctx context.Context, c command) (output, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	began := time.Now()
	err := cmd.Run()
	wall := time.Since(began)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return output{}, fmt.Errorf("%s did not end within %v", c, runTimeout)
	}
	if err != nil {
		return output{}, fmt.Errorf("%s: %w%s", c, err, tail(stderr.String()))
	}
	return output{stdout.String(), wall}, nil
}

// tail gives the last lines of what a program complained of.
func tail(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return ""
	}
	return ": " + strings.Join(lines[max(0, len(lines)-4):], " | ")
}

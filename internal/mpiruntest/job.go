// Package mpiruntest runs a launcher and its ranks for a test: it collects what they say, ends what hangs, and finds what is left
// of them. It is imported by the tests of cmd/mpirun and siege only.
package mpiruntest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// Limit is how long a whole run may take, start and all, on a machine that has other things to do. A job that hangs is ended there.
	Limit = 60 * time.Second
	// Swift is how long the end of a job may take once something has happened.
	Swift = 10 * time.Second
)

// markVar is inherited by all processes of one run, to find what is left of it.
const markVar = "OMPI_GO_TEST_MARK"

// Job is one run of a launcher.
type Job struct {
	T        *testing.T
	Cmd      *exec.Cmd
	Out, Err Text
	// Linger is how long processes of the run may outlive the launcher; 0: not at all.
	Linger time.Duration

	mark    string
	ready   chan string    // what follows "ready" in lines of the output; see StartReady
	drained sync.WaitGroup // the reader of the output
}

// Text is a buffer that can be looked at while a process still writes to it.
type Text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (b *Text) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String is what was written so far.
func (b *Text) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// New prepares the program at path with arguments. Parameters in the environment of whoever runs the tests do not count.
func New(t *testing.T, path string, args ...string) *Job {
	t.Helper()
	j := &Job{T: t, mark: fmt.Sprintf("%s.%d.%d", t.Name(), os.Getpid(), time.Now().UnixNano())}
	j.Cmd = exec.CommandContext(t.Context(), path, args...)
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "OMPI_MCA_") && !strings.HasPrefix(kv, "GOMAXPROCS=") {
			j.Cmd.Env = append(j.Cmd.Env, kv)
		}
	}
	// Under the race detector each process would sleep for a second at its end.
	j.Env(markVar+"="+j.mark, "GORACE=atexit_sleep_ms=0")
	j.Cmd.Stdout, j.Cmd.Stderr = &j.Out, &j.Err
	j.Cmd.WaitDelay = 5 * time.Second
	return j
}

// Env adds to the environment.
func (j *Job) Env(kv ...string) *Job {
	j.Cmd.Env = append(j.Cmd.Env, kv...)
	return j
}

// Run runs it to the end and checks the exit status (-1: any but 0), what must be in the output, and that no process is left.
func (j *Job) Run(status int, wants ...string) {
	j.T.Helper()
	j.Start()
	j.End(Limit, status, wants...)
}

// Start starts it.
func (j *Job) Start() {
	j.T.Helper()
	if err := j.Cmd.Start(); err != nil {
		j.T.Fatal(err)
	}
}

// StartReady starts it and waits until n lines of its output begin with "ready"; what follows that word is returned. All other
// lines go to Out.
func (j *Job) StartReady(n int) []string {
	j.T.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		j.T.Fatal(err)
	}
	j.Cmd.Stdout = w
	j.ready = make(chan string, 1000)
	err = j.Cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		j.T.Fatal(err)
	}
	j.drained.Go(func() { j.read(r) })
	j.T.Cleanup(j.drained.Wait)
	return j.Ready(n)
}

// Ready waits for n more lines that begin with "ready".
func (j *Job) Ready(n int) (words []string) {
	j.T.Helper()
	late := time.After(Limit)
	for len(words) < n {
		word, ok := "", false
		select {
		case word, ok = <-j.ready:
		case <-late:
		}
		if !ok {
			_ = j.Cmd.Process.Kill()
			_ = j.Cmd.Wait() // the end has been seen
			j.T.Fatalf("%d of %d ranks are ready\n%s%s", len(words), n, &j.Out, &j.Err)
		}
		words = append(words, word)
	}
	return words
}

// WaitOutput waits for the end of the output after StartReady: that of everybody who could write to it.
func (j *Job) WaitOutput() { j.drained.Wait() }

// End waits for the launcher's end, for so long at most, and checks as Run does.
func (j *Job) End(within time.Duration, status int, wants ...string) {
	j.T.Helper()
	hung := time.AfterFunc(within, func() { _ = j.Cmd.Process.Kill() })
	begin := time.Now()
	if _, ok := errors.AsType[*exec.ExitError](j.Cmd.Wait()); !ok && j.Cmd.ProcessState == nil {
		j.T.Fatal("the launcher does not end")
	}
	if !hung.Stop() {
		j.T.Errorf("still running after %v", time.Since(begin))
	}
	j.Check(status, wants...)
}

// Check checks the end of a launcher that has been waited for, as Run does.
func (j *Job) Check(status int, wants ...string) {
	j.T.Helper()
	if got := j.Cmd.ProcessState.ExitCode(); got != status && (status != -1 || got == 0) {
		j.T.Errorf("exit status %d, want %d", got, status)
	}
	for _, want := range wants {
		if ok, err := regexp.MatchString("(?m)"+want, j.Out.String()+j.Err.String()); !ok || err != nil {
			j.T.Errorf("no %q %v", want, err)
		}
	}
	j.gone()
	if j.T.Failed() {
		j.T.Logf("%q\n--- stdout\n%s--- stderr\n%s", j.Cmd.Args[1:], &j.Out, &j.Err)
	}
}

// Once checks that a text was said exactly once, on the standard error.
func (j *Job) Once(want string) {
	j.T.Helper()
	if n := len(regexp.MustCompile("(?m)"+want).FindAllString(j.Err.String(), -1)); n != 1 {
		j.T.Errorf("%d times %q in\n%s", n, want, &j.Err)
	}
}

// Processes returns the processes of the run that live.
func (j *Job) Processes() (pids []int) {
	j.T.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		j.T.Fatal(err)
	}
	for _, name := range names {
		// A process may be gone meanwhile; a zombie's environment is empty.
		if env, err := os.ReadFile(name); err == nil && bytes.Contains(env, []byte(markVar+"="+j.mark+"\x00")) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if err != nil {
				j.T.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone checks that no process of the run lives any more, after Linger at the latest; any that does is ended.
func (j *Job) gone() {
	j.T.Helper()
	for deadline := time.Now().Add(j.Linger); ; time.Sleep(5 * time.Millisecond) {
		left := j.Processes()
		if len(left) == 0 {
			return
		}
		if time.Now().Before(deadline) {
			continue
		}
		j.T.Errorf("processes left: %v", left)
		for _, pid := range left {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill() // it is of this test, and the machine has others
			}
		}
		return
	}
}

// read takes the output line by line.
func (j *Job) read(r *os.File) {
	defer r.Close()
	defer close(j.ready)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if word, ok := strings.CutPrefix(lines.Text(), "ready"); ok {
			j.ready <- strings.TrimSpace(word)
		} else {
			fmt.Fprintln(&j.Out, lines.Text())
		}
	}
}

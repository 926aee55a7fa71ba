package siege_test

import (
	"bufio"
	"bytes"
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

// The test program is also the ranks; mpirun is built once.
const (
	roleVar = "OMPI_GO_SIEGE_ROLE"
	markVar = "OMPI_GO_SIEGE_MARK" // inherited by all processes of one run, to find what is left of it
)

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

// limit is how long a whole run may take, start and all, on a machine that has other things to do. A job that hangs is ended there.
const limit = 60 * time.Second

// swift is how long the end of a job may take once something has happened.
const swift = 10 * time.Second

// job is one run of a launcher.
type job struct {
	t        *testing.T
	cmd      *exec.Cmd
	mark     string
	out, err safeBuffer
}

// safeBuffer can be looked at while a process still writes to it.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

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
	j := &job{t: t, mark: fmt.Sprintf("%s.%d.%d", t.Name(), os.Getpid(), time.Now().UnixNano())}
	args := append([]string(nil), words...)
	if path != os.Args[0] {
		args = append(args, os.Args[0])
	}
	j.cmd = exec.CommandContext(t.Context(), path, append(args, role[1:]...)...)
	// Settings of whoever runs the tests do not count. Under the race detector each process would sleep for a second at its end.
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "OMPI_MCA_") && !strings.HasPrefix(kv, "HOME=") && !strings.HasPrefix(kv, "GOMAXPROCS=") {
			j.cmd.Env = append(j.cmd.Env, kv)
		}
	}
	j.env("HOME="+t.TempDir(), roleVar+"="+role[0], markVar+"="+j.mark, "GORACE=atexit_sleep_ms=0")
	j.cmd.Stdout, j.cmd.Stderr = &j.out, &j.err
	j.cmd.WaitDelay = 5 * time.Second
	return j
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

func (j *job) env(kv ...string) *job {
	j.cmd.Env = append(j.cmd.Env, kv...)
	return j
}

// program runs another executable instead of this one.
func (j *job) program(path string) *job {
	for i, a := range j.cmd.Args {
		if a == os.Args[0] {
			j.cmd.Args[i] = path
		}
	}
	return j
}

// run runs it to the end and checks the exit status (-1: any but 0), what must be in the output, and that no process is left.
func (j *job) run(status int, wants ...string) {
	j.t.Helper()
	j.start()
	j.end(limit, status, wants...)
}

func (j *job) start() {
	j.t.Helper()
	if err := j.cmd.Start(); err != nil {
		j.t.Fatal(err)
	}
}

// end waits for the launcher's end and checks as run does.
func (j *job) end(within time.Duration, status int, wants ...string) {
	j.t.Helper()
	hung := time.AfterFunc(within, func() { _ = j.cmd.Process.Kill() })
	begin := time.Now()
	_ = j.cmd.Wait() // the status tells
	if !hung.Stop() {
		j.t.Errorf("still running after %v", time.Since(begin))
	}
	j.check(status, wants...)
}

func (j *job) check(status int, wants ...string) {
	j.t.Helper()
	if got := j.cmd.ProcessState.ExitCode(); got != status && (status != -1 || got == 0) {
		j.t.Errorf("exit status %d, want %d", got, status)
	}
	for _, want := range wants {
		if ok, err := regexp.MatchString("(?m)"+want, j.out.String()+j.err.String()); !ok || err != nil {
			j.t.Errorf("no %q %v", want, err)
		}
	}
	j.gone()
	if j.t.Failed() {
		j.t.Logf("%q\n--- stdout\n%s--- stderr\n%s", j.cmd.Args[1:], &j.out, &j.err)
	}
}

// once checks that a text was said exactly once.
func (j *job) once(want string) {
	j.t.Helper()
	if n := len(regexp.MustCompile("(?m)"+want).FindAllString(j.err.String(), -1)); n != 1 {
		j.t.Errorf("%d times %q in\n%s", n, want, &j.err)
	}
}

// gone waits until no process of the run lives any more.
func (j *job) gone() {
	j.t.Helper()
	for deadline := time.Now().Add(swift); ; time.Sleep(5 * time.Millisecond) {
		left := j.processes()
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			j.t.Errorf("processes left: %v", left)
			for _, pid := range left {
				if p, err := os.FindProcess(pid); err == nil {
					_ = p.Kill() // it is of this test, and the machine has others
				}
			}
			return
		}
	}
}

// processes returns the processes of the run that live.
func (j *job) processes() (pids []int) {
	dirs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		j.t.Fatal(err)
	}
	for _, name := range dirs {
		// A process may be gone meanwhile; a zombie's environment is empty.
		if env, err := os.ReadFile(name); err == nil && bytes.Contains(env, []byte(markVar+"="+j.mark+"\x00")) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if err != nil {
				j.t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// startReady starts it and waits until n lines of its output begin with "ready"; what follows that word is returned.
func (j *job) startReady(n int) (words []string) {
	j.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		j.t.Fatal(err)
	}
	j.cmd.Stdout = w
	j.start()
	w.Close()
	_ = r.SetReadDeadline(time.Now().Add(limit))
	out := bufio.NewScanner(r)
	for len(words) < n && out.Scan() {
		if word, ok := strings.CutPrefix(out.Text(), "ready "); ok {
			words = append(words, word)
		} else {
			fmt.Fprintln(&j.out, out.Text())
		}
	}
	if len(words) < n {
		_ = j.cmd.Process.Kill()
		_ = j.cmd.Wait() // the end has been seen
		j.t.Fatalf("%d of %d ranks are ready (%v)\n%s%s", len(words), n, out.Err(), &j.out, &j.err)
	}
	_ = r.SetReadDeadline(time.Time{})
	var drained sync.WaitGroup
	drained.Go(func() {
		defer r.Close()
		for out.Scan() {
			fmt.Fprintln(&j.out, out.Text())
		}
	})
	j.t.Cleanup(drained.Wait)
	return words
}

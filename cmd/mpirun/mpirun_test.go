package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The test program is also mpirun and its ranks, so that the tests need nothing built.
const (
	roleVar = "OMPI_GO_MPIRUN_TEST_ROLE"
	markVar = "OMPI_GO_MPIRUN_TEST_MARK" // inherited by all processes of one run, to find what is left of it
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "mpirun":
		os.Exit(run(os.Args[1:]))
	case "rank":
		os.Exit(rankMain(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// job is one run of mpirun.
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

// newJob prepares mpirun with the given words; the word RANK stands for this program as a rank.
func newJob(t *testing.T, words ...string) *job {
	t.Helper()
	j := &job{t: t, mark: fmt.Sprintf("%s.%d.%d", t.Name(), os.Getpid(), time.Now().UnixNano())}
	var args []string
	for _, w := range words {
		if w == "RANK" {
			args = append(args, "-x", roleVar+"=rank", os.Args[0])
		} else {
			args = append(args, w)
		}
	}
	j.cmd = exec.CommandContext(t.Context(), os.Args[0], args...)
	// Under the race detector each process would sleep for a second at its end.
	j.cmd.Env = append(os.Environ(), roleVar+"=mpirun", markVar+"="+j.mark, "GORACE=atexit_sleep_ms=0")
	j.cmd.Stdout, j.cmd.Stderr = &j.out, &j.err
	j.cmd.WaitDelay = 5 * time.Second
	return j
}

// run runs it to the end and checks the exit status, what must be in the output, and that no process is left.
func (j *job) run(status int, wants ...string) {
	j.t.Helper()
	err := j.cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		j.t.Fatal(err)
	}
	j.check(status, wants...)
}

func (j *job) check(status int, wants ...string) {
	j.t.Helper()
	if got := j.cmd.ProcessState.ExitCode(); got != status {
		j.t.Errorf("exit status %d, want %d", got, status)
	}
	for _, want := range wants {
		if ok, err := regexp.MatchString("(?m)"+want, j.out.String()+j.err.String()); !ok || err != nil {
			j.t.Errorf("no %q", want)
		}
	}
	if left := j.left(); len(left) > 0 {
		j.t.Errorf("processes left: %v", left)
	}
	if j.t.Failed() {
		j.t.Logf("%q\n--- stdout\n%s--- stderr\n%s", j.cmd.Args[1:], &j.out, &j.err)
	}
}

// left returns the processes of the run that still live.
func (j *job) left() (pids []int) {
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

// start starts it with a pipe instead of the collected output, and waits until n lines begin with "ready".
func (j *job) start(n int) *bufio.Reader {
	j.t.Helper()
	j.cmd.Stdout = nil
	pipe, err := j.cmd.StdoutPipe()
	if err != nil {
		j.t.Fatal(err)
	}
	if err := j.cmd.Start(); err != nil {
		j.t.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	for n > 0 {
		line, err := out.ReadString('\n')
		if err != nil {
			j.t.Fatalf("%v after %q; stderr %s", err, line, &j.err)
		}
		if strings.HasPrefix(line, "ready") {
			n--
		}
	}
	return out
}

func (j *job) wait() {
	j.t.Helper()
	if _, ok := errors.AsType[*exec.ExitError](j.cmd.Wait()); !ok && j.cmd.ProcessState == nil {
		j.t.Fatal("mpirun does not end")
	}
}

func TestHello(t *testing.T) {
	j := newJob(t, "-n", "4", "RANK", "hello")
	j.run(0, `^rank 0 of 4 by mpirun, local \[0 1 2 3\]`, `^rank 3 of 4`)
	keys := regexp.MustCompile(`key (\w+)`).FindAllString(j.out.String(), -1)
	slices.Sort(keys)
	if len(slices.Compact(keys)) != 1 {
		t.Errorf("the ranks have different secrets")
	}
	if j.err.String() != "" {
		t.Errorf("stderr: %s", &j.err)
	}
}

func TestDefaultRanks(t *testing.T) {
	newJob(t, "RANK", "hello").run(0, `^rank 0 of [1-9]\d* by mpirun`)
}

func TestManyRanks(t *testing.T) {
	j := newJob(t, "-n", "64", "RANK", "hello")
	j.run(0)
	if n := strings.Count(j.out.String(), "of 64 by mpirun"); n != 64 {
		t.Errorf("%d ranks said hello", n)
	}
}

// TestFailures runs each way a rank can fail, to be told of in one message and to end the job.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		role   string
		status int
		want   string
	}{
		{"status 3", 3, `^mpirun: rank 1 \(pid \d+\) on \S+ exited with status 3; ending the job \(2 other ranks\)\n`},
		{"status 0", 1, `^mpirun: rank 1 \(pid \d+\) on \S+ exited without Finalize; ending the job \(2 other ranks\)\n`},
		{"kill", 137, `^mpirun: rank 1 \(pid \d+\) on \S+ was killed by signal 9 \(killed\); ending the job \(2 other ranks\)\n`},
		{"abort", 5, `^mpirun: rank 1 \(pid \d+\) on \S+ called Abort\(5\): nothing works; ending the job \(2 other ranks\)\n`},
		{"panic", 2, `^mpirun: rank 1 \(pid \d+\) on \S+ exited with status 2; ending the job \(2 other ranks\)\n`},
		{"report", 1, `^mpirun: ranks? \d.* on \S+ failed: parameter btl: no such thing\b`},
		{"early", 1, `^mpirun: rank 1 \(pid \d+\) on \S+ exited without Finalize`},
		{"stubborn", 6, `^mpirun: rank 1 \(pid \d+\) on \S+ exited with status 6; ending the job \(2 other ranks\)\n`},
	} {
		t.Run(c.role, func(t *testing.T) {
			j := newJob(t, append([]string{"-n", "3", "RANK"}, strings.Fields(c.role)...)...)
			j.run(c.status, c.want)
			if n := strings.Count(j.err.String(), "mpirun:"); n != 1 {
				t.Errorf("%d messages:\n%s", n, &j.err)
			}
		})
	}
}

func TestSurvive(t *testing.T) {
	newJob(t, "-n", "3", "--on-failure", "continue", "RANK", "survive").run(4,
		`^heard of rank 1: rank 1 \(pid \d+\) on \S+ exited with status 4\nheard of rank 1`,
		`^mpirun: rank 1 \(pid \d+\) on \S+ exited with status 4; going on with 2 other ranks`)
}

func TestSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			j := newJob(t, "-n", "2", "RANK", "hang")
			j.start(2)
			if err := j.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			j.wait()
			j.check(128+int(sig), fmt.Sprintf(`^mpirun: got signal %d \(%v\); ending the job \(2 ranks\)`, sig, sig))
		})
	}
}

// TestKilled: nothing, not even a word, outlives mpirun when it is killed.
func TestKilled(t *testing.T) {
	j := newJob(t, "-n", "3", "RANK", "hang")
	out := j.start(3)
	if err := j.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// The end of the ranks' output is the end of the ranks.
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
	j.wait()
	for deadline := time.Now().Add(10 * time.Second); len(j.left()) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("left: %v", j.left())
		}
	}
	if j.err.String() != "" {
		t.Errorf("stderr: %s", &j.err)
	}
}

func TestStopped(t *testing.T) {
	j := newJob(t, "-n", "2", "RANK", "hang")
	j.start(2)
	states := func(want string) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			all := ""
			for _, pid := range j.left() {
				stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
				if err != nil {
					t.Fatal(err)
				}
				_, after, _ := bytes.Cut(stat, []byte(") "))
				all += string(after[:1])
			}
			if stopped := strings.Count(all, "T"); stopped == len(all) && want == "T" || stopped == 0 && want != "T" {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("states %s, want %s", all, want)
			}
		}
	}
	for _, step := range []struct {
		sig  syscall.Signal
		want string
	}{{syscall.SIGTSTP, "T"}, {syscall.SIGCONT, "S"}, {syscall.SIGTERM, ""}} {
		if err := j.cmd.Process.Signal(step.sig); err != nil {
			t.Fatal(err)
		}
		if step.want != "" {
			states(step.want)
		}
	}
	j.wait()
	j.check(128 + int(syscall.SIGTERM))
}

func TestTimeout(t *testing.T) {
	newJob(t, "-n", "2", "--timeout", "0.3", "RANK", "hang").run(exitTimeout,
		`^mpirun: the job has run for 300ms \(--timeout\); ending it \(2 ranks\)`)
}

func TestNoMPI(t *testing.T) {
	newJob(t, "-n", "3", "echo", "plain").run(0, "^plain\nplain\nplain\n")
	newJob(t, "-n", "2", "sh", "-c", "exit $((PMI_RANK*9))").run(9, `rank 1 .* exited with status 9`)
	newJob(t, "-n", "1", "sh", "-c", "sleep 1000 & exit 0").run(0)
}

func TestStdin(t *testing.T) {
	j := newJob(t, "-n", "3", "RANK", "stdin")
	j.cmd.Stdin = strings.NewReader("some\ninput")
	j.run(0, `^rank 0 read "some\\ninput"\n`)
	if strings.Count(j.out.String(), "read") != 1 {
		t.Errorf("other ranks read, too:\n%s", &j.out)
	}
}

func TestEnvironment(t *testing.T) {
	tune := filepath.Join(t.TempDir(), "tune")
	if err := os.WriteFile(tune, []byte("-x A=tune -x B=tune\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j := newJob(t, "-n", "2", "--tune", tune, "-x", "A=cli", "-x", "NOTHING", "RANK", "env", "A", "B", "PMI_SIZE", "PMIX_RANK")
	j.cmd.Env = append(j.cmd.Env, "PMI_SIZE=77", "PMIX_RANK=1")
	j.run(0, `^1 A=cli true`, `^1 B=tune true`, `^0 PMI_SIZE=2 true`, `^0 PMIX_RANK= false`, `^mpirun: -x NOTHING: .*not set`)
}

func TestHandoff(t *testing.T) {
	newJob(t, "-n", "1", "--mca", "btl", "self,sm", "-mca", "odd", "a;b:c d", "RANK", "handoff").run(0,
		`^btl=self,sm from command line\nodd=a;b:c d from command line\n`)
}

func TestBinding(t *testing.T) {
	newJob(t, "-n", "3", "--bind-to", "core", "RANK", "cores").run(0, `^rank 2 has \d+, GOMAXPROCS=\d+`)
	j := newJob(t, "-n", "1", "RANK", "cores")
	j.cmd.Env = slices.DeleteFunc(j.cmd.Env, func(kv string) bool { return strings.HasPrefix(kv, "GOMAXPROCS=") })
	j.run(0, fmt.Sprintf(`^rank 0 has %d, GOMAXPROCS=\d+`, runtime.NumCPU()))
	newJob(t, "-n", "2", "-x", "GOMAXPROCS=5", "RANK", "cores").run(0, `^rank 1 has \d+, GOMAXPROCS=5`)
}

func TestTagOutput(t *testing.T) {
	j := newJob(t, "-n", "3", "--tag-output", "RANK", "lines")
	j.run(0, `^\[0\] the end\n`, `^\[2\] aside\n`)
	lines := strings.Split(strings.TrimSuffix(j.out.String(), "\n"), "\n")
	if len(lines) != 3*2001 {
		t.Errorf("%d lines", len(lines))
	}
	whole := regexp.MustCompile(`^\[[0-2]\] (line \d+ of some length|the end)$`)
	for _, line := range lines {
		if !whole.MatchString(line) {
			t.Fatalf("torn line %q", line)
		}
	}
}

func TestCannotStart(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		program string
		status  int
		want    string
	}{
		{"no-such-program-anywhere", exitNotFound, `^mpirun: no-such-program-anywhere: found neither in PATH nor`},
		{dir + "/none", exitNotFound, `^mpirun: .*/none: no such file or directory`},
		{write("data", "x", 0o644), exitNotExecutable, `^mpirun: .*/data: not an executable file`},
		{write("text", "no program", 0o755), exitNotExecutable, `^mpirun: .*/text: not in an executable format`},
		{write("lost", "#!/no/such/interpreter\n", 0o755), exitNotFound, `^mpirun: .*/lost: the program or its interpreter is missing`},
	} {
		newJob(t, "-n", "2", c.program).run(c.status, c.want)
	}
	newJob(t, "-n", "2", "--metrics", "256.0.0.1:1", "true").run(1, `^mpirun: --metrics: `)
}

func TestCommandLine(t *testing.T) {
	newJob(t, "--nonsense").run(exitUsage, `^mpirun: unknown option --nonsense`, `^usage: mpirun`)
	newJob(t, "--help").run(0, `^Usage: mpirun`)
	newJob(t, "--version").run(0, `^mpirun \(ompi-go\) \S`)
}

func TestGoDirectory(t *testing.T) {
	dir, tmp := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	goJob := func() *job {
		j := newJob(t, "-n", "2", dir, "arg")
		j.cmd.Env = append(j.cmd.Env, "TMPDIR="+tmp, "GOWORK=off", "GOFLAGS=")
		return j
	}
	write("go.mod", "module example.org/hello\n\ngo 1.26\n")
	write("main.go", "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"built \" + os.Args[1] + \"\\n\") }\n")
	goJob().run(0, `^built arg\nbuilt arg\n`)
	write("main.go", "package main\n\nfunc main() { wrong }\n")
	goJob().run(1, `undefined: wrong`, `^mpirun: building the Go program in `)
	write("main.go", "package hello\n")
	goJob().run(1, `no main packages`, `^mpirun: building the Go program in `)
	left, err := os.ReadDir(tmp)
	if err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "mpirun-") }) {
		t.Errorf("left in the temporary folder: %v, %v", left, err)
	}
}

func TestMetrics(t *testing.T) {
	j := newJob(t, "-n", "3", "--metrics", "0", "RANK", "metrics")
	stdin, err := j.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	j.start(3)
	addr := regexp.MustCompile(`metrics at (http://127.0.0.1:\d+/metrics)`).FindStringSubmatch(j.err.String())
	if addr == nil {
		t.Fatalf("no address in %s", &j.err)
	}
	for range 2 {
		resp, err := http.Get(addr[1])
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s, %v: %s", resp.Status, err, body)
		}
		want := `# rank 2: not today
# HELP ompi_rte_rank_up Whether the rank has answered this scrape.
# TYPE ompi_rte_rank_up gauge
ompi_rte_rank_up{rank="0"} 1
ompi_rte_rank_up{rank="1"} 1
ompi_rte_rank_up{rank="2"} 0
# TYPE ompi_test_calls_total counter
ompi_test_calls_total{peer="self",rank="0"} 10
ompi_test_calls_total{peer="self",rank="1"} 11
`
		if string(body) != want {
			t.Errorf("got\n%swant\n%s", body, want)
		}
	}
	stdin.Close()
	j.wait()
	j.check(0)
}

// TestMPICH runs programs of another library, whose start needs nothing of ours but the PMI server.
func TestMPICH(t *testing.T) {
	cc, err := exec.LookPath("mpicc.mpich")
	if err != nil {
		t.Skip("mpicc.mpich (MPICH) is not installed: ", err)
	}
	prog := filepath.Join(t.TempDir(), "prog")
	if out, err := exec.Command(cc, "-o", prog, "testdata/sum.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	newJob(t, "-n", "3", prog).run(0, `^rank 2 of 3: sum 3\n`)
	newJob(t, "-n", "3", prog, "abort").run(9, `^mpirun: rank 1 \(pid \d+\) on \S+ called Abort\(9\); ending the job \(2 other ranks\)`)
	newJob(t, "-n", "3", prog, "forget").run(1, `^mpirun: rank 1 \(pid \d+\) on \S+ exited without Finalize`)
}

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/internal/mpiruntest"
)

// The test program is also mpirun and its ranks, so that the tests need nothing built.
const roleVar = "OMPI_GO_MPIRUN_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "mpirun":
		os.Exit(run(os.Args[1:]))
	case "rank":
		os.Exit(rankMain(os.Args[1:]))
	}
	os.Exit(m.Run())
}

type job = mpiruntest.Job

// newJob prepares mpirun with the given words; the word RANK stands for this program as a rank.
func newJob(t *testing.T, words ...string) *job {
	t.Helper()
	var args []string
	for _, w := range words {
		if w == "RANK" {
			args = append(args, "-x", roleVar+"=rank", os.Args[0])
		} else {
			args = append(args, w)
		}
	}
	return mpiruntest.New(t, os.Args[0], args...).Env(roleVar + "=mpirun")
}

func TestHello(t *testing.T) {
	j := newJob(t, "-n", "4", "RANK", "hello")
	j.Run(0, `^rank 0 of 4 by mpirun, local \[0 1 2 3\]`, `^rank 3 of 4`)
	keys := regexp.MustCompile(`key (\w+)`).FindAllString(j.Out.String(), -1)
	slices.Sort(keys)
	if len(slices.Compact(keys)) != 1 {
		t.Errorf("the ranks have different secrets")
	}
	if j.Err.String() != "" {
		t.Errorf("stderr: %s", &j.Err)
	}
}

func TestDefaultRanks(t *testing.T) {
	newJob(t, "RANK", "hello").Run(0, `^rank 0 of [1-9]\d* by mpirun`)
}

func TestManyRanks(t *testing.T) {
	j := newJob(t, "-n", "64", "RANK", "hello")
	j.Run(0)
	if n := strings.Count(j.Out.String(), "of 64 by mpirun"); n != 64 {
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
			j.Run(c.status, c.want)
			if n := strings.Count(j.Err.String(), "mpirun:"); n != 1 {
				t.Errorf("%d messages:\n%s", n, &j.Err)
			}
		})
	}
}

func TestSurvive(t *testing.T) {
	newJob(t, "-n", "3", "--on-failure", "continue", "RANK", "survive").Run(4,
		`^heard of rank 1: rank 1 \(pid \d+\) on \S+ exited with status 4\nheard of rank 1`,
		`^mpirun: rank 1 \(pid \d+\) on \S+ exited with status 4; going on with 2 other ranks`)
}

func TestSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			j := newJob(t, "-n", "2", "RANK", "hang")
			j.StartReady(2)
			if err := j.Cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			j.End(mpiruntest.Swift, 128+int(sig), fmt.Sprintf(`^mpirun: got signal %d \(%v\); ending the job \(2 ranks\)`, sig, sig))
		})
	}
}

// TestQuit: SIGQUIT has the ranks say what all their goroutines do, SIGUSR1 is for them alone.
func TestQuit(t *testing.T) {
	j := newJob(t, "-n", "2", "RANK", "usr1")
	j.StartReady(2)
	for _, sig := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGQUIT} {
		if err := j.Cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if sig == syscall.SIGUSR1 {
			j.Ready(2)
		}
	}
	j.End(mpiruntest.Limit, 128+int(syscall.SIGQUIT), `^mpirun: got signal 3 \(quit\); ending the job \(2 ranks\)$`, `SIGQUIT: quit`)
	if n := strings.Count(j.Err.String(), "SIGQUIT: quit"); n != 2 {
		t.Errorf("%d ranks have printed their goroutines", n)
	}
}

// TestKilled: nothing, not even a word, outlives mpirun when it is killed.
func TestKilled(t *testing.T) {
	j := newJob(t, "-n", "3", "RANK", "hang")
	j.StartReady(3)
	if err := j.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	j.WaitOutput() // the end of the ranks' output is the end of the ranks
	j.Linger = mpiruntest.Swift
	j.End(mpiruntest.Swift, -1)
	if rest := j.Out.String() + j.Err.String(); rest != "" {
		t.Errorf("after the end: %q", rest)
	}
}

func TestStopped(t *testing.T) {
	j := newJob(t, "-n", "2", "RANK", "hang")
	j.StartReady(2)
	states := func(want string) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			all := ""
			for _, pid := range j.Processes() {
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
		if err := j.Cmd.Process.Signal(step.sig); err != nil {
			t.Fatal(err)
		}
		if step.want != "" {
			states(step.want)
		}
	}
	j.End(mpiruntest.Swift, 128+int(syscall.SIGTERM))
}

func TestTimeout(t *testing.T) {
	newJob(t, "-n", "2", "--timeout", "0.3", "RANK", "hang").Run(exitTimeout,
		`^mpirun: the job has run for 300ms \(--timeout\); ending it \(2 ranks\)$`, `^  ranks? .*: (in no MPI call|does not answer)$`)
}

func TestNoMPI(t *testing.T) {
	newJob(t, "-n", "3", "echo", "plain").Run(0, "^plain\nplain\nplain\n")
	newJob(t, "-n", "2", "sh", "-c", "exit $((PMI_RANK*9))").Run(9, `rank 1 .* exited with status 9`)
	newJob(t, "-n", "1", "sh", "-c", "sleep 1000 & exit 0").Run(0)
}

func TestStdin(t *testing.T) {
	j := newJob(t, "-n", "3", "RANK", "stdin")
	j.Cmd.Stdin = strings.NewReader("some\ninput")
	j.Run(0, `^rank 0 read "some\\ninput"\n`)
	if strings.Count(j.Out.String(), "read") != 1 {
		t.Errorf("other ranks read, too:\n%s", &j.Out)
	}
}

func TestEnvironment(t *testing.T) {
	tune := filepath.Join(t.TempDir(), "tune")
	if err := os.WriteFile(tune, []byte("-x A=tune -x B=tune\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j := newJob(t, "-n", "2", "--tune", tune, "-x", "A=cli", "-x", "NOTHING", "RANK", "env", "A", "B", "PMI_SIZE", "PMIX_RANK")
	j.Env("PMI_SIZE=77", "PMIX_RANK=1").Run(0, `^1 A=cli true`, `^1 B=tune true`, `^0 PMI_SIZE=2 true`, `^0 PMIX_RANK= false`, `^mpirun: -x NOTHING: .*not set`)
}

func TestHandoff(t *testing.T) {
	newJob(t, "-n", "1", "--mca", "btl", "self,sm", "-mca", "odd", "a;b:c d", "RANK", "handoff").Run(0,
		`^btl=self,sm from command line\nodd=a;b:c d from command line\n`)
}

func TestBinding(t *testing.T) {
	newJob(t, "-n", "3", "--bind-to", "core", "RANK", "cores").Run(0, `^rank 2 has \d+, GOMAXPROCS=\d+`)
	newJob(t, "-n", "1", "RANK", "cores").Run(0, fmt.Sprintf(`^rank 0 has %d, GOMAXPROCS=\d+`, runtime.NumCPU()))
	newJob(t, "-n", "2", "-x", "GOMAXPROCS=5", "RANK", "cores").Run(0, `^rank 1 has \d+, GOMAXPROCS=5`)
}

func TestTagOutput(t *testing.T) {
	j := newJob(t, "-n", "3", "--tag-output", "RANK", "lines")
	j.Run(0, `^\[0\] the end\n`, `^\[2\] aside\n`)
	lines := strings.Split(strings.TrimSuffix(j.Out.String(), "\n"), "\n")
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
		{write("main.go", "package main", 0o644), exitNotExecutable, `^mpirun: .*/main.go: a Go source file; give the directory of the program, ` + dir + `$`},
		{write("text", "no program", 0o755), exitNotExecutable, `^mpirun: .*/text: not in an executable format`},
		{write("lost", "#!/no/such/interpreter\n", 0o755), exitNotFound, `^mpirun: .*/lost: the program or its interpreter is missing`},
	} {
		newJob(t, "-n", "2", c.program).Run(c.status, c.want)
	}
	newJob(t, "-n", "2", "--metrics", "256.0.0.1:1", "true").Run(1, `^mpirun: --metrics: `)
}

func TestCommandLine(t *testing.T) {
	newJob(t, "--nonsense").Run(exitUsage, `^mpirun: unknown option --nonsense`, `^usage: mpirun`)
	newJob(t, "-n", "1", "true", ":", "-n", "1", "true").Run(exitUsage, `^mpirun: several programs`)
	newJob(t, "-n", "2", "--oversubscribe", "true").Run(0, `^mpirun: --oversubscribe is not needed: `)
	newJob(t, "--help").Run(0, `^Usage: mpirun`)
	newJob(t, "--version").Run(0, `^mpirun \(ompi-go\) \S`)
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
		return j.Env("TMPDIR="+tmp, "GOWORK=off", "GOFLAGS=")
	}
	write("go.mod", "module example.org/hello\n\ngo 1.26\n")
	write("main.go", "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"built \" + os.Args[1] + \"\\n\") }\n")
	goJob().Run(0, `^built arg\nbuilt arg\n`)
	write("main.go", "package main\n\nfunc main() { wrong }\n")
	goJob().Run(1, `undefined: wrong`, `^mpirun: building the Go program in `)
	write("main.go", "package hello\n")
	goJob().Run(1, `no main packages`, `^mpirun: building the Go program in `)
	left, err := os.ReadDir(tmp)
	if err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "mpirun-") }) {
		t.Errorf("left in the temporary folder: %v, %v", left, err)
	}
}

func TestMetrics(t *testing.T) {
	j := newJob(t, "-n", "3", "--metrics", "0", "RANK", "metrics")
	stdin, err := j.Cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	j.StartReady(3)
	addr := regexp.MustCompile(`metrics at (http://127.0.0.1:\d+/metrics)`).FindStringSubmatch(j.Err.String())
	if addr == nil {
		t.Fatalf("no address in %s", &j.Err)
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
	j.End(mpiruntest.Swift, 0)
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
	newJob(t, "-n", "3", prog).Run(0, `^rank 2 of 3: sum 3\n`)
	newJob(t, "-n", "3", prog, "abort").Run(9, `^mpirun: rank 1 \(pid \d+\) on \S+ called Abort\(9\); ending the job \(2 other ranks\)`)
	newJob(t, "-n", "3", prog, "forget").Run(1, `^mpirun: rank 1 \(pid \d+\) on \S+ exited without Finalize`)
}

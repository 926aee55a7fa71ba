package shm

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
)

// The test program is also the second rank.
const roleVar = "OMPI_GO_SHM_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "peer":
		peerMain()
	case "stranger":
		strangerMain()
	case "limited":
		limitedMain()
	default:
		os.Exit(m.Run())
	}
}

// pairJob is a job of two processes whose cards the test carries.
type pairJob struct {
	rte.Job
	id     uuid.UUID
	rank   int
	secret [32]byte
	mine   []byte
	theirs []byte
}

func (j *pairJob) ID() uuid.UUID                   { return j.id }
func (j *pairJob) Rank() int                       { return j.rank }
func (j *pairJob) Size() int                       { return 2 }
func (j *pairJob) LocalRanks() []int               { return []int{0, 1} }
func (j *pairJob) Secret() [32]byte                { return j.secret }
func (j *pairJob) Put(_ string, b []byte) error    { j.mine = b; return nil }
func (j *pairJob) Get(int, string) ([]byte, error) { return j.theirs, nil }

// peerMain is rank 1: it opens its segment, says where, and then waits for an offer with its engine asleep, answers in the offered
// piece, and goes.
func peerMain() {
	fail := func(err error) {
		fmt.Println("error", err)
		os.Exit(1)
	}
	j := &pairJob{id: uuid.MustParse(os.Getenv("JOB")), rank: 1, secret: [32]byte{1, 2, 3}}
	e := progress.New(progress.Config{Cores: 1, LocalRanks: 2, Yield: progress.YieldAlways, SleepAfter: time.Millisecond})
	d, err := Open(Config{Job: j, Engine: e, Options: Options{Attach: os.Getenv("ATTACH")}})
	if err != nil {
		fail(err)
	}
	if os.Getenv("UNDUMPABLE") != "" {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			fail(err)
		}
	}
	p, mem, err := d.Alloc(64)
	if err != nil {
		fail(err)
	}
	copy(bytesAt(mem, 64), "from rank 1")
	fmt.Println("card", hex.EncodeToString(j.mine), uint64(p))
	go func() { // the parent's end is this process's end
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	w := &awaitOffer{d: d}
	e.Lock()
	e.AddPoller(w)
	e.Unlock()
	e.Wait(w)
	fmt.Println("offered", w.rank, uint64(w.piece))
	select {}
}

// awaitOffer is done when a peer has offered something.
type awaitOffer struct {
	d     *Domain
	seen  uint32
	rank  int
	piece Piece
	got   bool
}

func (w *awaitOffer) Done() bool { return w.got }

func (w *awaitOffer) Poll() int {
	if w.d.Calls() == w.seen {
		return 0
	}
	w.seen = w.d.Calls()
	w.d.TakeOffers(func(rank int, p Piece) { w.rank, w.piece, w.got = rank, p, true })
	return 1
}

// peer starts rank 1 and returns what it says.
func startPeer(t *testing.T, job uuid.UUID, env ...string) (lines *bufio.Scanner, pid int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, roleVar+"=peer", "JOB="+job.String(), "GORACE=atexit_sleep_ms=0")...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	return bufio.NewScanner(out), cmd.Process.Pid
}

// meet opens rank 0 in this process, which knows rank 1's card.
func meet(t *testing.T, env []string, opt Options, spoil func(*pairJob, *card)) (d *Domain, piece Piece, lines *bufio.Scanner) {
	t.Helper()
	job := uuid.New()
	lines, pid := startPeer(t, job, env...)
	if !lines.Scan() {
		t.Fatal("the peer says nothing")
	}
	var text string
	if _, err := fmt.Sscanf(lines.Text(), "card %s %d", &text, &piece); err != nil {
		t.Fatalf("the peer says %q", lines.Text())
	}
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	c, err := parseCard(b)
	if err != nil || c.pid != pid {
		t.Fatalf("its card is %+v, its process %d, %v", c, pid, err)
	}
	j := &pairJob{id: job, secret: [32]byte{1, 2, 3}}
	if spoil != nil {
		spoil(j, &c)
	}
	j.theirs = c.append(nil)
	e := newEngine(t)
	if d, err = Open(Config{Job: j, Engine: e, Options: opt}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.Lock()
		defer e.Unlock()
		d.Close()
	})
	return d, piece, lines
}

// TestTwoProcesses: segments are opened by whichever way is asked for, also those of processes that may not be looked into, and an
// offer wakes a process that sleeps.
func TestTwoProcesses(t *testing.T) {
	for _, c := range []struct {
		name, attach string
		env          []string
	}{
		{"Auto", "auto", nil},
		{"Proc", "proc", nil},
		{"Socket", "socket", nil},
		{"AutoUndumpable", "auto", []string{"UNDUMPABLE=1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, piece, lines := meet(t, append(c.env, "ATTACH="+c.attach), Options{Attach: c.attach}, nil)
			mem, err := d.At(1, piece, 64)
			if err != nil || string(bytesAt(mem, 11)) != "from rank 1" {
				t.Fatalf("At: %v", err)
			}
			p, err := d.Attach(1)
			if err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(10 * time.Second); p.ctl.asleep.Load() == 0; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the peer does not go to sleep")
				}
			}
			d.Offer(p, 4096)
			if !lines.Scan() || lines.Text() != "offered 0 4096" {
				t.Errorf("the peer says %q", lines.Text())
			}
		})
	}
}

// TestRefusedAttach: who does not prove to be of the job gets no segment, and whoever answers for a rank must be its process.
func TestRefusedAttach(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*pairJob, *card)
		want  string
	}{
		{"Token", func(j *pairJob, _ *card) { j.secret[0]++ }, "over a socket"},
		{"Rank", func(j *pairJob, _ *card) { j.rank = 7 }, "over a socket"},
		{"Process", func(_ *pairJob, c *card) { c.pid = os.Getpid() }, "answers where process"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rank := 0
			d, _, _ := meet(t, []string{"ATTACH=socket"}, Options{Attach: "socket"}, func(j *pairJob, k *card) {
				c.spoil(j, k)
				rank, j.rank = j.rank, 0 // for Open
			})
			d.job.(*pairJob).rank = rank
			fds := descriptors(t)
			if _, err := d.attachSegment(1); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Attach: %v; want %q", err, c.want)
			}
			if n := descriptors(t); n != fds {
				t.Errorf("%d descriptors are left", n-fds)
			}
		})
	}
}

// TestPeerGone: a peer that ended before it was first used is an error, not a hang.
func TestPeerGone(t *testing.T) {
	for _, attach := range []string{"auto", "socket"} {
		d, _, _ := meet(t, []string{"ATTACH=" + attach}, Options{Attach: attach}, func(_ *pairJob, c *card) {
			// Its own descriptors are gone with it: as if by kill -9.
			if err := unix.Kill(c.pid, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			var st unix.Siginfo
			if err := unix.Waitid(unix.P_PID, c.pid, &st, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
				t.Fatal(err)
			}
		})
		if _, err := d.Attach(1); err == nil {
			t.Errorf("%s: attached to a process that is gone", attach)
		}
	}
}

// limitedMain opens a segment beyond its file size limit.
func limitedMain() {
	lim := unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &lim); err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	_, err := Open(Config{Job: &pairJob{}, Engine: progress.New(progress.Config{Cores: 1, LocalRanks: 1})})
	fmt.Println(err)
	if err == nil {
		os.Exit(4)
	}
}

// TestFileSizeLimit: a limit that would kill the process is found before.
func TestFileSizeLimit(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"=limited", "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "ulimit -f") {
		t.Errorf("%v: %s", err, out)
	}
}

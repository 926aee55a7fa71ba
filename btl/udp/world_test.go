package udp

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/rte"
)

const tag = btl.TagPML

// newWorld is a world of this component with a sink in every rank.
func newWorld(t testing.TB, n int, params map[string]string, job func(rte.Job) rte.Job) (*btltest.World, []*btltest.Sink) {
	t.Helper()
	all := map[string]string{"btl": "udp"}
	for k, v := range params {
		all[k] = v
	}
	w := btltest.NewWorld(t, btltest.Config{Component: component{}, Params: all, Job: job}, n)
	var sinks []*btltest.Sink
	for _, r := range w.Ranks {
		s := btltest.NewSink(-1)
		sinks = append(sinks, s)
		r.Dispatch.Handlers[tag] = s
	}
	return w, sinks
}

func moduleOf(r *btltest.Rank) *module { return r.Module.(*module) }

func statsOf(r *btltest.Rank) (s Stats) {
	r.Do(func() { s = moduleOf(r).Stats() })
	return s
}

// offer offers f once and reports whether it was taken.
func offer(t testing.TB, r *btltest.Rank, to int, f *btl.Frag) bool {
	t.Helper()
	r.Engine.Lock()
	defer r.Engine.Unlock()
	_, err := r.Endpoints[to].Send(f)
	if err != nil && !errors.Is(err, btl.ErrAgain) {
		t.Fatalf("Send: %v", err)
	}
	return err == nil
}

// send sends message id with n bytes.
func send(t testing.TB, w *btltest.World, from, to int, id uint64, n int) {
	t.Helper()
	f := btltest.NewFrag(&btltest.Completions{}, tag, id, 16, n)
	w.Until(t, "room", func() bool { return offer(t, w.Ranks[from], to, f) })
}

func connect(t testing.TB, w *btltest.World, sinks []*btltest.Sink) {
	t.Helper()
	send(t, w, 0, 1, 0, 0)
	w.Until(t, "the connection", func() bool { return sinks[1].N == 1 })
}

// dial is a stranger's socket to a rank.
func dial(t testing.TB, r *btltest.Rank) net.Conn {
	t.Helper()
	c, err := net.Dial("udp", moduleOf(r).sockets[0].addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// fakeJob changes what a rank is told of its job.
type fakeJob struct {
	rte.Job
	card   func(from, rank int, b []byte) []byte
	secret *[32]byte
}

func (j *fakeJob) Get(rank int, key string) ([]byte, error) {
	b, err := j.Job.Get(rank, key)
	if err == nil && j.card != nil {
		b = j.card(j.Rank(), rank, slices.Clone(b))
	}
	return b, err
}

func (j *fakeJob) Secret() [32]byte {
	if j.secret != nil {
		return *j.secret
	}
	return j.Job.Secret()
}

// TestStrangers: nobody who does not know the secret gets an answer, is kept, or disturbs the others; each is counted.
func TestStrangers(t *testing.T) {
	w, sinks := newWorld(t, 2, nil, nil)
	r := w.Ranks[1]
	c := dial(t, r)
	g := goldenGreeting()
	g.kind, g.from, g.to, g.job = hsHello, 0, 1, r.Job.ID()
	wrong := [32]byte{9}
	hello := g.append(nil, &wrong)
	head := make([]byte, headSize+1)
	p := packet{kind: kindData, from: 0, id: 7}
	p.put(head)
	far := slices.Clone(head)
	p.from = 1 << 31
	p.put(far)
	sent := [][]byte{hello, hello[:20], []byte("x"), make([]byte, 2000), []byte("ompi-udp"), head, far}
	for _, b := range sent {
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	w.Until(t, "the strangers", func() bool { s := statsOf(r); return s.Strangers == 5 && s.Strays == 2 })
	if m := moduleOf(r); m.eps[0].conn != nil || len(m.busy) != 0 {
		t.Error("something is kept of a stranger")
	}
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if n, err := c.Read(make([]byte, 100)); err == nil {
		t.Errorf("a stranger was answered with %d bytes", n)
	}
	if said := r.Said()["btl_udp_stranger"]; !strings.Contains(said, "does not know the job's secret") {
		t.Errorf("the user was told %q", said)
	}
	connect(t, w, sinks)
}

// TestReplay: a hello heard on the way and sent again is answered, and makes nobody a peer; nor does a proof that was made for another.
func TestReplay(t *testing.T) {
	w, sinks := newWorld(t, 2, nil, nil)
	r := w.Ranks[1]
	c := dial(t, r)
	g := goldenGreeting()
	g.kind, g.from, g.to, g.job, g.acc = hsHello, 0, 1, r.Job.ID(), side{}
	secret := r.Job.Secret()
	hello := g.append(nil, &secret)
	for range 3 {
		_, _ = c.Write(hello)
	}
	var answer [1000]byte
	for range 3 {
		got := make(chan int)
		go func() {
			_ = c.SetReadDeadline(time.Now().Add(btltest.Patience))
			n, _ := c.Read(answer[:])
			got <- n
		}()
		n := -1
		w.Until(t, "the challenge", func() bool {
			select {
			case n = <-got:
			default:
			}
			return n >= 0
		})
		if n > len(hello) {
			t.Errorf("%d bytes answer %d", n, len(hello))
		}
	}
	if moduleOf(r).eps[0].conn != nil {
		t.Fatal("something is kept of who has proved nothing")
	}
	g.kind, g.acc.id = hsProof, 12345
	_, _ = c.Write(g.append(nil, &secret))
	w.Until(t, "the proof", func() bool { return statsOf(r).Strangers == 1 })
	if moduleOf(r).eps[0].conn != nil {
		t.Fatal("a wrong proof was taken")
	}
	connect(t, w, sinks)
}

// TestRefused: who knows the secret and cannot be served hears why, and only then.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(g *greeting)
		code   refusal
	}{
		"version": {func(g *greeting) { g.version = 2 }, refusedVersion},
		"job":     {func(g *greeting) { g.job[0]++ }, refusedJob},
		"rank":    {func(g *greeting) { g.to = 0 }, refusedRank},
		"nobody":  {func(g *greeting) { g.from = 17 }, refusedRank},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := newWorld(t, 2, nil, nil)
			r := w.Ranks[1]
			g := goldenGreeting()
			g.kind, g.from, g.to, g.job, g.acc = hsHello, 0, 1, r.Job.ID(), side{}
			c.change(&g)
			secret := r.Job.Secret()
			s := dial(t, r)
			_, _ = s.Write(g.append(nil, &secret))
			w.Until(t, "the refusal", func() bool { return statsOf(r).Refused == 1 })
			var b [1000]byte
			_ = s.SetReadDeadline(time.Now().Add(btltest.Patience))
			n, err := s.Read(b[:])
			var back greeting
			if err != nil || !authentic(b[:n], &secret) || back.parse(b[:n]) != nil || back.kind != hsRefuse || back.code != c.code {
				t.Errorf("%d bytes, %v: %+v", n, err, back)
			}
		})
	}
}

// TestOtherSecret: ranks that do not share a secret do not connect, and it is said why.
func TestOtherSecret(t *testing.T) {
	w, _ := newWorld(t, 2, map[string]string{"btl_udp_timeout": "200ms"}, func(j rte.Job) rte.Job {
		f := &fakeJob{Job: j}
		if j.Rank() == 1 {
			f.secret = &[32]byte{1}
		}
		return f
	})
	f := btltest.NewFrag(&btltest.Completions{}, tag, 1, 16, 0)
	if offer(t, w.Ranks[0], 1, f) {
		t.Fatal("taken without a connection")
	}
	w.Until(t, "the failure", func() bool { return len(w.Ranks[0].Failures()) > 0 })
	if x := w.Ranks[0].Failures()[0]; x.Dead || !strings.Contains(x.Cause.Error(), "has not answered for 200ms") {
		t.Errorf("%+v", x)
	}
}

// TestBothCall: calls of both ends at once become one connection, also when datagrams get lost.
func TestBothCall(t *testing.T) {
	for _, inject := range []string{"", "loss=30%,dup=20%,reorder=30%,corrupt=5%"} {
		for seed := range 10 {
			w, sinks := newWorld(t, 2, map[string]string{"btl_udp_inject": inject, "btl_udp_inject_seed": string(rune('0' + seed))}, nil)
			frags := []*btl.Frag{btltest.NewFrag(&btltest.Completions{}, tag, 0, 16, 10), btltest.NewFrag(&btltest.Completions{}, tag, 0, 16, 10)}
			w.Until(t, "messages both ways", func() bool {
				for i, f := range frags {
					if f != nil && offer(t, w.Ranks[i], 1-i, f) {
						frags[i] = nil
					}
				}
				return sinks[0].N == 1 && sinks[1].N == 1
			})
			a, b := moduleOf(w.Ranks[0]).eps[1].live, moduleOf(w.Ranks[1]).eps[0].live
			if a == nil || b == nil || a.ini != b.ini || a.acc != b.acc {
				t.Fatal("the two ends have different connections")
			}
			w.Close(t)
		}
	}
}

// TestVanished: a peer that vanishes without a word is given up in time, with all that is under way to it; one that is idle, too.
func TestVanished(t *testing.T) {
	for name, bytes := range map[string]int{"idle": -1, "small": 10, "large": 200_000} {
		t.Run(name, func(t *testing.T) {
			w, sinks := newWorld(t, 2, map[string]string{"btl_udp_timeout": "200ms"}, nil)
			connect(t, w, sinks)
			w.Ranks[1].Do(func() {
				m := moduleOf(w.Ranks[1])
				m.watch.end(m)
				m.watch.stop = make(chan struct{})
				for _, s := range m.sockets { // deaf, and dumb
					_ = unix.Shutdown(s.fd, unix.SHUT_RDWR)
					m.engine.RemoveFD(s.reg)
				}
				m.engine.RemovePoller(m)
			})
			comp := &btltest.Completions{}
			if bytes >= 0 && !offer(t, w.Ranks[0], 1, btltest.NewFrag(comp, tag, 1, 16, bytes)) {
				t.Fatal("not taken")
			}
			w.Until(t, "the failure", func() bool {
				w.Ranks[0].Poll()
				return len(w.Ranks[0].Failures()) > 0
			})
			x := w.Ranks[0].Failures()[0]
			if !x.Dead || x.Rank != 1 || !strings.Contains(x.Cause.Error(), "btl_udp_timeout") {
				t.Errorf("%+v", x)
			}
			if bytes > 100_000 && (comp.Done != 1 || len(comp.Errs) != 1) {
				t.Errorf("%d fragments are given back, with %v", comp.Done, comp.Errs)
			}
		})
	}
}

// TestComputing: a rank whose program does not call for long answers all the same.
func TestComputing(t *testing.T) {
	w, sinks := newWorld(t, 2, map[string]string{"btl_udp_timeout": "400ms"}, nil)
	connect(t, w, sinks)
	w.Ranks[1].Do(func() { w.Ranks[1].Dispatch.Handlers[tag] = nobody{} }) // called by another goroutine than the test's
	if !offer(t, w.Ranks[0], 1, btltest.NewFrag(&btltest.Completions{}, tag, 1, 16, 100)) {
		t.Fatal("not taken")
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		w.Ranks[0].Poll()
		time.Sleep(time.Millisecond)
	}
	if f := w.Ranks[0].Failures(); len(f) != 0 {
		t.Errorf("a rank that computed was given up: %+v", f)
	}
	if s := statsOf(w.Ranks[1]); s.Stood == 0 {
		t.Error("nobody stood in for the program")
	}
}

type nobody struct{}

func (nobody) Receive(int, []byte, []byte) {}

// TestAway: who was away itself does not take its own absence for the others'.
func TestAway(t *testing.T) {
	w, sinks := newWorld(t, 2, map[string]string{"btl_udp_timeout": "200ms"}, nil)
	connect(t, w, sinks)
	for _, r := range w.Ranks {
		r.Do(func() { time.Sleep(300 * time.Millisecond) }) // stopped with the token, so that nobody stands in
	}
	for range 100 {
		w.Poll()
		time.Sleep(time.Millisecond)
	}
	for _, r := range w.Ranks {
		if f := r.Failures(); len(f) != 0 {
			t.Errorf("rank %d: %+v", r.Job.Rank(), f)
		}
	}
}

// TestCloseWithoutFlush: a peer that gives up says so, and is not waited for until the timeout.
func TestCloseWithoutFlush(t *testing.T) {
	w, sinks := newWorld(t, 2, nil, nil)
	connect(t, w, sinks)
	w.Ranks[0].Do(func() { moduleOf(w.Ranks[0]).eps[1].fail(errors.New("the test says so"), true) })
	w.Ranks[1].Do(func() {
		moduleOf(w.Ranks[1]).eps[0].live.ping(moduleOf(w.Ranks[1]).clock())
		moduleOf(w.Ranks[1]).batch.flush()
	})
	w.Until(t, "the failure", func() bool { return len(w.Ranks[1].Failures()) > 0 })
	if x := w.Ranks[1].Failures()[0]; !x.Dead || !strings.Contains(x.Cause.Error(), "has given this process up") {
		t.Errorf("%+v", x)
	}
}

// TestFlushBothWays: when both ends leave at once over a bad network, both get away, and nobody takes it for a failure.
func TestFlushBothWays(t *testing.T) {
	for seed := range 8 {
		w, sinks := newWorld(t, 2, map[string]string{"btl_udp_inject": "loss=20%,dup=10%,reorder=10%", "btl_udp_inject_seed": string(rune('0' + seed))}, nil)
		connect(t, w, sinks)
		for id := range uint64(20) {
			send(t, w, 0, 1, id+1, 5000)
			send(t, w, 1, 0, id, 100)
		}
		w.Until(t, "the messages", func() bool { return sinks[1].N == 21 && sinks[0].N == 20 })
		gone := [2]bool{}
		w.Until(t, "the end of both", func() bool {
			for i, r := range w.Ranks {
				if gone[i] {
					continue
				}
				r.Do(func() { gone[i] = r.Module.Flush() })
				if gone[i] {
					w.CloseRank(t, i, false)
				}
			}
			return gone[0] && gone[1]
		})
		for i, r := range w.Ranks {
			if f := r.Failures(); len(f) != 0 {
				t.Errorf("seed %d, rank %d: %+v", seed, i, f)
			}
		}
	}
}

// TestNamed: it is open only where it is asked for.
func TestNamed(t *testing.T) {
	w, _ := newWorld(t, 2, nil, nil)
	reg, err := mca.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	env := *w.Ranks[0].Env
	if env.Params, err = mca.Load(reg, mca.Input{}); err != nil {
		t.Fatal(err)
	}
	env.Services = &btl.Services{}
	if mods, err := (component{}).Open(&env); err != nil || len(mods) != 0 {
		t.Errorf("%d modules, %v", len(mods), err)
	}
}

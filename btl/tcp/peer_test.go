package tcp

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/btl/inet"
	"github.com/ompi-go/ompi-go/rte"
)

// TestSimultaneousOpen lets both ends call each other, in every order of progress that a random schedule finds.
func TestSimultaneousOpen(t *testing.T) {
	for _, links := range []string{"1", "3"} {
		for seed := range uint64(15) {
			w, sinks := newWorld(t, 2, map[string]string{"btl_tcp_links": links}, nil)
			rnd := rand.New(rand.NewPCG(seed, 1))
			var next [2]int
			const each = 5
			for next[0] < each || next[1] < each {
				i := rnd.IntN(2)
				if rnd.IntN(3) > 0 {
					w.Ranks[i].Poll()
				} else if next[i] < each {
					f := btltest.NewFrag(&btltest.Completions{}, tag, uint64(next[i]), 16, 100)
					if taken, _ := offer(t, w.Ranks[i], 1-i, f); taken {
						next[i]++
					}
				}
			}
			w.Until(t, "all messages", func() bool { return sinks[0].N >= each && sinks[1].N >= each })
			for i, s := range sinks {
				s.Check(t, each)
				m := moduleOf(w.Ranks[i])
				if links == "1" && m.stats.Connected != 1 {
					t.Errorf("seed %d: rank %d has connected %d times", seed, i, m.stats.Connected)
				}
				if m.stats.Refused != 0 || len(w.Ranks[i].Failures()) != 0 {
					t.Errorf("seed %d: rank %d refused %d, failures %v", seed, i, m.stats.Refused, w.Ranks[i].Failures())
				}
			}
			w.Until(t, "handshakes to end", func() bool {
				return len(moduleOf(w.Ranks[0]).conns) == 0 && len(moduleOf(w.Ranks[1]).conns) == 0
			})
			w.Close(t)
		}
	}
}

// TestLowerRankFails: the higher rank's connection waits for the lower rank's attempt, and serves when that fails.
func TestLowerRankFails(t *testing.T) {
	nowhere := netip.MustParseAddrPort("127.0.0.1:1")
	job := func(j rte.Job) rte.Job {
		return &fakeJob{Job: j, card: func(rank int, b []byte) []byte {
			if rank == 0 {
				return b
			}
			c, _ := inet.ParseCard(b)
			c.Addrs = []inet.CardAddr{{AddrPort: nowhere, Bits: 8}}
			return c.Append(nil)
		}}
	}
	w, sinks := newWorld(t, 2, nil, job)
	send(t, w, 1, 0, 0, 10)
	send(t, w, 0, 1, 0, 10)
	w.Until(t, "both messages", func() bool { return sinks[0].N == 1 && sinks[1].N == 1 })
}

func TestDeath(t *testing.T) {
	w, sinks := newWorld(t, 3, nil, nil)
	send(t, w, 0, 1, 0, 10)
	send(t, w, 2, 0, 0, 10)
	w.Until(t, "both messages", func() bool { return sinks[1].N == 1 && sinks[0].N == 1 })
	// Rank 1 goes away with a large message half received; its owner must get it back.
	c := &btltest.Completions{}
	n := 0
	for taken := true; taken; { // until the socket is full
		f := btltest.NewFrag(c, tag, uint64(1+n), 16, 1<<20-16)
		var done bool
		if taken, done = offer(t, w.Ranks[0], 1, f); taken && !done {
			n++
		}
	}
	cutAll(w.Ranks[1])
	w.Until(t, "the death to be noticed", func() bool { return len(w.Ranks[0].Failures()) == 1 && c.Done == n })
	f := w.Ranks[0].Failures()[0]
	if f.Rank != 1 || !f.Dead || !strings.Contains(f.Cause.Error(), "rank 1") || !strings.Contains(f.Cause.Error(), "127.0.0.1:") {
		t.Errorf("%+v", f)
	}
	if len(c.Errs) != n || n == 0 {
		t.Errorf("%d fragments were given back with %d errors", n, len(c.Errs))
	}
	if err := sendError(t, w, 0, 1); err != f.Cause {
		t.Errorf("Send: %v", err)
	}
	send(t, w, 0, 2, 1, 10) // the others are not concerned
	w.Until(t, "the message", func() bool { return sinks[2].N == 1 })
}

// TestDeathWhilePlacing: a payload that is on its way into the user's buffer ends with an error.
func TestDeathWhilePlacing(t *testing.T) {
	w, _ := newWorld(t, 2, nil, nil)
	s := &btltest.PlacingSink{Sink: *btltest.NewSink(0), Min: 1}
	w.Ranks[1].Dispatch.Handlers[tag] = s
	send(t, w, 0, 1, 0, 0)
	w.Until(t, "the connection", func() bool { return s.N == 1 })
	for taken := true; taken; {
		taken, _ = offer(t, w.Ranks[0], 1, btltest.NewFrag(&btltest.Completions{}, tag, 1, 16, 1<<20-16))
	}
	w.Until(t, "a payload on its way", func() bool { w.Ranks[1].Poll(); return s.Placing == 1 || s.N > 1 })
	cutAll(w.Ranks[0])
	w.Until(t, "the death to be noticed", func() bool { return len(w.Ranks[1].Failures()) == 1 })
	if s.Placing != 0 {
		t.Error("the placer was not told")
	}
}

func TestRefusedConnection(t *testing.T) {
	w, _ := newWorld(t, 2, nil, nil)
	where := address(w.Ranks[1])
	w.Ranks[1].Do(func() { moduleOf(w.Ranks[1]).closeListeners(nil) })
	err := sendError(t, w, 0, 1)
	if s := err.Error(); !strings.Contains(s, "rank 1") || !strings.Contains(s, where) || !strings.Contains(s, "refused") {
		t.Errorf("Send: %v", err)
	}
	w.Until(t, "the failure", func() bool { return len(w.Ranks[0].Failures()) == 1 })
}

func TestAfterBye(t *testing.T) {
	w, sinks := newWorld(t, 2, nil, nil)
	send(t, w, 0, 1, 0, 10)
	w.Until(t, "the message", func() bool { return sinks[1].N == 1 })
	w.CloseRank(t, 1, true)
	if err := sendError(t, w, 0, 1); !strings.Contains(err.Error(), "has left the job") {
		t.Errorf("Send: %v", err)
	}
	if f := w.Ranks[0].Failures(); len(f) != 0 {
		t.Errorf("an end in good order is reported as a failure: %+v", f)
	}
}

// TestSlowPeer: a peer whose kernel answers and which does not is waited for, and the user is told.
func TestSlowPeer(t *testing.T) {
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	at := netip.MustParseAddrPort(deaf.Addr().String())
	job := func(j rte.Job) rte.Job {
		return &fakeJob{Job: j, card: func(_ int, b []byte) []byte {
			c, _ := inet.ParseCard(b)
			c.Addrs = []inet.CardAddr{{AddrPort: at, Bits: 8}}
			return c.Append(nil)
		}}
	}
	w, _ := newWorld(t, 2, map[string]string{"btl_tcp_connect_timeout": "10ms"}, job)
	f := btltest.NewFrag(&btltest.Completions{}, tag, 0, 16, 0)
	w.Until(t, "a word about it", func() bool {
		offer(t, w.Ranks[0], 1, f)
		return strings.Contains(w.Ranks[0].Said()["btl_tcp_slow"], "rank 1")
	})
	deaf.Close() // resets the connection
	err = sendError(t, w, 0, 1)
	if !strings.Contains(err.Error(), at.String()) {
		t.Errorf("Send: %v", err)
	}
}

func TestNoCard(t *testing.T) {
	w, _ := newWorld(t, 2, nil, func(j rte.Job) rte.Job {
		return &fakeJob{Job: j, card: func(int, []byte) []byte { return []byte{7} }}
	})
	if err := sendError(t, w, 0, 1); !strings.Contains(err.Error(), "version 7") {
		t.Errorf("Send: %v", err)
	}
}

func TestTooLarge(t *testing.T) {
	w, _ := newWorld(t, 2, nil, nil)
	send(t, w, 0, 1, 0, 0)
	var err error
	w.Ranks[0].Do(func() {
		_, err = w.Ranks[0].Endpoints[1].Send(&btl.Frag{Len: 1<<20 + 1})
	})
	if err == nil || !strings.Contains(err.Error(), "btl_tcp_max_send_size") {
		t.Errorf("Send: %v", err)
	}
}

// TestViolation: a peer of the job that sends nonsense is given up, and the upper layer is told what it was.
func TestViolation(t *testing.T) {
	for name, f := range map[string]frame{
		"no such kind":        {kind: 99},
		"a length not agreed": {kind: frameActive, length: 1 << 30},
		"no handler":          {kind: frameActive, tag: 77, seq: 2},
		"a gap":               {kind: frameActive, tag: tag, seq: 3},
		"a link that is not":  {kind: frameDown, tag: 5},
	} {
		w, sinks := newWorld(t, 2, nil, nil)
		send(t, w, 0, 1, 0, 0)
		w.Until(t, "the connection", func() bool { return sinks[1].N == 1 })
		w.Ranks[0].Do(func() {
			var b [frameSize]byte
			f.put(b[:])
			sendRaw(moduleOf(w.Ranks[0]).eps[1].only.fd, &b[0], len(b))
		})
		w.Until(t, "the failure", func() bool { return len(w.Ranks[1].Failures()) == 1 })
		if fail := w.Ranks[1].Failures()[0]; !fail.Dead || !strings.Contains(fail.Cause.Error(), "broke the protocol") {
			t.Errorf("%s: %+v", name, fail)
		}
	}
}

// FuzzFrames sends an open link whatever there is.
func FuzzFrames(f *testing.F) {
	var b [frameSize]byte
	(&frame{kind: frameActive, tag: tag, hdrLen: 16, length: 4, seq: 1}).put(b[:])
	f.Add(append(b[:], "0123456789abcdefpay!"...), false)
	(&frame{kind: frameActive, tag: tag, length: 70000, seq: 1}).put(b[:])
	f.Add(append(b[:], make([]byte, 80000)...), true)
	w, _ := newWorld(f, 2, map[string]string{"btl_tcp_links": "2"}, nil)
	r := w.Ranks[1]
	m := moduleOf(r)
	r.Dispatch.Handlers[tag] = blindHandler{}
	f.Fuzz(func(t *testing.T, b []byte, multi bool) {
		ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(ends[1])
		r.Do(func() {
			ep := newEndpoint(m, r.Env.Procs[0])
			l := ep.links[0]
			c := &conn{m: m, fd: ends[0], stage: stageVerdict, link: l, peer: hello{links: 1, maxFrame: 100_000}}
			if multi {
				c.peer.links = 2
			}
			if c.reg, err = m.engine.AddFD(c.fd, unix.EPOLLIN, c); err != nil {
				t.Fatal(err)
			}
			l.becomeUp(c)
			for len(b) > 0 && l.state == linkUp {
				n, _ := unix.Write(ends[1], b[:min(len(b), 1000)])
				b = b[max(n, 0):]
				l.receive()
			}
			if l.r < 0 || l.w < l.r || l.w > len(l.cache) {
				t.Errorf("the cache is from %d to %d", l.r, l.w)
			}
			ep.close()
			m.uneasy = nil
		})
	})
}

type blindHandler struct{}

func (blindHandler) Receive(int, []byte, []byte) {}

func TestTimeoutOfAddress(t *testing.T) {
	// No address here answers with silence for sure, so the timer's call is made by hand.
	w, _ := newWorld(t, 2, nil, nil)
	r := w.Ranks[0]
	r.Do(func() {
		_, _ = r.Endpoints[1].Send(btltest.NewFrag(&btltest.Completions{}, tag, 0, 16, 0))
		moduleOf(r).eps[1].links[0].out.Expired()
	})
	if err := sendError(t, w, 0, 1); !strings.Contains(err.Error(), fmt.Sprintf("no answer within %v", 5*time.Second)) {
		t.Errorf("Send: %v", err)
	}
}

// TestAgree: what the first link settled holds for the others.
func TestAgree(t *testing.T) {
	w, _ := newWorld(t, 2, map[string]string{"btl_tcp_links": "4"}, nil)
	ep := newEndpoint(moduleOf(w.Ranks[1]), w.Ranks[1].Env.Procs[0])
	for _, c := range []struct {
		h  hello
		ok bool
	}{
		{hello{links: 2, maxFrame: 1000}, true},
		{hello{links: 2, maxFrame: 1000}, true},
		{hello{links: 1, maxFrame: 1000}, false},
		{hello{links: 4, maxFrame: 1000}, false},
		{hello{links: 2, maxFrame: 2000}, false},
	} {
		if err := ep.agree(&c.h, false); (err == nil) != c.ok {
			t.Errorf("%d links and messages of %d bytes: %v", c.h.links, c.h.maxFrame, err)
		}
	}
	if !ep.multi || ep.only != nil || len(ep.links) != 2 || ep.peerMax != 1000 {
		t.Errorf("agreed on %d links and messages of %d bytes", len(ep.links), ep.peerMax)
	}
}

package tcp

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
)

// takingBack counts the inline messages that come back to their sender.
type takingBack struct {
	btltest.PlacingSink
	back map[uint64]int
}

func (s *takingBack) Reclaim(_ int, hdr, payload []byte) {
	id := le64(hdr)
	if uint64(len(payload)) != le64(hdr[8:]) {
		panic("another length than was sent")
	}
	s.back[id]++
}

func le64(b []byte) (x uint64) {
	for i := range 8 {
		x |= uint64(b[i]) << (8 * i)
	}
	return x
}

// TestVouch cuts the only connection, or all of two, under traffic in both directions: what the sender was not told to have come it is given
// back, and nobody takes that for a death.
func TestVouch(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { vouch(t, seed) })
	}
}

func vouch(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 9))
	w, _ := newWorld(t, 2, map[string]string{"btl_tcp_links": fmt.Sprint(1 + seed%2), "btl_tcp_sndbuf": "64k", "btl_tcp_rcvbuf": "64k"}, nil)
	var sinks [2]*takingBack
	var comps [2]*btltest.Completions
	var taken, owed [2]int
	for i, r := range w.Ranks {
		sinks[i] = &takingBack{btltest.PlacingSink{Sink: *btltest.NewSink(1 - i), Min: 10_000}, map[uint64]int{}}
		comps[i] = &btltest.Completions{}
		r.Dispatch.Handlers[tag] = sinks[i]
		if i == int(seed/2%2) { // one end is enough
			r.Endpoints[1-i].(btl.Voucher).Vouch()
		}
	}
	at := 50 + rnd.IntN(2000)
	for step := range 4000 {
		i := rnd.IntN(2)
		r := w.Ranks[i]
		if step == at {
			r.Do(func() {
				for _, l := range moduleOf(r).eps[1-i].links {
					if rnd.IntN(2) == 0 {
						cut(l)
					} else {
						reset(l)
					}
				}
			})
		}
		if rnd.IntN(3) != 0 {
			r.Poll()
			continue
		}
		n, id := []int{0, 10, 1500, 5000, 60_000}[rnd.IntN(5)], uint64(taken[i])
		if in := r.Endpoints[1-i].(btl.InlineSender); n < in.MaxInline() && rnd.IntN(2) == 0 {
			if inline(r, in, id, n) {
				taken[i]++
			}
			continue
		}
		f := btltest.NewFrag(comps[i], tag, id, 24, n)
		r.Engine.Lock()
		done, err := r.Endpoints[1-i].Send(f)
		r.Engine.Unlock()
		if err == nil {
			taken[i]++
			if !done {
				owed[i]++
			}
		}
	}
	w.Until(t, "both ends to notice", func() bool { return len(w.Ranks[0].Failures()) == 1 && len(w.Ranks[1].Failures()) == 1 })
	for i, r := range w.Ranks {
		if f := r.Failures()[0]; f.Dead {
			t.Errorf("rank %d is told of a death: %v", i, f.Cause)
		}
		back := len(comps[i].Errs)
		for id, n := range sinks[i].back {
			if back += n; n != 1 {
				t.Errorf("rank %d: message %d came back %d times", i, id, n)
			}
		}
		if comps[i].Done != owed[i] {
			t.Errorf("rank %d: %d of %d completions", i, comps[i].Done, owed[i])
		}
		// What did not come back has come; what did may have, too.
		if got := sinks[1-i].N; got < taken[i]-back || got > taken[i] {
			t.Errorf("rank %d has sent %d messages, %d came back, %d came", i, taken[i], back, got)
		}
	}
}

// TestVouchLate: who asks for vouching when link 0 is agreed about does not have it by a later link, of which the acceptor may hear first.
func TestVouchLate(t *testing.T) {
	w, sinks := newWorld(t, 2, map[string]string{"btl_tcp_links": "2"}, nil)
	send(t, w, 0, 1, 0, 10)
	w.Until(t, "the first message", func() bool { return sinks[1].N == 1 })
	for i, r := range w.Ranks {
		r.Do(func() {
			r.Endpoints[1-i].(btl.Voucher).Vouch()
			later := conn{m: moduleOf(r)}
			if h := later.greeting(1-i, 1); h.vouch || later.vouch {
				t.Errorf("rank %d greets on link 1 with vouch %v, and notes %v", i, h.vouch, later.vouch)
			}
			fresh := conn{m: moduleOf(r)}
			ep := moduleOf(r).eps[1-i]
			ep.agreed = 0
			if h := fresh.greeting(1-i, 0); !h.vouch || !fresh.vouch {
				t.Errorf("rank %d does not ask on link 0", i)
			}
			if fresh.greeting(1-i, 1); fresh.vouch {
				t.Errorf("rank %d, as the acceptor of link 1, has it decide", i)
			}
			ep.agreed = 2
		})
	}
}

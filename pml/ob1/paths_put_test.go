package ob1

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/pml"
)

// endTransfers ends everything that a BTL moves, some of it well.
func endTransfers(s *btltest.Script, rnd *rand.Rand) bool {
	n := s.Transfers()
	for range n {
		err := []error{nil, nil, btl.ErrNotSupported}[rnd.IntN(3)]
		s.EndTransfer(rnd.IntN(s.Transfers()), err)
	}
	return n > 0
}

// TestTransfersUnderWay has long messages go by all protocols, with transfers that end late, fail, or find no room, frames in any
// order, and a path that breaks at any step, or none. Whatever was under way comes; nothing is left.
func TestTransfersUnderWay(t *testing.T) {
	wishes := []string{"auto", "rget", "put", "pipeline", "coop"}
	for seed := range uint64(600) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		breaks, path, order, at := rnd.IntN(2) == 0, rnd.IntN(2), rnd.IntN(8), rnd.IntN(60)
		w := newPathWorld(t, func(a, b *btltest.Script) {
			later(a, b)
			for _, s := range []*btltest.Script{a, b} {
				s.Gets, s.Puts, s.Slow = true, true, true
				s.Facts.MinShared, s.Facts.PipeSend, s.Facts.PipeFrag = 700, 150, 200
			}
		})
		for _, r := range w.ranks {
			r.Do(func() {
				r.o.opt.Protocol, r.o.opt.RecvDepth = wishes[rnd.IntN(len(wishes))], 1+rnd.IntN(3)
				r.o.LimitsChanged()
			})
		}
		type pair struct {
			s, r      *core.Request
			size, tag int
			out       *memory
		}
		var pairs []*pair
		begin := func() {
			p := &pair{size: []int{8, 250, 600, 1500, 3000}[rnd.IntN(5)], tag: len(pairs)}
			from := rnd.IntN(2)
			p.out = newMemory(t, p.size, -1, rnd.IntN(6) == 0)
			p.r = w.ranks[1-from].recv(p.out, from, p.tag)
			p.s = w.ranks[from].send(newMemory(t, p.size, p.tag, rnd.IntN(6) == 0), 1-from, p.tag, pml.Standard)
			pairs = append(pairs, p)
		}
		for range at {
			switch s := w.both[rnd.IntN(2)]; rnd.IntN(8) {
			case 0:
				begin()
			case 1:
				s.Refuse(rnd.IntN(2))
			case 2:
				s.RefuseTransfers(rnd.IntN(3))
			case 3:
				w.ranks[rnd.IntN(2)].Poll()
			case 4:
				if n := s.Transfers(); n > 0 {
					s.EndTransfer(rnd.IntN(n), []error{nil, nil, nil, btl.ErrNotSupported}[rnd.IntN(4)])
				}
			case 5:
				s.FailRegister([]error{nil, nil, errors.New("no memory"), btl.ErrNotSupported}[rnd.IntN(4)], rnd.IntN(3))
			default:
				if f := s.Frames(); len(f) > 0 {
					s.Deliver(f[rnd.IntN(len(f))])
				}
			}
		}
		for _, s := range w.both {
			s.FailRegister(nil, 0)
		}
		if breaks {
			s := w.both[path]
			if rnd.IntN(2) == 0 { // its transfers are over before, or after it is known
				for s.Transfers() > 0 {
					s.EndTransfer(0, errors.New("broken"))
				}
			}
			w.breakPath(path, order)
			for s.Transfers() > 0 {
				s.EndTransfer(0, errors.New("broken"))
			}
		}
		for range 2 {
			begin()
			w.quiesce(rnd)
		}
		name := fmt.Sprintf("seed %d, breaks %v, path %d, order %d", seed, breaks, path, order)
		for i, p := range pairs {
			ok := func(r *core.Request) bool { return r.Done() && r.Status.Err == nil }
			if !ok(p.s) || !ok(p.r) {
				t.Fatalf("%s: message %d of %d, %d bytes: sent %v %v, received %v %v", name, i, len(pairs), p.size, p.s.Done(), p.s.Status.Err, p.r.Done(), p.r.Status.Err)
			}
			if !p.out.holds(p.size, p.tag) {
				t.Errorf("%s: message %d of %d bytes is damaged", name, i, p.size)
			}
			if !p.out.intact() {
				t.Errorf("%s: message %d wrote outside", name, i)
			}
		}
		for k, r := range w.ranks {
			r.checkBalance(t)
			for _, s := range w.both {
				if n := s.Registered(k); n != 0 {
					t.Errorf("%s: %d registrations are left", name, n)
				}
			}
		}
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

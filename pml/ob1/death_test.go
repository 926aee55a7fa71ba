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

// TestDeathUnderWay has a peer die, or the instance cancelled, at every step of a conversation in any protocol. All that this rank has begun
// ends, with an error or well; no name, registration or piece is left.
func TestDeathUnderWay(t *testing.T) {
	for seed := range uint64(800) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		w := newPathWorld(t, func(a, b *btltest.Script) {
			later(a, b)
			a.Gets, a.Puts, a.Slow = rnd.IntN(2) == 0, rnd.IntN(2) == 0, rnd.IntN(2) == 0
			b.Gets, b.Puts, b.Slow = a.Gets, a.Puts, a.Slow
			for _, s := range []*btltest.Script{a, b} {
				s.Facts.MinShared, s.Facts.PipeSend, s.Facts.PipeFrag = 700, 150, 200
			}
		})
		for _, r := range w.ranks {
			if seed%2 == 0 {
				r.o.credit.open(1024, 4096, 2)
			}
			r.Do(func() {
				r.o.opt.Protocol, r.o.opt.RecvDepth = []string{"auto", "put", "pipeline", "rget"}[rnd.IntN(4)], 1+rnd.IntN(4)
				r.o.LimitsChanged()
			})
		}
		var mine []*core.Request
		begin := func(tag int) {
			size := []int{0, 8, 100, 250, 600, 1500}[rnd.IntN(6)]
			from := rnd.IntN(2)
			s := func() *core.Request {
				return w.ranks[from].send(newMemory(t, size, tag, rnd.IntN(6) == 0), 1-from, tag, pml.Mode(rnd.IntN(2)))
			}
			r := func() *core.Request {
				return w.ranks[1-from].recv(newMemory(t, size, -1, rnd.IntN(6) == 0), from, tag)
			}
			if from == 0 {
				mine = append(mine, s())
				r()
			} else {
				mine = append(mine, r())
				s()
			}
		}
		for step := range 10 + rnd.IntN(60) {
			switch s := w.both[rnd.IntN(2)]; rnd.IntN(8) {
			case 0, 1:
				begin(step)
			case 2:
				s.Refuse(rnd.IntN(3))
			case 3:
				s.RefuseTransfers(rnd.IntN(3))
			case 4:
				w.ranks[rnd.IntN(2)].Poll()
			case 5:
				if n := s.Transfers(); n > 0 {
					s.EndTransfer(rnd.IntN(n), []error{nil, nil, btl.ErrNotSupported}[rnd.IntN(3)])
				}
			default:
				if f := s.Frames(); len(f) > 0 {
					s.Deliver(f[rnd.IntN(len(f))])
				}
			}
		}
		gone := errors.New("gone")
		if rnd.IntN(2) == 0 {
			w.ranks[0].die(1)
		} else {
			w.ranks[0].cancelAll()
		}
		for _, s := range w.both {
			for s.Transfers() > 0 {
				s.EndTransfer(rnd.IntN(s.Transfers()), gone)
			}
		}
		for range 3 { // nothing comes from the dead any more, and nothing goes there
			for _, s := range w.both {
				for _, f := range s.Frames() {
					s.Drop(f, gone)
				}
			}
			w.ranks[0].Poll()
		}
		name := fmt.Sprintf("seed %d", seed)
		for i, r := range mine {
			if !r.Done() {
				t.Errorf("%s: request %d of %d does not end", name, i, len(mine))
			}
		}
		for _, s := range w.both {
			if n := s.Registered(0); n != 0 {
				t.Errorf("%s: %d registrations are left", name, n)
			}
		}
		w.ranks[0].Do(func() {
			o := w.ranks[0].o
			if o.ids.live != 0 || o.out.n != 0 || o.nFree.frags != 0 || o.nFree.moves != 0 || o.starveds != 0 {
				t.Errorf("%s: left: %d names, %d waiting for room, %d kept back, pools %+v", name, o.ids.live, o.out.n, o.starveds, o.nFree)
			}
		})
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

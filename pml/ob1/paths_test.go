package ob1

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/pml"
)

// pathWorld is two ranks with two scripted BTLs between them.
type pathWorld struct {
	*world
	both [2]*btltest.Script
}

// pathUpcalls does what the instance does when an endpoint fails.
type pathUpcalls struct {
	btl.Upcalls
	r *rank
	m bml.Manager
}

func (u *pathUpcalls) EndpointFailed(m btl.Module, p *core.Proc, dead bool, cause error) {
	if !dead && u.m.Drop(m, p) {
		u.r.o.PathsChanged(p)
		return
	}
	if p.Fail(cause) {
		for _, c := range u.r.comms {
			err := *p.Failed()
			err.Peer = c.RankOf(p.Rank)
			c.SetFault(&core.Fault{Err: &err})
		}
		u.r.o.ProcFailed(p)
	}
}

// newPathWorld makes it with what shape does to the scripts.
func newPathWorld(t testing.TB, shape func(first, second *btltest.Script)) *pathWorld {
	t.Helper()
	w := &pathWorld{both: [2]*btltest.Script{btltest.NewScript(), btltest.NewScript()}}
	shape(w.both[0], w.both[1])
	w.world = &world{World: btltest.NewWorld(t, btltest.Config{Component: w.both[0]}, 2), script: w.both[0]}
	reg, err := mca.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	r2, _ := reg.Component("bml", "r2")
	for _, r := range w.Ranks {
		more, err := w.both[1].Open(r.Env)
		if err != nil {
			t.Fatal(err)
		}
		m, err := r2.(bml.Component).Open(r.Env, []btl.Module{r.Module, more[0]})
		if err != nil {
			t.Fatal(err)
		}
		me := &rank{r, newModule(r.Env, m, Options{Depth: 2}), map[uint32]*core.Comm{}}
		r.Env.Upcalls = &pathUpcalls{r, me, m}
		me.addComm(t, 0)
		w.ranks = append(w.ranks, me)
	}
	return w
}

// breakPath ends a BTL's connection at both ends. What it still has is given back with an error. Bits of order say which end notices first,
// whether that comes before or after its fragments, whether these come nevertheless, or in part, and whether inline messages are in doubt.
func (w *pathWorld) breakPath(path int, order int) {
	s := w.both[path]
	var told [2]bool
	var begun []func(error)
	lose := func(from int) {
		for _, f := range s.Frames() {
			switch {
			case f.From != from:
			case f.Inline && order&8 != 0:
				s.Reclaim(f, order&4 != 0)
			case f.Inline:
				s.Deliver(f)
			case order&16 != 0 && !told[f.To]:
				if end := s.Begin(f, errors.New("in doubt")); end != nil {
					if order&64 != 0 {
						end(errors.New("broken off"))
					} else {
						begun = append(begun, end)
					}
				} else {
					s.Drop(f, errors.New("lost"))
				}
			case order&4 != 0:
				s.Doubt(f, errors.New("in doubt"))
			default:
				s.Drop(f, errors.New("lost"))
			}
		}
	}
	for k := range 2 {
		end := k ^ order&1
		if order&2 != 0 {
			lose(end)
		}
		if k == 1 { // what has begun to come to this end breaks off here at the latest
			for _, rest := range begun {
				if order&32 != 0 {
					rest(nil)
				} else {
					rest(errors.New("broken off"))
				}
			}
			begun = nil
		}
		s.Fail(end, 1-end, false, errors.New("the cable is out"))
		told[end] = true
		if order&2 == 0 {
			lose(end)
		}
		w.settle()
	}
	for _, rest := range begun {
		rest(errors.New("broken off"))
	}
	w.settle()
}

// settle moves everything there is to move.
func (w *pathWorld) settle() {
	for moved := true; moved; {
		moved = w.both[0].DeliverAll()+w.both[1].DeliverAll() > 0
		for _, r := range w.ranks {
			moved = r.Poll() > 0 || moved
		}
	}
}

func later(first, second *btltest.Script) {
	for _, s := range []*btltest.Script{first, second} {
		s.Later = true
		s.Facts = btl.Limits{Eager: 116, RndvEager: 20, MaxSend: 124, Latency: 1, Bandwidth: 1, Exclusivity: 1}
		s.Inline = 16
	}
	first.Facts.Eager, first.Facts.MaxSend = 300, 224
}

// TestPathLost: a peer that is reached over two BTLs survives the loss of one, for messages of every kind.
func TestPathLost(t *testing.T) {
	for _, gets := range []bool{false, true} {
		for path := range 2 {
			w := newPathWorld(t, func(a, b *btltest.Script) {
				later(a, b)
				a.Gets, b.Gets = gets, gets
			})
			exchange := func(when string) {
				for i, size := range []int{0, 8, 100, 280, 2000} {
					for from := range 2 {
						tag := 10*i + from
						mode := []pml.Mode{pml.Standard, pml.Synchronous}[i%2]
						in, out := newMemory(t, size, tag, i%3 == 1), newMemory(t, size, -1, false)
						s := w.ranks[from].send(in, 1-from, tag, mode)
						w.settle()
						r := w.ranks[1-from].recv(out, from, tag)
						w.settle()
						if !s.Done() || !r.Done() || s.Status.Err != nil || r.Status.Err != nil || !out.holds(size, tag) {
							t.Errorf("%s, path %d, gets %v: %d bytes: send %v, receive %v", when, path, gets, size, s.Status, r.Status)
						}
					}
				}
			}
			exchange("before")
			w.breakPath(path, 0)
			w.both[path].Log()
			exchange("after")
			for _, l := range w.both[path].Log() {
				t.Errorf("over the broken path: %s", l)
			}
			for _, r := range w.ranks {
				r.checkBalance(t)
				if n := r.o.stats.Refused; n != 0 {
					t.Errorf("%d frames were refused", n)
				}
			}
			// The second loss is the process's end.
			r := w.ranks[0].recv(newMemory(t, 8, -1, false), 1, 0)
			w.breakPath(1-path, 0)
			if !r.Done() || core.ClassOf(r.Status.Err) != core.ErrProcFailed {
				t.Errorf("after the last path broke: %v", r.Status)
			}
		}
	}
}

// TestPathLostBeforeUse: a connection that broke before this rank had used it is not used.
func TestPathLostBeforeUse(t *testing.T) {
	w := newPathWorld(t, later)
	w.both[0].Fail(0, 1, false, errors.New("the cable is out"))
	s := w.ranks[0].send(newMemory(t, 100, 1, false), 1, 1, pml.Standard)
	if len(w.both[0].Frames()) != 0 || len(w.both[1].Frames()) != 1 {
		t.Error("the message does not go over the other path")
	}
	w.settle()
	if !s.Done() || s.Status.Err != nil {
		t.Errorf("send: %v", s.Status)
	}
}

// checkConserved fails the test unless, with nothing under way, both ends of each pair have the same idea of what is left of the credit.
func (w *world) checkConserved(t testing.TB, name string) {
	t.Helper()
	for b, r := range w.ranks {
		for a, from := range w.ranks {
			p, f := from.o.peers[b], &r.o.credit.accounts[a]
			if p == nil || a == b {
				continue
			}
			if f.kept != 0 || f.due < 0 || f.loan < 0 || p.granted != f.granted || p.left != f.window+f.loan-f.due || len(p.starving) != 0 {
				t.Errorf("%s: in the end %d has %d credit of %d at %d, whose account is %+v (off by %d)", name, a, p.left, p.granted, b, *f, p.left-(f.window+f.loan-f.due))
			}
		}
	}
}

// quiesce moves everything there is to move; transfers end, well or not.
func (w *pathWorld) quiesce(rnd *rand.Rand) {
	for moved := true; moved; {
		w.settle()
		moved = endTransfers(w.both[0], rnd)
		moved = endTransfers(w.both[1], rnd) || moved
		for _, r := range w.ranks {
			moved = moved || r.o.credit.on
		}
	}
}

// TestPathUnderWay breaks a path at every step of a conversation, in any protocol, with much credit or hardly any. Whatever was under way
// comes, once and undamaged, over the other path; whatever comes afterwards works; nothing is left, and no credit is lost or made.
func TestPathUnderWay(t *testing.T) {
	steps := 0
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		path, order, at := rnd.IntN(2), rnd.IntN(128), rnd.IntN(40)
		w := newPathWorld(t, func(a, b *btltest.Script) {
			later(a, b)
			a.Gets, a.Puts, a.Slow = rnd.IntN(2) == 0, rnd.IntN(2) == 0, rnd.IntN(2) == 0
			b.Gets, b.Puts, b.Slow = a.Gets, a.Puts, a.Slow
			for _, s := range []*btltest.Script{a, b} {
				s.Facts.MinShared, s.Facts.PipeSend, s.Facts.PipeFrag = 700, 150, 200
			}
			if rnd.IntN(3) == 0 {
				a.Inline, b.Inline = 0, 0
			}
		})
		if rnd.IntN(4) == 0 {
			for _, r := range w.ranks {
				r.o.opt.Checksum = true
				r.o.extend()
			}
		}
		if rnd.IntN(2) == 0 {
			first, budget := []int64{1024, 2048}[rnd.IntN(2)], []int64{4 << 10, 16 << 10}[rnd.IntN(2)]
			for _, r := range w.ranks {
				r.o.credit.open(first, budget, 2)
			}
		}
		for _, r := range w.ranks {
			r.Do(func() {
				r.o.opt.Protocol, r.o.opt.RecvDepth = []string{"auto", "auto", "put", "pipeline", "rget", "coop"}[rnd.IntN(6)], 1+rnd.IntN(4)
				r.o.LimitsChanged()
			})
		}
		type pair struct {
			s, r *core.Request
			size int
			room int
			out  *memory
			tag  int
		}
		var pairs []*pair
		begin := func() {
			size := []int{0, 8, 50, 100, 250, 600, 1500}[rnd.IntN(7)]
			p := &pair{size: size, room: size, tag: len(pairs)}
			if rnd.IntN(8) == 0 {
				p.room = rnd.IntN(size + 1)
			}
			from := rnd.IntN(2)
			in := newMemory(t, size, p.tag, rnd.IntN(4) == 0)
			p.out = newMemory(t, p.room, -1, rnd.IntN(4) == 0)
			mode := []pml.Mode{pml.Standard, pml.Synchronous}[rnd.IntN(2)]
			send := func() { p.s = w.ranks[from].send(in, 1-from, p.tag, mode) }
			recv := func() { p.r = w.ranks[1-from].recv(p.out, from, p.tag) }
			if rnd.IntN(2) == 0 {
				send()
				recv()
			} else {
				recv()
				send()
			}
			pairs = append(pairs, p)
		}
		for range at {
			switch s := w.both[rnd.IntN(2)]; rnd.IntN(8) {
			case 0, 1:
				begin()
			case 2:
				s.Refuse(rnd.IntN(2))
			case 3:
				w.ranks[rnd.IntN(2)].Poll()
			case 4:
				if n := s.Transfers(); n > 0 {
					s.EndTransfer(rnd.IntN(n), []error{nil, nil, nil, btl.ErrNotSupported}[rnd.IntN(4)])
				}
			default:
				if f := s.Frames(); len(f) > 0 {
					f := f[rnd.IntN(len(f))]
					if rnd.IntN(10) == 0 {
						s.Copy(f)
					} else {
						s.Deliver(f)
					}
				}
			}
			steps++
		}
		if rnd.IntN(3) == 0 { // no room on the other path at first
			w.both[1-path].Refuse(rnd.IntN(6))
		}
		for rnd.IntN(2) == 0 && w.both[path].Transfers() > 0 { // some are over before it is known
			w.both[path].EndTransfer(0, []error{errors.New("broken"), nil}[rnd.IntN(2)])
		}
		w.breakPath(path, order)
		for w.both[path].Transfers() > 0 {
			w.both[path].EndTransfer(0, errors.New("broken"))
		}
		w.both[1-path].Refuse(0)
		for range 3 {
			begin()
			w.quiesce(rnd)
		}
		name := fmt.Sprintf("seed %d, path %d, order %d", seed, path, order)
		for i, p := range pairs {
			for _, r := range []*core.Request{p.s, p.r} {
				short := r == p.r && p.room < p.size
				if !r.Done() || (r.Status.Err != nil) != short || (short && core.ClassOf(r.Status.Err) != core.ErrTruncate) {
					t.Fatalf("%s: message %d of %d, %d bytes: sent %v %v, received %v %v", name, i, len(pairs), p.size, p.s.Done(), p.s.Status.Err, p.r.Done(), p.r.Status.Err)
				}
			}
			if !p.out.holds(p.room, p.tag) || p.r.Status.Bytes() != int64(p.room) {
				t.Errorf("%s: message %d of %d bytes is damaged", name, i, p.size)
			}
			if !p.out.intact() {
				t.Errorf("%s: message %d wrote outside", name, i)
			}
		}
		w.checkConserved(t, name)
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
	if steps == 0 {
		t.Error("nothing was tried")
	}
}

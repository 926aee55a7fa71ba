package mtltest

import (
	"testing"

	"github.com/ompi-go/ompi-go/mtl"
)

// testOutstanding: many requests at a time in both directions, receives posted in the opposite order.
func testOutstanding(t *testing.T, w *World) {
	const n = 500
	var ops []*Op
	var ins [2][]*memory
	for k, r := range w.Ranks {
		for i := range n {
			in := newMemory(t, w.mixed(i)%5000, -1, false)
			ins[k] = append(ins[k], in)
			ops = append(ops, r.recv(&r.World.P2P, in, 1-k, n-i))
		}
	}
	for i := n - 1; i >= 0; i-- {
		for k, r := range w.Ranks {
			ops = append(ops, r.send(&r.World.P2P, newMemory(t, w.mixed(i)%5000, i+k, false), 1-k, n-i, i%50 == 0))
		}
	}
	w.wait(t, "all", ops...)
	for k := range w.Ranks {
		for i := range n {
			ops[k*n+i].got(t, ins[k][i], 1-k, n-i, w.mixed(i)%5000, i+1-k)
		}
	}
	w.quiet(t)
}

// testExchange: everybody with everybody, itself included, long messages both ways at once.
func testExchange(t *testing.T, w *World) {
	for round := range 3 {
		var ops, recvs []*Op
		var ins []*memory
		n := [...]int{100, 5000, w.Long}[round]
		for k, r := range w.Ranks {
			for p := range w.Ranks {
				ops = append(ops, r.send(&r.World.Inner, newMemory(t, n, k*10+p, round == 1), p, round, false))
			}
		}
		for _, r := range w.Ranks {
			for p := range w.Ranks {
				in := newMemory(t, n, -1, false)
				ins = append(ins, in)
				recvs = append(recvs, r.recv(&r.World.Inner, in, p, round))
			}
		}
		w.wait(t, "the exchange", append(ops, recvs...)...)
		for i, r := range recvs {
			p := i % len(w.Ranks)
			r.got(t, ins[i], p, round, n, p*10+i/len(w.Ranks))
		}
	}
	w.quiet(t)
}

// testFlood: more unexpected messages than any list may be prepared for come all, once and in the order of each sender.
func testFlood(t *testing.T, w *World) {
	each := 4000
	if raceEnabled {
		each = 1000
	}
	size := func(i int) int { return [...]int{8, 100, 0, 1500}[i%4] }
	to := w.Ranks[0]
	var sends []*Op
	for i := range each {
		for k, r := range w.Ranks[1:] {
			sends = append(sends, r.send(&r.World.P2P, newMemory(t, size(i), i+k, false), 0, i%100, false))
		}
		if i%64 == 0 {
			w.Poll()
		}
	}
	for range 50 {
		w.Poll()
	}
	next := make([]int, len(w.Ranks))
	for got := range each * (len(w.Ranks) - 1) {
		in := newMemory(t, 1500, -1, false)
		source := mtl.AnySource
		if got%3 == 0 {
			source = 1 + got/3%(len(w.Ranks)-1)
			if next[source] == each {
				source = mtl.AnySource
			}
		}
		r := to.recv(&to.World.P2P, in, source, mtl.AnyTag)
		w.wait(t, "a message of the flood", r)
		k := r.st.Source
		if k < 1 || k >= len(w.Ranks) {
			t.Fatalf("it came from %d", k)
		}
		i := next[k]
		next[k]++
		r.got(t, in, k, i%100, size(i), i+k-1)
	}
	w.wait(t, "the sends", sends...)
	w.quiet(t)
	for _, s := range sends {
		if s.err != nil {
			t.Fatal(s.err)
		}
	}
}

// testEarly: messages of a communicator that is not made here yet wait for it.
func testEarly(t *testing.T, w *World) {
	a, b := w.Ranks[0], w.Ranks[1]
	ca := a.Comm(t, 5)
	s1 := a.send(&ca.P2P, newMemory(t, 8, 1, false), 1, 2, false)
	s2 := a.send(&ca.Inner, newMemory(t, w.Long, 2, false), 1, 3, false)
	for range 10 {
		w.Poll()
	}
	cb := b.Comm(t, 5)
	in1, in2 := newMemory(t, 8, -1, false), newMemory(t, w.Long, -1, false)
	r2 := b.recv(&cb.Inner, in2, mtl.AnySource, mtl.AnyTag)
	r1 := b.recv(&cb.P2P, in1, mtl.AnySource, mtl.AnyTag)
	w.wait(t, "the early messages", r1, r2, s1, s2)
	r1.got(t, in1, 0, 2, 8, 1)
	r2.got(t, in2, 0, 3, w.Long, 2)
}

// testFreed: what nobody has received goes with its communicator.
func testFreed(t *testing.T, w *World) {
	a, b := w.Ranks[0], w.Ranks[1]
	for round := range 3 {
		ca, cb := a.Comm(t, 4), b.Comm(t, 4)
		in := newMemory(t, 8, -1, false)
		r := b.recv(&cb.P2P, in, mtl.AnySource, mtl.AnyTag)
		s := a.send(&ca.P2P, newMemory(t, 8, round, false), 1, round, false)
		w.wait(t, "the message", r, s)
		r.got(t, in, 0, round, 8, round)
		for i := range 5 {
			s := a.send(&ca.P2P, newMemory(t, 100, i, false), 1, i, false)
			w.wait(t, "a send that nobody receives", s)
		}
		a.send(&ca.P2P, newMemory(t, 8, 1, false), 1, mtl.PairTags, false)
		w.Until(t, "Flushed", func() (ok bool) {
			a.Do(func() { ok = a.Module.Flushed(ca) })
			return ok
		})
		for range 3 {
			w.Poll()
		}
		a.Do(func() { a.Module.DelComm(ca) })
		b.Do(func() { b.Module.DelComm(cb) })
	}
	cb := b.Comm(t, 4)
	b.Do(func() {
		for _, tag := range []int{mtl.AnyTag, mtl.PairTags} {
			if st, ok := b.Module.Iprobe(&cb.P2P, 0, tag); ok {
				t.Errorf("a new communicator has a message of the old one: tag %d", st.Tag)
			}
		}
	})
	w.quiet(t)
}

// testAllocations: messages cost no heap allocations.
func testAllocations(t *testing.T, w *World) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	a, b := w.Ranks[0], w.Ranks[1]
	for _, n := range []int{8, 1000, w.Long} {
		out, in := newMemory(t, n, 1, false), newMemory(t, n, -1, false)
		s := &Op{rank: a, Request: mtl.Request{Ch: &a.World.P2P, Buf: out.buf, Peer: 1, Tag: 1}}
		r := &Op{rank: b, Request: mtl.Request{Ch: &b.World.P2P, Buf: in.buf, Peer: 0, Tag: 1}}
		s.Owner, r.Owner = s, r
		round := func(expected, try bool) {
			s.over, r.over = 0, 0
			if expected {
				b.Engine.Lock()
				b.Module.Recv(&r.Request)
				b.Engine.Unlock()
			}
			a.Engine.Lock()
			if try && a.Module.TrySend(s.Ch, s.Buf, 1, 1) {
				s.over = 1
			} else {
				a.Module.Send(&s.Request)
			}
			a.Engine.Unlock()
			if !expected {
				b.Engine.Lock()
				b.Engine.Poll()
				b.Module.Recv(&r.Request)
				b.Engine.Unlock()
			}
			for first := true; first || s.over == 0 || r.over == 0; first = false { // at least once, or what the sender keeps until it is told would add up
				for _, x := range w.Ranks {
					x.Engine.Lock()
					x.Engine.Poll()
					x.Engine.Unlock()
				}
			}
		}
		for _, shape := range []struct {
			name          string
			expected, try bool
		}{{"expected", true, false}, {"unexpected", false, false}, {"at once", true, true}} {
			for range 200 {
				round(shape.expected, shape.try)
			}
			if x := testing.AllocsPerRun(200, func() { round(shape.expected, shape.try) }); x != 0 {
				t.Errorf("a message of %d bytes, %s, costs %v allocations", n, shape.name, x)
			}
		}
		r.got(t, in, 0, 1, n, 1)
	}
}

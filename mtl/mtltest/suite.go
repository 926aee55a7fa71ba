package mtltest

import (
	"fmt"
	"testing"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mtl"
)

// Run checks that an MTL keeps the contract of package mtl.
func Run(t *testing.T, cfg Config) {
	for _, test := range []struct {
		name  string
		ranks int
		run   func(t *testing.T, w *World)
	}{
		{"Limits", 2, testLimits},
		{"Sizes", 2, testSizes},
		{"Order", 2, testOrder},
		{"PostingOrder", 3, testPostingOrder},
		{"Wildcards", 3, testWildcards},
		{"PairTags", 2, testPairTags},
		{"LargestTag", 2, testLargestTag},
		{"Channels", 2, testChannels},
		{"Synchronous", 2, testSynchronous},
		{"TrySend", 2, testTrySend},
		{"Truncation", 2, testTruncation},
		{"Cancel", 2, testCancel},
		{"Probe", 3, testProbe},
		{"MatchedProbe", 2, testMatchedProbe},
		{"Outstanding", 2, testOutstanding},
		{"Exchange", 4, testExchange},
		{"Flood", 4, testFlood},
		{"Early", 2, testEarly},
		{"Freed", 2, testFreed},
		{"ReceiverDies", 3, testReceiverDies},
		{"SenderDies", 3, testSenderDies},
		{"CommFails", 2, testCommFails},
		{"Model", 3, testModel},
		{"Allocations", 2, testAllocations},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, NewWorld(t, cfg, test.ranks)) })
	}
}

func testLimits(t *testing.T, w *World) {
	for _, r := range w.Ranks {
		m := r.Module
		if m.Name() == "" {
			t.Error("it has no name")
		}
		if m.MaxTag() < 32767 {
			t.Errorf("the largest tag is %d, MPI wants 32767 (MPI-3.1 §8.1.2)", m.MaxTag())
		}
		if m.MaxContext() < 255 {
			t.Errorf("the largest channel number is %d: there would be too few communicators", m.MaxContext())
		}
		if m.MaxRank() < len(w.Ranks)-1 {
			t.Errorf("the largest rank is %d", m.MaxRank())
		}
		r.Do(func() {
			if !m.Quiet() || m.Pending() != "" || !m.Flushed(r.World) {
				t.Errorf("quiet %v, pending %q, flushed %v before any message", m.Quiet(), m.Pending(), m.Flushed(r.World))
			}
		})
	}
}

func testSizes(t *testing.T, w *World) {
	id := 0
	for _, n := range []int{0, 1, 7, 8, 40, 64, 255, 1000, 2047, 2048, 2049, 4096, 10007, 65536, w.Long, 2*w.Long + 13} {
		for shape := range 32 {
			expected, sync, gapsOut, gapsIn, self := shape&1 != 0, shape&2 != 0, shape&4 != 0, shape&8 != 0, shape&16 != 0
			if n > 100000 && (gapsOut || gapsIn) && shape%5 != 0 {
				continue // slow
			}
			id++
			from, to := w.Ranks[0], w.Ranks[1]
			dest := 1
			if self {
				to, dest = from, 0
			}
			out, in := newMemory(t, n, id, gapsOut), newMemory(t, n+id%2*5, -1, gapsIn)
			var r, s *Op
			if expected {
				r = to.recv(&to.World.P2P, in, 0, id)
				w.Poll()
			}
			s = from.send(&from.World.P2P, out, dest, id, sync)
			if !expected {
				for range 3 {
					w.Poll()
				}
				r = to.recv(&to.World.P2P, in, 0, id)
			}
			what := fmt.Sprintf("%d bytes (shape %05b)", n, shape)
			w.wait(t, what, r, s)
			r.got(t, in, 0, id, n, id)
			if s.err != nil {
				t.Fatalf("%s: send: %v", what, s.err)
			}
			if !out.holds(n, id) || !out.intact() {
				t.Fatalf("%s: the send buffer has changed", what)
			}
		}
	}
	w.quiet(t)
}

// quiet checks that nothing is left of anything.
func (w *World) quiet(t testing.TB) {
	t.Helper()
	w.Until(t, "quiet", func() bool {
		ok := true
		for _, r := range w.Ranks {
			r.Do(func() {
				ok = ok && (r.silent || r.Module.Quiet() && r.Module.Pending() == "" && r.Module.Flushed(r.World))
			})
		}
		return ok
	})
}

// mixed is a size for the i-th message of a test: now short, now long.
func (w *World) mixed(i int) int {
	return [...]int{8, 0, 3000, 100, w.Long / 16, 17, 2048, 70000, 1, w.Long}[i%10]
}

// testOrder: messages of one pair are received in the order they were sent (MPI-3.1 §3.5), whatever their sizes.
func testOrder(t *testing.T, w *World) {
	a, b := w.Ranks[0], w.Ranks[1]
	const n = 60
	var sends, recvs []*Op
	var ins []*memory
	post := func(i int) {
		in := newMemory(t, w.Long, -1, i%3 == 1)
		ins = append(ins, in)
		tag := 7
		if i%4 == 3 {
			tag = mtl.AnyTag
		}
		source := 0
		if i%5 == 4 {
			source = mtl.AnySource
		}
		recvs = append(recvs, b.recv(&b.World.P2P, in, source, tag))
	}
	for i := range n / 3 { // expected
		post(i)
	}
	for i := range n {
		sends = append(sends, a.send(&a.World.P2P, newMemory(t, w.mixed(i), i, i%7 == 2), 1, 7, i%11 == 5))
		w.Poll()
	}
	for i := n / 3; i < n; i++ {
		post(i)
	}
	w.wait(t, "the messages", append(recvs, sends...)...)
	for i, r := range recvs {
		r.got(t, ins[i], 0, 7, w.mixed(i), i)
	}
	w.quiet(t)
}

// testPostingOrder: of the receives that a message fits, the one posted first gets it.
func testPostingOrder(t *testing.T, w *World) {
	c := w.Ranks[2]
	ch := &c.World.P2P
	type want struct{ source, tag int }
	posted := []want{{mtl.AnySource, 5}, {0, 5}, {0, mtl.AnyTag}, {mtl.AnySource, mtl.AnyTag}, {0, 5}, {1, 5}}
	var ops []*Op
	var ins []*memory
	for _, p := range posted {
		in := newMemory(t, 16, -1, false)
		ins = append(ins, in)
		ops = append(ops, c.recv(ch, in, p.source, p.tag))
	}
	for k, m := range []struct{ from, tag, into int }{{0, 5, 0}, {0, 5, 1}, {1, 5, 3}, {0, 5, 2}, {1, 5, 5}, {0, 5, 4}} {
		s := w.Ranks[m.from].send(&w.Ranks[m.from].World.P2P, newMemory(t, 16, k, false), 2, m.tag, true)
		w.wait(t, fmt.Sprintf("message %d", k), s, ops[m.into])
		ops[m.into].got(t, ins[m.into], m.from, m.tag, 16, k)
		for i, o := range ops {
			if o.over > 1 {
				t.Fatalf("receive %d is over twice", i)
			}
		}
	}
	w.quiet(t)
}

func testWildcards(t *testing.T, w *World) {
	c := w.Ranks[2]
	id := 0
	for _, early := range []bool{true, false} {
		for _, pat := range []struct{ source, tag int }{{mtl.AnySource, 9}, {1, mtl.AnyTag}, {mtl.AnySource, mtl.AnyTag}} {
			for _, n := range []int{8, w.Long} {
				id++
				in := newMemory(t, n, -1, false)
				var r *Op
				if early {
					r = c.recv(&c.World.P2P, in, pat.source, pat.tag)
				}
				s := w.Ranks[1].send(&w.Ranks[1].World.P2P, newMemory(t, n, id, false), 2, 9, false)
				if !early {
					w.Poll()
					r = c.recv(&c.World.P2P, in, pat.source, pat.tag)
				}
				w.wait(t, "a message for a wildcard", r, s)
				r.got(t, in, 1, 9, n, id)
			}
		}
	}
	// What fits neither source nor tag stays.
	in := newMemory(t, 8, -1, false)
	r := c.recv(&c.World.P2P, in, 0, mtl.AnyTag)
	in2 := newMemory(t, 8, -1, false)
	r2 := c.recv(&c.World.P2P, in2, mtl.AnySource, 4)
	w.Ranks[1].send(&w.Ranks[1].World.P2P, newMemory(t, 8, 1, false), 2, 9, false)
	w.Settle(t)
	if r.done() || r2.done() {
		t.Fatal("a receive got a message that it does not fit")
	}
	s := w.Ranks[0].send(&w.Ranks[0].World.P2P, newMemory(t, 8, 2, false), 2, 4, false)
	w.wait(t, "the first", s, r)
	r.got(t, in, 0, 4, 8, 2)
	s = w.Ranks[1].send(&w.Ranks[1].World.P2P, newMemory(t, 8, 3, false), 2, 4, false)
	w.wait(t, "the second", s, r2)
	r2.got(t, in2, 1, 4, 8, 3)
	in3 := newMemory(t, 8, -1, false)
	r3 := c.recv(&c.World.P2P, in3, mtl.AnySource, mtl.AnyTag)
	w.wait(t, "what had stayed", r3)
	r3.got(t, in3, 1, 9, 8, 1)
	w.quiet(t)
}

// testPairTags: tags from mtl.PairTags on are matched by no wildcard.
func testPairTags(t *testing.T, w *World) {
	a, b := w.Ranks[0], w.Ranks[1]
	ch := &b.World.P2P
	tags := []int{mtl.PairTags, mtl.PairTags + 1, mtl.PairTags + 40000}
	var any []*Op
	var ins []*memory
	for _, source := range []int{mtl.AnySource, 0} {
		in := newMemory(t, 8, -1, false)
		ins = append(ins, in)
		any = append(any, b.recv(ch, in, source, mtl.AnyTag))
	}
	for i, tag := range tags {
		a.send(&a.World.P2P, newMemory(t, 8, i, false), 1, tag, false)
	}
	w.Settle(t)
	for _, o := range any {
		if o.done() {
			t.Fatalf("a receive of any tag got tag %d", o.st.Tag)
		}
	}
	b.Do(func() {
		for _, source := range []int{mtl.AnySource, 0} {
			if st, ok := b.Module.Iprobe(ch, source, mtl.AnyTag); ok {
				t.Errorf("a probe of any tag found tag %d", st.Tag)
			}
		}
		if st, ok := b.Module.Iprobe(ch, 0, tags[1]); !ok || st.Tag != tags[1] || st.Source != 0 || st.Bytes() != 8 {
			t.Errorf("a probe of the tag itself says %+v %v", st, ok)
		}
	})
	for i, tag := range tags {
		in := newMemory(t, 8, -1, false)
		r := b.recv(ch, in, 0, tag)
		w.wait(t, "a receive of its tag", r)
		r.got(t, in, 0, tag, 8, i)
		in = newMemory(t, w.Long, -1, false)
		r = b.recv(ch, in, 0, tag)
		s := a.send(&a.World.P2P, newMemory(t, w.Long, i, false), 1, tag, false)
		w.wait(t, "an expected one", r, s)
		r.got(t, in, 0, tag, w.Long, i)
	}
	for i := range any {
		s := a.send(&a.World.P2P, newMemory(t, 8, 9+i, false), 1, 3, false)
		w.wait(t, "a user's message", s, any[i])
		any[i].got(t, ins[i], 0, 3, 8, 9+i)
	}
	w.quiet(t)
}

func testLargestTag(t *testing.T, w *World) {
	a, b := w.Ranks[0], w.Ranks[1]
	max := min(a.Module.MaxTag(), mtl.PairTags-1)
	for i, tag := range []int{max, 0, max, max - 1} {
		in := newMemory(t, 8, -1, false)
		want := tag
		if i == 2 {
			want = mtl.AnyTag
		}
		r := b.recv(&b.World.P2P, in, 0, want)
		s := a.send(&a.World.P2P, newMemory(t, 8, i, false), 1, tag, false)
		w.wait(t, "the message", r, s)
		r.got(t, in, 0, tag, 8, i)
	}
}

// testChannels: message spaces do not mix, of the same communicator or of others.
func testChannels(t *testing.T, w *World) {
	a, b := w.Ranks[0], w.Ranks[1]
	last := (a.Module.MaxContext() - 1) / 2
	ca, cb := []*core.Comm{a.World, a.Comm(t, 3), a.Comm(t, last)}, []*core.Comm{b.World, b.Comm(t, 3), b.Comm(t, last)}
	var from, to []*core.Channel
	for i := range ca {
		from = append(from, &ca[i].P2P, &ca[i].Inner)
		to = append(to, &cb[i].P2P, &cb[i].Inner)
	}
	for _, n := range []int{8, w.Long} {
		var ops []*Op
		var ins []*memory
		for i := range from {
			ops = append(ops, a.send(from[i], newMemory(t, n, i, false), 1, 1, false))
		}
		w.Poll()
		for i := len(to) - 1; i >= 0; i-- {
			in := newMemory(t, n, -1, false)
			ins = append(ins, in)
			ops = append(ops, b.recv(to[i], in, mtl.AnySource, mtl.AnyTag))
		}
		w.wait(t, "all channels", ops...)
		for k := range to {
			ops[len(from)+k].got(t, ins[k], 0, 1, n, len(to)-1-k)
		}
	}
	for i := 1; i < len(ca); i++ {
		a.Do(func() { a.Module.DelComm(ca[i]) })
		b.Do(func() { b.Module.DelComm(cb[i]) })
	}
	w.quiet(t)
}

func testSynchronous(t *testing.T, w *World) {
	a, b := w.Ranks[0], w.Ranks[1]
	for i, n := range []int{0, 8, 3000, w.Long} {
		s := a.send(&a.World.P2P, newMemory(t, n, i, false), 1, i, true)
		w.Settle(t)
		for range 20 {
			w.Poll()
		}
		if s.done() {
			t.Fatalf("a synchronous send of %d bytes was over before it was matched", n)
		}
		in := newMemory(t, n, -1, false)
		r := b.recv(&b.World.P2P, in, 0, i)
		w.wait(t, "the match", s, r)
		r.got(t, in, 0, i, n, i)
	}
	w.quiet(t)
}

// testTrySend: what goes at once keeps its place among the others.
func testTrySend(t *testing.T, w *World) {
	a, b := w.Ranks[0], w.Ranks[1]
	const n = 200
	var ops []*Op
	at := 0
	try := func(i int) {
		size := [...]int{8, 0, 40, 500}[i%4]
		m := newMemory(t, size, i, false)
		ok := false
		a.Do(func() { ok = a.Module.TrySend(&a.World.P2P, m.buf, 1, 5) })
		if ok {
			at++
			for k := range m.all {
				m.all[k] = 0 // the buffer may be used again
			}
		} else {
			ops = append(ops, a.send(&a.World.P2P, m, 1, 5, false))
		}
	}
	for i := range n {
		if i%9 == 4 {
			ops = append(ops, a.send(&a.World.P2P, newMemory(t, w.mixed(i), i, false), 1, 5, false))
		} else {
			try(i)
		}
	}
	for i := range n {
		size := [...]int{8, 0, 40, 500}[i%4]
		if i%9 == 4 {
			size = w.mixed(i)
		}
		in := newMemory(t, size, -1, false)
		r := b.recv(&b.World.P2P, in, 0, mtl.AnyTag)
		w.wait(t, "a message", r)
		r.got(t, in, 0, 5, size, i)
	}
	w.wait(t, "the sends", ops...)
	t.Logf("%d messages went at once", at)
	w.quiet(t)
}

func testTruncation(t *testing.T, w *World) {
	a, b := w.Ranks[0], w.Ranks[1]
	for i, n := range []int{1, 8, 2500, w.Long, 2 * w.Long} {
		for shape := range 8 {
			early, gaps, sync := shape&1 != 0, shape&2 != 0, shape&4 != 0
			for _, room := range []int{0, n / 2} {
				in := newMemory(t, room, -1, gaps)
				var r *Op
				if early {
					r = b.recv(&b.World.P2P, in, 0, i)
				}
				s := a.send(&a.World.P2P, newMemory(t, n, i, false), 1, i, sync)
				if !early {
					for range 3 {
						w.Poll()
					}
					r = b.recv(&b.World.P2P, in, mtl.AnySource, i)
				}
				w.wait(t, "a truncated message", r, s)
				if core.ClassOf(r.err) != core.ErrTruncate {
					t.Fatalf("%d bytes for %d: the error is %v, not of class ErrTruncate", n, room, r.err)
				}
				if s.err != nil {
					t.Fatalf("its send: %v", s.err)
				}
				r.err = nil
				r.got(t, in, 0, i, room, i)
			}
		}
	}
	w.quiet(t)
}

func testCancel(t *testing.T, w *World) {
	a, b := w.Ranks[0], w.Ranks[1]
	for i, n := range []int{8, w.Long} {
		first, second := newMemory(t, n, -1, false), newMemory(t, n, -1, false)
		r1, r2 := b.recv(&b.World.P2P, first, 0, i), b.recv(&b.World.P2P, second, mtl.AnySource, i)
		w.Poll()
		b.Do(func() {
			if !b.Module.Cancel(&r1.Request) {
				t.Error("a receive that nothing has matched could not be cancelled")
			}
		})
		s := a.send(&a.World.P2P, newMemory(t, n, i, false), 1, i, false)
		w.wait(t, "the second receive", r2, s)
		r2.got(t, second, 0, i, n, i)
		if r1.over != 0 || !first.holds(0, 0) || !first.intact() || first.holds(n, i) {
			t.Fatal("a cancelled receive was told of, or got something")
		}
		// One that is matched is not cancelled: it ends as it would have.
		in := newMemory(t, n, -1, false)
		s = a.send(&a.World.P2P, newMemory(t, n, i, false), 1, i, false)
		w.Settle(t)
		r := b.recv(&b.World.P2P, in, 0, i)
		b.Do(func() {
			if b.Module.Cancel(&r.Request) {
				t.Error("a receive that was matched could be cancelled")
			}
		})
		w.wait(t, "the matched one", r, s)
		r.got(t, in, 0, i, n, i)
	}
	w.quiet(t)
}

func testProbe(t *testing.T, w *World) {
	b := w.Ranks[2]
	ch := &b.World.P2P
	probe := func(source, tag int) (st core.Status, ok bool) {
		b.Do(func() { st, ok = b.Module.Iprobe(ch, source, tag) })
		return st, ok
	}
	if st, ok := probe(mtl.AnySource, mtl.AnyTag); ok {
		t.Fatalf("a probe found %+v before anything was sent", st)
	}
	type msg struct{ from, tag, n int }
	msgs := []msg{{0, 1, 8}, {0, 2, w.Long}, {1, 1, 3000}, {0, 1, 16}}
	var ops []*Op
	for i, m := range msgs {
		ops = append(ops, w.Ranks[m.from].send(&w.Ranks[m.from].World.P2P, newMemory(t, m.n, i, false), 2, m.tag, false))
		w.Settle(t)
	}
	for _, q := range []struct{ source, tag, want int }{{0, 1, 0}, {0, 2, 1}, {1, mtl.AnyTag, 2}, {mtl.AnySource, mtl.AnyTag, 0}, {mtl.AnySource, 2, 1}, {1, 2, -1}, {2, mtl.AnyTag, -1}} {
		for range 2 { // it changes nothing
			st, ok := probe(q.source, q.tag)
			if q.want < 0 {
				if ok {
					t.Fatalf("a probe of (%d, %d) found %+v", q.source, q.tag, st)
				}
				continue
			}
			if m := msgs[q.want]; !ok || st.Source != m.from || st.Tag != m.tag || st.Bytes() != int64(m.n) {
				t.Fatalf("a probe of (%d, %d) says %v, source %d, tag %d, %d bytes; want %+v", q.source, q.tag, ok, st.Source, st.Tag, st.Bytes(), m)
			}
		}
	}
	for i, m := range msgs {
		in := newMemory(t, m.n, -1, false)
		r := b.recv(ch, in, m.from, mtl.AnyTag)
		w.wait(t, "a message that was probed", r)
		r.got(t, in, m.from, m.tag, m.n, i)
	}
	w.wait(t, "the sends", ops...)
	if st, ok := probe(mtl.AnySource, mtl.AnyTag); ok {
		t.Fatalf("a probe found %+v after everything was received", st)
	}
	w.quiet(t)
}

func testMatchedProbe(t *testing.T, w *World) {
	a, b := w.Ranks[0], w.Ranks[1]
	ch := &b.World.P2P
	for i, n := range []int{0, 8, 3000, w.Long} {
		for _, sync := range []bool{false, true} {
			first := a.send(&a.World.P2P, newMemory(t, n, i, false), 1, 4, sync)
			second := a.send(&a.World.P2P, newMemory(t, n, i+50, false), 1, 4, false)
			w.Settle(t)
			var m mtl.Message
			var st core.Status
			b.Do(func() {
				var ok bool
				if m, st, ok = b.Module.Improbe(ch, mtl.AnySource, mtl.AnyTag); !ok || m == nil {
					t.Fatal("a matched probe found nothing")
				}
			})
			if st.Source != 0 || st.Tag != 4 || st.Bytes() != int64(n) || m.Status() != st {
				t.Fatalf("a matched probe says %+v and %+v", st, m.Status())
			}
			in2 := newMemory(t, n, -1, false)
			r2 := b.recv(ch, in2, 0, 4) // gets the next one
			w.wait(t, "the other message", r2, second)
			r2.got(t, in2, 0, 4, n, i+50)
			in := newMemory(t, n, -1, true)
			r := &Op{rank: b, Request: mtl.Request{Ch: ch, Buf: in.buf, Peer: st.Source, Tag: st.Tag}}
			r.Owner = r
			b.Do(func() { b.Module.RecvMessage(m, &r.Request) })
			w.wait(t, "the message that was taken", r, first)
			r.got(t, in, 0, 4, n, i)
		}
	}
	b.Do(func() {
		if m, _, ok := b.Module.Improbe(ch, 0, 4); ok || m != nil {
			t.Error("a matched probe found a message that was received")
		}
	})
	w.quiet(t)
}

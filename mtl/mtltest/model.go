package mtltest

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mtl"
)

// model is MPI's matching as its text says it (MPI-3.1 §3.5), for ranks between which nothing is on the way: the test lets each message come
// before the next step.
type model struct {
	w          *World
	id         int
	unexpected [][]*modelMsg // by receiver, as they came
	posted     [][]*modelRecv
	sends      []*Op
}

type modelMsg struct{ from, tag, n, id int }

type modelRecv struct {
	op          *Op
	in          *memory
	source, tag int
}

func (r *modelRecv) fits(m *modelMsg) bool { return modelFits(r.source, r.tag, m) }

func modelFits(source, tag int, m *modelMsg) bool {
	return (source == mtl.AnySource || source == m.from) && (tag == m.tag || tag == mtl.AnyTag && m.tag < mtl.PairTags)
}

func testModel(t *testing.T, w *World) {
	rapid.Check(t, func(rt *rapid.T) {
		n := len(w.Ranks)
		x := &model{w: w, unexpected: make([][]*modelMsg, n), posted: make([][]*modelRecv, n)}
		rank := rapid.IntRange(0, n-1)
		tags := rapid.SampledFrom([]int{0, 1, 2, mtl.PairTags + 1})
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			at := rank.Draw(rt, "at")
			source := rapid.SampledFrom([]int{mtl.AnySource, 0, 1, 2}).Draw(rt, "source")
			tag := rapid.SampledFrom([]int{mtl.AnyTag, 0, 1, 2, mtl.PairTags + 1}).Draw(rt, "tag")
			if tag >= mtl.PairTags && source == mtl.AnySource {
				source = 0
			}
			switch rapid.SampledFrom([]string{"send", "send", "recv", "recv", "cancel", "probe", "mprobe"}).Draw(rt, "step") {
			case "send":
				size := rapid.SampledFrom([]int{0, 8, 3000, w.Long / 8}).Draw(rt, "size")
				x.send(t, at, rank.Draw(rt, "to"), tags.Draw(rt, "its tag"), size, rapid.Bool().Draw(rt, "sync"))
			case "recv":
				x.recv(t, at, source, tag)
			case "cancel":
				if l := len(x.posted[at]); l > 0 {
					x.cancel(t, at, rapid.IntRange(0, l-1).Draw(rt, "which"))
				}
			case "probe":
				x.probe(t, at, source, tag)
			case "mprobe":
				x.mprobe(t, at, source, tag)
			}
		}
		for at := range n { // leave nothing behind
			for len(x.posted[at]) > 0 {
				x.cancel(t, at, 0)
			}
			for len(x.unexpected[at]) > 0 {
				m := x.unexpected[at][0]
				x.recv(t, at, m.from, m.tag)
			}
		}
		w.wait(t, "the sends", x.sends...)
		w.quiet(t)
	})
}

func (x *model) send(t *testing.T, from, to, tag, n int, sync bool) {
	x.id++
	r := x.w.Ranks[from]
	m := &modelMsg{from, tag, n, x.id}
	x.sends = append(x.sends, r.send(&r.World.P2P, newMemory(t, n, x.id, x.id%3 == 0), to, tag, sync))
	x.w.Settle(t)
	i := slices.IndexFunc(x.posted[to], func(p *modelRecv) bool { return p.fits(m) })
	if i < 0 {
		x.unexpected[to] = append(x.unexpected[to], m)
		return
	}
	p := x.posted[to][i]
	x.posted[to] = slices.Delete(x.posted[to], i, i+1)
	x.w.wait(t, fmt.Sprintf("the receive of message %d, the first posted that it fits", x.id), p.op)
	p.op.got(t, p.in, from, tag, n, m.id)
	x.idle(t)
}

// idle checks that receives that wait are not over.
func (x *model) idle(t *testing.T) {
	for at, l := range x.posted {
		for _, p := range l {
			if p.op.done() {
				t.Fatalf("rank %d: a receive of (%d, %d) that nothing fits has got source %d, tag %d", at, p.source, p.tag, p.op.st.Source, p.op.st.Tag)
			}
		}
	}
}

// first is the message of a sender that a receive would get first, -1 when there is none.
func (x *model) first(at, from, source, tag int) int {
	return slices.IndexFunc(x.unexpected[at], func(m *modelMsg) bool {
		return (from == mtl.AnySource || m.from == from) && modelFits(source, tag, m)
	})
}

// taken finds the message that a receive or matched probe got: of several senders any may come first.
func (x *model) taken(t *testing.T, at, source, tag int, st core.Status) *modelMsg {
	i := x.first(at, st.Source, source, tag)
	if i < 0 {
		t.Fatalf("rank %d: (%d, %d) got a message of rank %d, which has sent none that fits", at, source, tag, st.Source)
	}
	m := x.unexpected[at][i]
	x.unexpected[at] = slices.Delete(x.unexpected[at], i, i+1)
	return m
}

func (x *model) recv(t *testing.T, at, source, tag int) {
	r := x.w.Ranks[at]
	p := &modelRecv{in: newMemory(t, x.w.Long/8, -1, false), source: source, tag: tag}
	p.op = r.recv(&r.World.P2P, p.in, source, tag)
	if x.first(at, mtl.AnySource, source, tag) < 0 {
		x.posted[at] = append(x.posted[at], p)
		x.idle(t)
		return
	}
	x.w.wait(t, fmt.Sprintf("a receive of (%d, %d) for which a message waits", source, tag), p.op)
	m := x.taken(t, at, source, tag, p.op.st)
	p.op.got(t, p.in, m.from, m.tag, m.n, m.id)
}

func (x *model) cancel(t *testing.T, at, i int) {
	r, p := x.w.Ranks[at], x.posted[at][i]
	ok := false
	r.Do(func() { ok = r.Module.Cancel(&p.op.Request) })
	if !ok || p.op.over != 0 {
		t.Fatalf("rank %d: a receive that nothing fits could not be cancelled (%v), or is over (%d)", at, ok, p.op.over)
	}
	x.posted[at] = slices.Delete(x.posted[at], i, i+1)
}

func (x *model) probe(t *testing.T, at, source, tag int) {
	r := x.w.Ranks[at]
	var st core.Status
	ok := false
	r.Do(func() { st, ok = r.Module.Iprobe(&r.World.P2P, source, tag) })
	if want := x.first(at, mtl.AnySource, source, tag) >= 0; ok != want {
		t.Fatalf("rank %d: a probe of (%d, %d) says %v, want %v", at, source, tag, ok, want)
	}
	if !ok {
		return
	}
	i := x.first(at, st.Source, source, tag)
	if i < 0 {
		t.Fatalf("rank %d: a probe found a message of rank %d, which has sent none that fits", at, st.Source)
	}
	if m := x.unexpected[at][i]; st.Tag != m.tag || st.Bytes() != int64(m.n) {
		t.Fatalf("rank %d: a probe says tag %d, %d bytes; want %d, %d", at, st.Tag, st.Bytes(), m.tag, m.n)
	}
}

func (x *model) mprobe(t *testing.T, at, source, tag int) {
	r := x.w.Ranks[at]
	in := newMemory(t, x.w.Long/8, -1, false)
	o := &Op{rank: r, Request: mtl.Request{Ch: &r.World.P2P, Buf: in.buf}}
	o.Owner = o
	var st core.Status
	ok := false
	r.Do(func() {
		var m mtl.Message
		if m, st, ok = r.Module.Improbe(&r.World.P2P, source, tag); ok {
			o.Peer, o.Tag = st.Source, st.Tag
			r.Module.RecvMessage(m, &o.Request)
		}
	})
	if want := x.first(at, mtl.AnySource, source, tag) >= 0; ok != want {
		t.Fatalf("rank %d: a matched probe of (%d, %d) says %v, want %v", at, source, tag, ok, want)
	}
	if ok {
		x.w.wait(t, "a message that was taken", o)
		m := x.taken(t, at, source, tag, st)
		o.got(t, in, m.from, m.tag, m.n, m.id)
	}
}

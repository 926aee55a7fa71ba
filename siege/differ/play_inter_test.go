package differ

import (
	"slices"
	"strings"

	"github.com/ompi-go/ompi-go/ompi"
)

// between makes a communicator between the ranks of color 0 and those of color 1.
func (x *player) between(c *ompi.Comm, to int) (*ompi.Comm, error) {
	colors, tag := x.numbers(x.number()), x.number()
	mine := colors[c.Rank()]
	local, err := c.Split(mine, 0)
	if err != nil {
		return nil, err
	}
	x.sides[to] = mine
	d, err := local.CreateIntercomm(0, c, slices.Index(colors, 1-mine), tag)
	if err != nil {
		return nil, err
	}
	return d, local.Free()
}

func (x *player) inter(c *ompi.Comm, slot int, name string) error {
	if name == "trade" {
		return x.trade(c, x.sides[slot])
	}
	to := x.number()
	var d *ompi.Comm
	var err error
	switch name {
	case "inter":
		d, err = x.between(c, to)
	case "merge":
		d, err = c.Merge(x.number() == x.sides[slot])
	default:
		d, err = c.Dup()
		x.sides[to] = x.sides[slot]
	}
	if err != nil {
		return err
	}
	x.comms[to] = d
	if err := x.sayGroup(d.Group()); err != nil || name == "merge" {
		return err
	}
	return x.sayGroup(d.RemoteGroup())
}

// trade sends messages between the groups.
func (x *player) trade(c *ompi.Comm, side int) error {
	ms := make([]*message, x.number())
	for i := range ms {
		sizes := [2]int{c.RemoteSize(), c.Size()}
		of := x.number()
		if of == side {
			sizes[0], sizes[1] = sizes[1], sizes[0]
		}
		m := &message{from: x.number() % sizes[0], to: x.number() % sizes[1], mode: x.number(), tag: x.number()}
		m.a, m.sent = x.typ(), x.number()
		m.b, m.room = x.typ(), x.number()
		m.out, m.in = x.area(m.a, m.sent, i*2), x.area(m.b, m.room, i*2+1)
		if of != side && m.to == c.Rank() {
			from := m.from
			if i%2 == 0 {
				from = ompi.AnySource
			}
			m.receive = c.Irecv(m.receiving(), from, m.tag)
		}
		if of == side && m.from == c.Rank() {
			m.isend(c)
		}
		ms[i] = m
	}
	for i, m := range ms {
		if m.receive != (ompi.Request{}) {
			st, err := m.receive.WaitContext(x.ctx)
			if err != nil {
				return err
			}
			x.say(" %d:", i)
			x.sayStatus(st, m.b)
		}
		if _, err := m.send.WaitContext(x.ctx); err != nil {
			return err
		}
		x.sayArea(m.out)
		x.sayArea(m.in)
	}
	return nil
}

// acrosses are collectives between two groups.
var acrosses = strings.Fields("xbarrier xbcast xgather xscatter xallgather xalltoall xreduce xallreduce")

// across does a collective between two groups; the root is in group side.
func (x *player) across(c *ompi.Comm, j *job, slot, mode int, name string) error {
	roots, root := x.number() == x.sides[slot], x.number()
	first := false
	switch {
	case !roots:
		root %= c.RemoteSize()
	case root%c.Size() == c.Rank():
		root, first = ompi.Root, true
	default:
		root = ompi.ProcNull
	}
	if name == "xbarrier" {
		return j.call(mode, c.Barrier, c.Ibarrier, c.BarrierInit)
	}
	if name == "xreduce" || name == "xallreduce" {
		kind := x.word()[0]
		op, n := x.op(x.word()), x.number()
		t, err := numberType(kind)
		if err != nil {
			return err
		}
		r := j.own(x.numbersArea(t, kind, n, 2), kind).of(t, n)
		s := j.own(x.numbersArea(t, kind, n, 1), kind).of(t, n)
		if name == "xreduce" {
			return j.call(mode, func() error { return c.Reduce(s, r, op, root) },
				func() ompi.Request { return c.Ireduce(s, r, op, root) }, func() ompi.Request { return c.ReduceInit(s, r, op, root) })
		}
		return j.call(mode, func() error { return c.Allreduce(s, r, op) },
			func() ompi.Request { return c.Iallreduce(s, r, op) }, func() ompi.Request { return c.AllreduceInit(s, r, op) })
	}
	a, fa := x.typ(), x.number()
	b, fb := x.typ(), x.number()
	n, theirs := x.number(), c.RemoteSize()
	in := j.own(x.area(b, n*fb*theirs, 2), 0)
	out := j.own(x.area(a, n*fa*theirs, 1), 0)
	whole, all := out.of(a, n*fa*theirs), in.of(b, n*fb*theirs)
	one, got := out.of(a, n*fa), in.of(b, n*fb)
	switch name {
	case "xbcast":
		buf := got
		if first {
			buf = one
		}
		return j.call(mode, func() error { return c.Bcast(buf, root) },
			func() ompi.Request { return c.Ibcast(buf, root) }, func() ompi.Request { return c.BcastInit(buf, root) })
	case "xgather":
		return j.call(mode, func() error { return c.Gather(one, all, root) },
			func() ompi.Request { return c.Igather(one, all, root) }, func() ompi.Request { return c.GatherInit(one, all, root) })
	case "xscatter":
		return j.call(mode, func() error { return c.Scatter(whole, got, root) },
			func() ompi.Request { return c.Iscatter(whole, got, root) }, func() ompi.Request { return c.ScatterInit(whole, got, root) })
	case "xallgather":
		return j.call(mode, func() error { return c.Allgather(one, all) },
			func() ompi.Request { return c.Iallgather(one, all) }, func() ompi.Request { return c.AllgatherInit(one, all) })
	}
	return j.call(mode, func() error { return c.Alltoall(whole, all) },
		func() ompi.Request { return c.Ialltoall(whole, all) }, func() ompi.Request { return c.AlltoallInit(whole, all) })
}

// ---- the author's part ----

// newInter draws a communicator between two parts of p.
func (g *author) newInter(p party) {
	n := len(p.parts[0])
	colors := g.list(n, func() int { return g.IntN(2) })
	first := g.IntN(n)
	colors[first], colors[(first+1)%n] = 0, 1
	q := party{inter: true, parts: make([][]int, 2)}
	for r, member := range p.parts[0] {
		q.parts[colors[r]] = append(q.parts[colors[r]], member)
	}
	g.made(p, q, "inter", g.next, n, colors, g.id%100)
}

// onInter draws a step between two groups.
func (g *author) onInter(p party) {
	n := p.most()
	switch k := g.IntN(20); {
	case k == 0 && g.next < slots:
		high := g.IntN(2)
		g.made(p, party{parts: [][]int{slices.Concat(p.parts[1-high], p.parts[high])}}, "merge", g.next, high)
	case k == 1 && g.next < slots:
		g.made(p, party{inter: true, parts: p.parts}, "redup", g.next)
	case k < 9:
		var list []any
		messages := g.between(1, 5)
		for i := range messages {
			pr := g.pair(false)
			c := g.count(pr.unit())
			list = append(list, g.IntN(2), g.IntN(n), g.IntN(n), g.IntN(2), (g.id*32+i)%32_000, pr.a.text, c*pr.fa, pr.b.text, c*pr.fb)
		}
		g.emit(p.slot, 0, nil, append([]any{"trade", messages}, list...)...)
	default:
		name := acrosses[g.IntN(len(acrosses))]
		head := []any{name, g.mode(), g.IntN(2), g.IntN(n)}
		switch name {
		case "xbarrier":
		case "xreduce", "xallreduce":
			kind, op := g.operation()
			head = append(head, kind, op, g.count(8))
		default:
			pr := g.pair(name == "xbcast")
			head = append(head, pr, g.count(pr.unit()*int64(n)))
		}
		g.emit(p.slot, 0, nil, head...)
	}
}

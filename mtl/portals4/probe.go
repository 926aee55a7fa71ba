package portals4

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mtl"
	ptl "github.com/ompi-go/ompi-go/portals4"
)

// searching is the search under way. Its event is in the queue when PtlMESearch returns, unless what it finds is a message whose data is on the
// way: then it comes when that is here. Until then nothing is looked for: a message is not here before its data is.
type searching struct {
	open bool // its event has not come
	now  bool // the call that began it is waiting for it
	hit  bool
	st   core.Status
}

// look looks for a message that is here, and takes nothing.
func (m *module) look(d *ptl.ME) bool {
	if m.search.open {
		return false
	}
	m.search = searching{open: true, now: true}
	if err := m.recvPT.MESearch(d, ptl.SearchOnly, &m.search); err != nil {
		m.breakDown(interfaceError("PtlMESearch", err))
		return false
	}
	m.settle()
	m.search.now = false
	return m.search.hit
}

// probing fills in what a probe compares.
func (m *module) probing(ch *core.Channel, source, tag int, d *ptl.ME) (*channel, *peer, bool) {
	x := m.chans[ch.ID]
	bits, ignore, ok := m.split.pattern(ch.ID, source, tag)
	if !ok || x == nil || m.broken != nil {
		return nil, nil, false
	}
	var p *peer
	*d = ptl.ME{MatchID: ptl.AnyProcess, UID: ptl.AnyUID, MatchBits: bits, IgnoreBits: ignore, Options: ptl.OpPut | ptl.UseOnce}
	if source != core.AnySource {
		p = m.peerOf(ch, source)
		d.MatchID = p.id
	}
	m.drain()
	return x, p, true
}

// Iprobe implements mtl.Module.
func (m *module) Iprobe(ch *core.Channel, source, tag int) (core.Status, bool) {
	var d ptl.ME
	_, p, ok := m.probing(ch, source, tag, &d)
	if !ok {
		return core.EmptyStatus(), false
	}
	if !m.look(&d) {
		m.credit.missed(m, p)
		return core.EmptyStatus(), false
	}
	st := m.search.st
	if tag != core.AnyTag {
		st.Tag = tag
	}
	return st, true
}

// found is the end of a search that takes nothing, or of one that finds nothing.
func (m *module) found(ev *ptl.Event) {
	switch u := ev.UserPtr.(type) {
	case *searching:
		u.open = false
		if u.now && ev.NIFail == ptl.OK {
			u.hit = true
			u.st = core.MakeStatus(m.split.sourceOf(ev.MatchBits), m.split.tagOf(ev.MatchBits), int64(lengthOf(ev.HdrData)))
		}
	case *purge:
		u.over = true
	}
}

// message is one that Improbe has taken: what has come of it is kept, the rest is got when it is received.
type message struct {
	x    *channel
	a    arrival
	ev   ptl.Event
	buf  *buffer
	got  int
	have bool
	next *message
}

// Status implements mtl.Message.
func (g *message) Status() core.Status { return core.MakeStatus(g.a.source, g.a.tag, int64(g.a.total)) }

// Improbe implements mtl.Module.
func (m *module) Improbe(ch *core.Channel, source, tag int) (mtl.Message, core.Status, bool) {
	var d ptl.ME
	x, p, ok := m.probing(ch, source, tag, &d)
	if !ok {
		return nil, core.EmptyStatus(), false
	}
	if !m.look(&d) { // what it finds is what is taken
		m.credit.missed(m, p)
		return nil, core.EmptyStatus(), false
	}
	g := m.free.msgs
	if g == nil {
		g = new(message)
	} else {
		m.free.msgs = g.next
	}
	*g = message{x: x}
	if err := m.recvPT.MESearch(&d, ptl.SearchDelete, g); err != nil {
		m.breakDown(interfaceError("PtlMESearch", err))
		return nil, core.EmptyStatus(), false
	}
	m.settle()
	if !g.have {
		g.next, m.free.msgs = m.free.msgs, g
		return nil, core.EmptyStatus(), false
	}
	if tag != core.AnyTag {
		g.a.tag = tag
	}
	return g, g.Status(), true
}

// taken: a message was taken out of the overflow list. Its block may be linked anew next, so it is copied.
func (m *module) taken(g *message, ev *ptl.Event) {
	var a arrival
	if !m.arrived(g.x, ev, &a) || ev.NIFail != ptl.OK {
		return
	}
	g.a, g.ev, g.have = a, *ev, true
	m.stats.received(a.proto, true)
	m.stats.wasted += ev.RLength - ev.MLength
	if n := int(ev.MLength); n > 0 {
		g.buf = m.pools.get(n)
		g.got = copy(g.buf.mem, ev.Start)
	}
	g.ev.Start, g.ev.UserPtr = nil, nil
	if m.trig && a.proto == protoRndv {
		m.claim(g.x, a.p, ev.MatchBits)
	}
	if a.proto == protoShort && ev.HdrData&hdrSync != 0 {
		m.tell(a.p, ev.HdrData)
	}
}

// RecvMessage implements mtl.Module.
func (m *module) RecvMessage(msg mtl.Message, r *mtl.Request) {
	g := msg.(*message)
	q := m.newRecv(r, g.x)
	q.p, q.source, q.tag, q.total = g.a.p, g.a.source, g.a.tag, g.a.total
	if g.got > 0 {
		q.got = copy(q.mem, g.buf.mem[:g.got])
	}
	m.pools.put(g.buf)
	ev := g.ev
	g.x, g.buf, g.ev = nil, nil, ptl.Event{}
	g.next, m.free.msgs = m.free.msgs, g
	if q.err = m.refusal(r.Ch, q.x, nil); q.err != nil {
		m.endRecv(q)
		return
	}
	if protoOf(ev.MatchBits) == protoShort {
		m.endRecv(q)
		return
	}
	if q.p.proc.Failed() != nil {
		q.err = r.Ch.Comm.DeathOf(q.p.proc)
		m.endRecv(q)
		return
	}
	m.fetchRest(q, &ev)
}

package pt2pt

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/am"
)

// long is a message between the memories of two programs, at either end.
type long struct {
	m    *module
	p    *peer
	h    core.Handle
	kind longKind
	n    int64
	req  *core.Request // of a request-based operation
	next *long
}

type longKind uint8

const (
	putOut longKind = iota // the origin's end of a put
	putIn                  // the target's
	getIn                  // the origin's end of a get
	getOut                 // the target's
)

// isLong reports whether an operation's data is to be a message of its own.
func (m *module) isLong(op *osc.Op, total int64) bool {
	return op.Kind <= osc.Get && total >= m.f.opts.LongLimit && m.archs == nil && op.Type.Contiguous()
}

// issueLong announces a long put or get, and begins its message.
func (m *module) issueLong(op *osc.Op, p *peer, total int64) error {
	for len(p.packet().room()) < am.HeaderSize {
		if err := p.makeRoom(); err != nil {
			return err
		}
	}
	c := am.Command{Kind: am.Long, N: total, Off: op.Off + op.Low}
	kind := putOut
	if op.Kind == osc.Get {
		c.Kind, kind = am.Fetched, getIn
	} else {
		p.dirty = true
	}
	k := p.packet()
	k.control(&c)
	p.pending++
	var r *core.Request
	if kind == getIn { // before the target can send
		k.answers = true
		p.fetched = true
		r = m.f.pml.BeginRecv(&m.comm.P2P, op.Origin, op.Rank, tagGet)
		p.flush()
	} else {
		p.flush()
		r = m.f.pml.BeginSend(&m.comm.P2P, op.Origin, op.Rank, tagPut)
	}
	m.f.stats.longs++
	m.follow(r, p, kind, total, op.Request)
	return nil
}

// follow waits for the end of a long message.
func (m *module) follow(r *core.Request, p *peer, kind longKind, n int64, req *core.Request) {
	l := m.longs
	if l == nil {
		l = &long{m: m}
	} else {
		m.longs = l.next
	}
	l.p, l.kind, l.n, l.req, l.next = p, kind, n, req, nil
	l.h = r.Handle()
	m.sending++
	if r.Done() {
		l.RequestDone(nil)
		return
	}
	r.Hook = l
}

// RequestDone implements core.Hook.
func (l *long) RequestDone(*core.Request) {
	l.next = l.m.endedL
	l.m.endedL = l
	l.m.f.wake(l.m)
}

// over ends a long message.
func (l *long) over() {
	m, p := l.m, l.p
	st, _ := l.h.Take()
	m.sending--
	status := am.OK
	switch {
	case st.Err != nil && core.ClassOf(st.Err) != core.ErrTruncate:
		m.note(st.Err)
		if (l.kind == putOut || l.kind == getIn) && l.req == nil {
			p.fail(st.Err)
		}
	case (l.kind == getIn || l.kind == putIn) && st.Bytes() != l.n, st.Err != nil:
		status = am.BadRange // the other end had no such memory, or has been told that there is none
	}
	switch l.kind {
	case putOut, getIn:
		p.pending--
		if l.kind == getIn {
			p.heard()
		}
		if r := l.req; r != nil {
			r.Status = core.EmptyStatus()
			switch {
			case status != am.OK:
				r.FinishErr(errorOf(status))
			case st.Err != nil:
				r.FinishErr(st.Err)
			default:
				r.Finish()
			}
		} else {
			p.failed(status)
		}
	case putIn, getOut:
		m.moving--
		p.moving--
		if p.status == am.OK {
			p.status = status
		}
		if p.moving == 0 {
			p.catchUp()
		}
	}
	l.h, l.p, l.req = core.Handle{}, nil, nil
	l.next = m.longs
	m.longs = l
}

// longPut receives the data of a long put that p has announced.
func (m *module) longPut(p *peer, c *am.Command) {
	mem, ok := m.target.Find(c.Off, c.N)
	n := c.N
	if !ok { // it comes all the same, and is thrown away
		mem, n = unsafe.Pointer(&m.scratch[0]), 0
	}
	m.moving++
	p.moving++
	m.follow(m.f.pml.BeginRecv(&m.comm.P2P, bytesOf(mem, n), p.rank, tagPut), p, putIn, c.N, nil)
}

// longGet sends what p asks for, or nothing where there is no such memory.
func (m *module) longGet(p *peer, c *am.Command) {
	mem, ok := m.target.Find(c.Off, c.N)
	n := c.N
	if !ok {
		mem, n = unsafe.Pointer(&m.scratch[0]), 0
	}
	m.f.stats.longs++
	m.moving++
	p.moving++
	m.follow(m.f.pml.BeginSend(&m.comm.P2P, bytesOf(mem, n), p.rank, tagGet), p, getOut, n, nil)
}

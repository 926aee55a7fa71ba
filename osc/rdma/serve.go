package rdma

import (
	"fmt"
	"sync/atomic"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/osc/am"
)

// origin is a member that has sent requests to this one. BTLs keep no order, and a path that breaks may bring one twice: requests are carried out by their numbers.
type origin struct {
	expected uint32
	early    []early // seldom any
}

// early is a request that has overtaken another.
type early struct {
	h       frame
	payload []byte
}

// mostEarly bounds how many are kept; who sends more is not one of us.
const mostEarly = 1 << 16

// mostReply bounds what a request may ask for, in bytes.
const mostReply = 1<<20 + am.HeaderSize

type requestHandler factory

// Receive implements btl.Handler.
func (r *requestHandler) Receive(peer int, hdr, payload []byte) {
	f := (*factory)(r)
	var h frame
	if err := h.parse(hdr); err != nil || h.kind == answer {
		f.refuse(peer, "a request", errFrame)
		return
	}
	m := f.find(h.index, h.age)
	if m == nil && f.bereft[peer] != nil {
		f.decline(f.bereft[peer], &h)
		return
	}
	if m == nil || int64(h.rank) >= int64(m.w.Comm.Size()) || m.w.Comm.Procs[h.rank].Rank != peer {
		f.refuse(peer, "a request", fmt.Errorf("%w: there is no window %d.%d with rank %d", errFrame, h.index, h.age, h.rank))
		return
	}
	if m.origins == nil {
		m.origins = make([]origin, m.w.Comm.Size())
	}
	o := &m.origins[h.rank]
	switch ahead := int32(h.seq - o.expected); {
	case ahead < 0: // again
		return
	case ahead > 0:
		if len(o.early) < mostEarly {
			o.early = append(o.early, early{h, append([]byte(nil), payload...)})
		}
		return
	}
	m.serve(&h, payload)
	o.expected++
	for o.next(m) {
	}
}

// next carries out the request that is due, if it is here already.
func (o *origin) next(m *module) bool {
	for i := range o.early {
		e := &o.early[i]
		if int32(e.h.seq-o.expected) > 0 {
			continue
		}
		h, payload := e.h, e.payload
		last := len(o.early) - 1
		o.early[i] = o.early[last]
		o.early[last] = early{}
		o.early = o.early[:last]
		if h.seq == o.expected {
			m.serve(&h, payload)
			o.expected++
		}
		return true
	}
	return false
}

// windowFreed answers a request for a window that its target has freed, which it may while others use it once a member has died.
const windowFreed am.Status = 0xff

// mourn remembers the members of a window that is freed after a death: who has not heard of it may still ask, and must not wait for ever.
func (f *factory) mourn(m *module) {
	if m.w.Comm.Fault() == nil {
		return
	}
	if f.bereft == nil {
		f.bereft = make(map[int]*core.Proc)
	}
	for _, p := range m.w.Comm.Procs {
		f.bereft[p.Rank] = p
	}
}

func (f *factory) decline(p *core.Proc, h *frame) {
	ep, err := f.env.BML.Endpoint(p)
	if err != nil {
		return // it has died
	}
	a := frame{kind: answer, index: h.back, age: h.backAge, slot: h.slot, turn: h.turn, what: uint16(windowFreed)}
	f.newAnswer(0).send(ep, tagAnswer, &a, 0)
}

func (f *factory) refuse(peer int, what string, err error) {
	f.strange++
	f.env.Say("osc-rdma-strange", fmt.Sprintf("osc rdma: %s of rank %d was thrown away: %v", what, peer, err))
}

// serve carries out a request, and answers it.
func (m *module) serve(h *frame, payload []byte) {
	f := m.f
	ep, err := f.env.BML.Endpoint(m.w.Comm.Procs[h.rank])
	if err != nil {
		return // it has died
	}
	a := frame{kind: answer, index: h.back, age: h.backAge, rank: uint32(m.w.Comm.MyRank), slot: h.slot, turn: h.turn}
	if h.kind == command {
		m.execute(ep, &a, payload)
		return
	}
	if int(h.what) >= len(m.words) {
		a.what = uint16(am.BadForm)
	} else {
		word := &m.words[h.what]
		switch h.kind {
		case wordAdd:
			a.a = atomic.AddUint64(word, h.a) - h.a
		case wordSwap:
			a.a = atomic.SwapUint64(word, h.a)
		case wordCompare:
			for a.a = atomic.LoadUint64(word); a.a == h.a && !atomic.CompareAndSwapUint64(word, h.a, h.b); a.a = atomic.LoadUint64(word) {
			}
		}
		f.engine.Kick()
	}
	f.newAnswer(0).send(ep, tagAnswer, &a, 0)
}

// newAnswer gives a parcel with room for size bytes.
func (f *factory) newAnswer(size int) *parcel {
	p := f.answers
	if p == nil {
		p = &parcel{f: f}
		p.Owner = p
	} else {
		f.answers, p.next = p.next, nil
	}
	if len(p.buf) < size {
		p.buf = make([]byte, max(size, smallCall))
	}
	return p
}

type answerHandler factory

// Receive implements btl.Handler.
func (r *answerHandler) Receive(peer int, hdr, payload []byte) {
	f := (*factory)(r)
	var h frame
	if err := h.parse(hdr); err != nil || h.kind != answer || int64(h.slot) >= int64(len(f.calls.all)) {
		f.refuse(peer, "an answer", errFrame)
		return
	}
	c := f.calls.all[h.slot]
	if c.m == nil || c.over || c.turn != h.turn || c.t.proc.Rank != peer {
		return // of a call that was given up, or again
	}
	m := c.m
	if h.index != m.index || h.age != m.age {
		f.refuse(peer, "an answer", errFrame)
		return
	}
	c.old = h.a
	err := m.status(am.Status(h.what), c.t)
	if c.w != nil && err == nil && len(payload) > 0 {
		var reply am.Command
		if _, e := reply.Parse(payload); e != nil || reply.Kind != am.Reply || !c.w.landing.Put(&reply) {
			err = core.NewError(core.ErrIntern, "osc rdma: rank %d answers with something that is no reply: %v", c.t.rank, e)
		}
	}
	c.end(err)
}

// status is the error that an answer tells.
func (m *module) status(s am.Status, t *target) error {
	switch s {
	case am.OK:
		return nil
	case am.BadRange:
		return &core.Error{Class: core.ErrRMARange, Peer: t.rank, Index: -1, Err: errNotThere}
	case windowFreed:
		return &core.Error{Class: core.ErrProcFailed, Peer: t.rank, Index: -1, Err: errFreed}
	}
	return core.NewError(core.ErrIntern, "osc rdma: rank %d could make nothing of an operation", t.rank)
}

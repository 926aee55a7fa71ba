package rdma

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/osc/am"
)

// call is a request of this rank and the wait for its answer. It is free when no BTL has the request and the answer has come, or never will.
type call struct {
	parcel
	m    *module
	t    *target
	w    *work // which it is a part of; nil: somebody waits for old
	slot uint32
	turn uint32 // of the slot; counts its calls
	over bool   // answered, or given up
	left bool   // nobody waits
	old  uint64
	err  error
	next *call
}

// callPool are an instance's calls: a table, so that answers name them by number, and those that are free, by the size of their buffers.
type callPool struct {
	all   []*call
	small *call
	large *call
}

// smallCall is the buffer of most calls in bytes: an element, and a layout of some runs.
const smallCall = 512

func (f *factory) newCall(m *module, t *target, size int) *call {
	q := &f.calls
	list := &q.small
	if size > smallCall {
		list = &q.large
	} else {
		size = smallCall
	}
	c := *list
	if c == nil {
		c = &call{slot: uint32(len(q.all))}
		c.f, c.call, c.Owner = f, c, &c.parcel
		q.all = append(q.all, c)
	} else {
		*list, c.next = c.next, nil
	}
	if len(c.buf) < size {
		c.buf = make([]byte, size)
	}
	c.m, c.t, c.w, c.over, c.left, c.err, c.old = m, t, nil, false, false, nil, 0
	c.turn++
	t.calls++
	return c
}

// post sends the request with n bytes of the buffer.
func (c *call) post(h *frame, n int) {
	t, m := c.t, c.m
	h.index, h.age, h.rank = t.index, t.age, uint32(m.w.Comm.MyRank)
	h.slot, h.turn, h.back, h.backAge = c.slot, c.turn, m.index, m.age
	h.seq = t.seq
	t.seq++
	c.send(t.ep, tagRequest, h, n)
}

// end is the answer, or what stands for it.
func (c *call) end(err error) {
	if c.over {
		return
	}
	c.over, c.err = true, err
	c.t.calls--
	m := c.m
	if w := c.w; w != nil {
		c.w = nil
		c.free()
		w.part(err)
	} else if c.left {
		c.free()
	}
	m.changed()
}

// free gives the call back, once nobody needs it.
func (c *call) free() {
	if !c.over || c.away || c.queued || c.m == nil || c.w != nil {
		return
	}
	if !c.left {
		return // who waits has to see it
	}
	c.m, c.t, c.ep, c.err = nil, nil, nil, nil
	list := &c.f.calls.small
	if len(c.buf) > smallCall {
		list = &c.f.calls.large
	}
	c.next, *list = *list, c
}

// ask sends a request for a word, and returns what was there.
func (m *module) ask(t *target, k kind, word int, a, b uint64) (uint64, error) {
	if err := m.room(t); err != nil {
		return 0, err
	}
	c := m.f.newCall(m, t, 0)
	c.post(&frame{kind: k, what: uint16(word), a: a, b: b}, 0)
	for !c.over {
		m.wait(t, awaitOver, &c.over)
		if err := t.gone(m); err != nil && !c.over {
			c.end(err)
		}
	}
	old, err := c.old, c.err
	c.left = true
	c.free()
	return old, err
}

// room waits for room for a request.
func (m *module) room(t *target) error {
	for t.calls >= m.f.opts.Depth {
		if err := t.gone(m); err != nil {
			return err
		}
		m.wait(t, awaitRoom, nil)
	}
	if t.ep == nil {
		return core.NewError(core.ErrIntern, "osc rdma: no BTL sends messages to rank %d", t.rank)
	}
	return t.gone(m)
}

// cut sends an operation as commands, and ends w's issue. Nobody waits for room unless patient.
func (m *module) cut(w *work, s *am.Spec, patient bool) {
	t := w.t
	limit, err := m.limit(t)
	var cutter am.Cutter
	if err == nil && !cutter.Init(s) {
		err = core.NewError(core.ErrType, "osc rdma: the layout of %s cannot be sent as a command", s.Type.Name())
	}
	for err == nil && cutter.Left() > 0 {
		if patient {
			if err = m.room(t); err != nil {
				break
			}
		}
		size := smallCall
		if s.Origin.Type() != nil && s.Kind != am.Get && cutter.Left() > smallCall-am.Least {
			size = limit
		}
		c := m.f.newCall(m, t, size)
		n := cutter.Next(c.buf[:min(limit, len(c.buf))], limit)
		if n == 0 {
			err = core.NewError(core.ErrIntern, "osc rdma: %d bytes are no room for a command", limit)
			c.left = true
			c.end(err)
			break
		}
		c.w, c.left = w, true
		w.left++
		c.post(&frame{kind: command}, n)
	}
	if s.Kind == am.Put || s.Kind == am.Accumulate {
		w.unbuffered()
	}
	w.part(err)
}

// limit is the largest payload of a message to a target, in bytes.
func (m *module) limit(t *target) (int, error) {
	if t.ep == nil || len(t.ep.Eager) == 0 {
		return 0, core.NewError(core.ErrIntern, "osc rdma: no BTL sends messages to rank %d", t.rank)
	}
	return int(min(m.f.opts.Message, t.ep.First().Limits.MaxSend-frameSize)) &^ 7, nil
}

// failed ends the calls to members that have died.
func (m *module) failed() {
	for _, c := range m.f.calls.all {
		if c.m != m || c.over {
			continue
		}
		if err := c.t.gone(m); err != nil {
			c.end(err)
		}
	}
	m.changed()
}

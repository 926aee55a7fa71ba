package portals4

import (
	"github.com/ompi-go/ompi-go/core"
	ptl "github.com/ompi-go/ompi-go/portals4"
)

// Events implements ptl.EQListener: who drives the engine has put events into a queue.
func (m *module) Events(q *ptl.EQ) {
	switch q {
	case m.recvEQ:
		m.settle()
	case m.sendEQ:
		for ev := m.take(q); ev != nil; ev = m.take(q) {
			m.sendEvent(ev)
		}
	default:
		m.drain()
	}
}

// Poll implements progress.Poller: what waited for events begins.
func (m *module) Poll() int {
	n := 0
	if m.waiting.head != nil || m.gets.head != nil || m.notes.head != nil {
		n += m.pump()
	}
	if m.rec.state != recIdle {
		n += m.recover()
	}
	return n
}

// settle looks at the events that a call has made on the portal table entry recv, so that queues hold no more than what comes in one pass; those of messages
// to oneself are bounded by slots.
func (m *module) settle() {
	for ev := m.take(m.recvEQ); ev != nil; ev = m.take(m.recvEQ) {
		m.recvEvent(ev)
	}
}

// drain looks at all events. What handles one may call this again: it calls its user last.
func (m *module) drain() int {
	n := 0
	for {
		k := n
		for ev := m.take(m.recvEQ); ev != nil; ev = m.take(m.recvEQ) {
			m.recvEvent(ev)
			n++
		}
		for ev := m.take(m.sendEQ); ev != nil; ev = m.take(m.sendEQ) {
			m.sendEvent(ev)
			n++
		}
		for ev := m.take(m.readEQ); ev != nil; ev = m.take(m.readEQ) {
			m.readEvent(ev)
			n++
		}
		for ev := m.take(m.flowEQ); ev != nil; ev = m.take(m.flowEQ) {
			m.flowEvent(ev)
			n++
		}
		if m.reopen {
			m.reopen = false
			if err := m.readPT.Enable(); err != nil {
				m.breakDown(interfaceError("PtlPTEnable", err))
			}
		}
		if n == k {
			return n
		}
	}
}

// take takes the next event of a queue; nil: there is none. It lies in the queue: who handles it calls its user last.
func (m *module) take(q *ptl.EQ) *ptl.Event {
	ev, lost := q.Next()
	if m.broken != nil {
		return nil
	}
	if lost { // the sizes of queues are such that this cannot be, whatever peers do that are like us
		m.breakDown(core.NewError(core.ErrIntern, "mtl portals4: an event queue overflowed: what was under way is not known any more"))
	}
	return ev
}

// recvEvent is an event of the portal table entry recv.
func (m *module) recvEvent(ev *ptl.Event) {
	switch ev.Type {
	case ptl.EventPTDisabled:
		m.rec.disabled = true
		m.overflow()
		return
	case ptl.EventPut, ptl.EventPutOverflow:
		switch u := ev.UserPtr.(type) {
		case *recvReq:
			m.matched(u, ev)
		case *message:
			m.taken(u, ev)
		case *purge:
			m.dropped(u, ev)
		}
	case ptl.EventSearch:
		m.found(ev)
	case ptl.EventAutoUnlink:
		if b, ok := ev.UserPtr.(*shortBlock); ok {
			b.linked = false
		}
	case ptl.EventAutoFree:
		if b, ok := ev.UserPtr.(*shortBlock); ok {
			m.freed(b)
		}
	}
}

// sendEvent is an event of an operation of ours.
func (m *module) sendEvent(ev *ptl.Event) {
	switch u := ev.UserPtr.(type) {
	case *sendReq:
		m.acked(u, ev)
	case *recvReq:
		m.replied(u, ev)
	case *note:
		m.noted(u, ev)
	case *marker:
		m.markDone(u)
	}
}

package portals4

import (
	"github.com/ompi-go/ompi-go/core"
	p4 "github.com/ompi-go/ompi-go/portals4"
	"github.com/ompi-go/ompi-go/progress"
)

// call is an operation whose end somebody waits for: that of a request, or one on words of control. Its transfers have full events, with it as their user
// pointer.
type call struct {
	progress.Completion
	m    *module
	c    *counter // where its transfers count
	proc *core.Proc
	req  *core.Request // whose end this is; nil: who waits for the Completion
	left int           // transfers that have not ended
	open bool          // others follow
	busy bool          // not in the pool
	lost bool          // nobody waits any more
	err  error
	// Memory of an operation on one word.
	word    [3]uint64 // operand, what it is compared with, what was there
	scratch []uint64  // of pairs that are combined here
	next    *call
}

func (m *module) newCall(c *counter, p *core.Proc) *call {
	k := m.idle
	if k != nil {
		m.idle = k.next
		k.next = nil
	} else {
		k = &call{m: m}
		m.calls = append(m.calls, k)
	}
	k.Reset()
	k.c, k.proc, k.req, k.left, k.open, k.busy, k.lost, k.err = c, p, nil, 0, false, true, false, nil
	return k
}

func (m *module) putCall(k *call) {
	k.busy, k.req, k.proc, k.err = false, nil, nil, nil
	k.next, m.idle = m.idle, k
}

// check ends the call when nothing of it is left.
func (k *call) check() {
	if k.left > 0 || k.open {
		return
	}
	switch {
	case k.lost:
		k.m.putCall(k)
	case k.req != nil:
		r, err := k.req, k.err
		k.m.putCall(k)
		if err != nil {
			r.FinishErr(err)
		} else {
			r.Finish()
		}
	case k.Done():
	default:
		k.m.engine.Complete(&k.Completion)
	}
}

// await waits for the end of a call that nobody else ends, and gives its error. The call is the caller's still, unless the window is lost.
func (m *module) await(k *call) error {
	m.take() // what this process did to itself
	if !k.Done() {
		m.engine.WaitLocked(&k.Completion)
	}
	return k.err
}

// Events implements portals4.EQListener.
func (m *module) Events(*p4.EQ) { m.take() }

// take looks at the events that have come: ends of calls, and failures of other operations.
func (m *module) take() {
	for {
		m.ev.UserPtr = nil
		_ = m.eq.Take(&m.ev) // empty; it loses no events, since it holds those of all that may be under way
		f, kind := m.ev.NIFail, m.ev.Type
		switch u := m.ev.UserPtr.(type) {
		case nil:
			return
		case *call:
			if f != p4.OK {
				m.uncounted(u.c, kind)
				err := m.why(u.proc, f)
				if u.err == nil {
					u.err = err
				}
				if u.req != nil {
					m.fail(u.proc, err)
				}
			}
			u.left--
			u.check()
		case *counter:
			m.uncounted(u, kind)
			m.fail(u.proc, m.why(u.proc, f))
		case *core.Proc:
			m.uncounted(&m.all, kind)
			m.fail(u, m.why(u, f))
		}
	}
}

// uncounted counts an operation that failed before it was sent: the counting event counts acknowledgements.
func (m *module) uncounted(c *counter, kind p4.Kind) {
	if kind == p4.EventSend {
		_ = c.ct.Inc(p4.CTEvent{Failure: 1})
	}
}

// commFailed is told that the window's communicator has a fault. Operations with the dead have ended by now, or will with their events; when nothing
// can end any more, who waits hears so.
func (m *module) commFailed() {
	m.active.commFailed(m)
	if err := m.hopeless(); err != nil {
		for _, k := range m.calls {
			if !k.busy || k.lost {
				continue
			}
			k.lost, k.err = true, err
			if r := k.req; r != nil {
				k.req = nil
				r.FinishErr(err)
			} else {
				m.engine.Complete(&k.Completion)
			}
		}
		for i := range m.few {
			m.few[i].ct.Interrupt()
		}
		m.all.ct.Interrupt()
	}
	m.engine.Kick()
}

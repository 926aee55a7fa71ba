package pt2pt

import (
	"github.com/ompi-go/ompi-go/progress"
)

// reason is what somebody waits for.
type reason uint8

const (
	forRoom    reason = iota // the packet k of p has been sent
	forLock                  // p's lock is held, or not wanted any more
	forResults               // p: what was issued has its results, and its memory is the program's again
	forTarget                // the same, and acknowledgements up to n have come
	forPost                  // p has posted
	forClosing               // n members have completed
	forFence                 // n packets have come in the fence epoch, and long messages are here
	forSends                 // the PML has nothing of the window's but the receives of packets
)

// waiter is a goroutine that waits. Its reason is looked at with the token held, whenever something has happened.
type waiter struct {
	progress.Completion
	kind reason
	p    *peer
	k    *packet
	n    int64
	next *waiter
}

// satisfied reports whether w need not wait.
func (m *module) satisfied(w *waiter) bool {
	switch w.kind {
	case forRoom:
		return w.p.out != w.k
	case forLock:
		return w.p.lock == lockHeld || w.p.lock == lockNone // another goroutine may have let go of it
	case forResults:
		return w.p.pending == 0 && !w.p.push
	case forTarget:
		return w.p.pending == 0 && !w.p.push && w.p.got >= uint64(w.n)
	case forPost:
		return w.p.open || w.p.posted > 0
	case forClosing:
		return int64(m.completed) >= w.n
	case forFence:
		return m.arrived >= w.n && m.moving == 0
	case forSends:
		return m.sending == 0
	}
	return true
}

// wait returns when the reason does not hold any more, or a member has died. The token is held, and may be given away meanwhile.
func (m *module) wait(what waiter) (err error) {
	if m.satisfied(&what) {
		return nil
	}
	if err := m.faultWith(what.p); err != nil {
		return err
	}
	w := m.waiters
	if w == nil {
		w = new(waiter)
	} else {
		m.waiters = w.next
	}
	w.Reset()
	w.kind, w.p, w.k, w.n, w.next = what.kind, what.p, what.k, what.n, nil
	m.waits = append(m.waits, w)
	m.engine.WaitLocked(&w.Completion)
	if !m.satisfied(w) {
		err = m.faultWith(w.p)
	}
	w.p, w.k = nil, nil
	w.next = m.waiters
	m.waiters = w
	return err
}

// review wakes those who need not wait any more.
func (m *module) review() {
	if len(m.waits) == 0 {
		return
	}
	rest := m.waits[:0]
	for _, w := range m.waits {
		if m.satisfied(w) || m.faultWith(w.p) != nil {
			m.engine.Complete(&w.Completion)
		} else {
			rest = append(rest, w)
		}
	}
	clear(m.waits[len(rest):])
	m.waits = rest
}

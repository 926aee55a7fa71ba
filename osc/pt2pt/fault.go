package pt2pt

import (
	"slices"

	"github.com/ompi-go/ompi-go/core"
)

// When a member dies the window fails: whoever waits gets the error, since a living member may have given up. With the hint of lock recovery the living go
// on among themselves in passive epochs: what the dead one held is given on, and only what is to happen at it or with all members fails.

// fault is why the window does not work any more; nil while it does.
func (m *module) fault() error {
	if f := m.comm.Fault(); f != nil {
		return f.Err
	}
	if m.broken != nil {
		return m.broken
	}
	return nil
}

// faultWith is why nothing is to be expected of p any more; nil while it is. A nil p stands for all members.
func (m *module) faultWith(p *peer) error {
	f := m.comm.Fault()
	if p != nil && p.gone && (f == nil || !f.Fatal) {
		return core.NewError(core.ErrProcFailed, "rank %d has freed the window, after a death", p.rank)
	}
	if f == nil || f.Fatal || p == nil || !m.w.Hints.Recover {
		return m.fault()
	}
	if proc := m.comm.Procs[p.rank]; proc.Failed() != nil {
		return m.comm.DeathOf(proc)
	}
	if m.broken != nil {
		return m.broken
	}
	return nil
}

// bury ends what has to do with those of whom nothing is to be expected. It may be called again and again.
func (m *module) bury() {
	for _, o := range m.ops.all {
		if !o.live {
			continue
		}
		if err := m.faultWith(o.p); err != nil {
			p, r := o.p, o.req
			p.pending--
			m.ops.remove(o)
			if r != nil {
				r.FinishErr(err)
			} else {
				p.fail(err)
			}
		}
	}
	for _, p := range m.peers {
		if p != nil && (p.gone || m.comm.Procs[p.rank].Failed() != nil) {
			m.inherit(p)
		}
	}
}

// inherit gives the lock that a dead member held, or waited for, to the next.
func (m *module) inherit(p *peer) {
	if p.waits {
		p.waits = false
		m.lock.queue = slices.DeleteFunc(m.lock.queue, func(q *peer) bool { return q == p })
	}
	if p.kept != nil {
		m.freePacket(p.kept)
		p.kept = nil
	}
	m.lock.release(p)
	p.later = p.later[:0]
	if m.w.Hints.Recover {
		m.grant()
		m.resume()
	}
}

// leave tells the living that this member frees the window, which after a death all do when they like: who waits for it would wait for ever. The token is
// held.
func (m *module) leave() {
	if m.comm.Fault() == nil {
		return
	}
	for rank, proc := range m.comm.Procs {
		if rank != m.comm.MyRank && proc.Failed() == nil {
			k := m.newPacket()
			k.flags = left
			m.send(k, rank)
		}
	}
	for n := 0; m.sending > 0 && n < leavePasses; n++ {
		m.engine.PollAll()
		m.look()
	}
}

// leavePasses is how often leave looks whether its messages are out: they are small, and whoever takes them is not waited for.
const leavePasses = 1000

package portals4

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/osc"
	p4 "github.com/ompi-go/ompi-go/portals4"
)

// counter is the operation counter and the counting event, with the two memory descriptors that count there. A window has one; for flushes of one target some more,
// each of the target that it serves until another needs it and nothing is under way.
type counter struct {
	ct     *p4.CT
	md     *p4.MDHandle // tells of failures
	full   *p4.MDHandle // tells of all ends
	issued uint64       // operations begun
	ended  uint64       // at least so many have ended
	proc   *core.Proc   // of a counter of one target: who it is
	// quiets changes when nothing is under way: all that was begun before has ended. Who begins operations leaves it time for that while somebody waits.
	quiets   uint64
	flushing int
	users    int // operations that are being begun: they may wait for room with nothing under way
	// failures are those among ended, failed as many as are known.
	failures, failed uint64
}

func (c *counter) open(m *module) error {
	ni := m.f.ni
	var err error
	if c.ct, err = ni.CTAlloc(); err != nil {
		return err
	}
	const counts = p4.MDEventSendDisable | p4.MDEventCTAck | p4.MDEventCTReply
	if c.md, err = ni.MDBind(&p4.MD{Anywhere: true, EQ: m.eq, CT: c.ct, Options: counts | p4.MDEventSuccessDisable}); err != nil {
		return err
	}
	c.full, err = ni.MDBind(&p4.MD{Anywhere: true, EQ: m.eq, CT: c.ct, Options: counts})
	return err
}

// free gives back what is not in use, and reports whether that is all.
func (c *counter) free() bool {
	for _, md := range []**p4.MDHandle{&c.md, &c.full} {
		if *md != nil && (*md).Release() != nil {
			return false
		}
		*md = nil
	}
	if c.ct != nil && c.ct.Free() != nil {
		return false
	}
	c.ct = nil
	return true
}

// look finds how many operations are under way.
func (c *counter) look() uint64 {
	v, _ := c.ct.Get() // it is not freed before the window
	c.ended, c.failures = v.Success+v.Failure, v.Failure
	if c.issued == c.ended {
		c.quiets++
	}
	return c.issued - c.ended
}

// counterOf gives the counter for an operation to p, and what its events of failures have as user pointer.
func (m *module) counterOf(p *core.Proc) (*counter, any) {
	if len(m.few) > 0 {
		c := &m.few[p.Rank%len(m.few)]
		if c.proc == p || c.users == 0 && c.look() == 0 {
			c.proc = p
			return c, c
		}
	}
	return &m.all, p
}

// quiesce waits until nothing of c is under way that was when it was called, and what has failed is known.
func (m *module) quiesce(c *counter) error {
	for quiets := c.quiets; c.look() > 0 && c.quiets == quiets; {
		if err := m.hopeless(); err != nil {
			return err
		}
		c.flushing++
		_, _ = c.ct.Wait(c.issued) // an interrupted wait looks again
		c.flushing--
	}
	if c.failures != c.failed { // counted inside a call of a NAL, perhaps: then the listener has yet to hear
		c.failed = c.failures
		m.take()
	}
	return nil
}

// room waits until c takes another operation: queues hold the events of so many, and peers should not have to keep more. Who flushes goes first.
func (m *module) room(c *counter) error {
	most := uint64(m.f.opts.MaxPending)
	for c.issued-c.ended >= most || c.flushing > 0 {
		n, until := c.look(), c.issued
		if n == 0 {
			return nil
		}
		if c.flushing == 0 {
			if n < most {
				return nil
			}
			until -= most / 2
		}
		if err := m.hopeless(); err != nil {
			return err
		}
		_, _ = c.ct.Wait(until)
	}
	return nil
}

// Flush implements osc.Module.
func (m *module) Flush(target int) error {
	if m.resting() { // programs wait by flushing, too
		if m.idleFlushes++; m.idleFlushes%pollFlushes == 0 {
			m.engine.TryPoll()
			m.engine.Unlock()
			m.engine.Yield()
			m.engine.Lock()
		}
	}
	if target == osc.AllTargets {
		for i := range m.few {
			if err := m.quiesce(&m.few[i]); err != nil {
				return err
			}
		}
	} else if len(m.few) > 0 {
		p := m.comm.Procs[target]
		if c := &m.few[p.Rank%len(m.few)]; c.proc == p {
			if err := m.quiesce(c); err != nil {
				return err
			}
		}
	}
	if err := m.quiesce(&m.all); err != nil { // operations to a target may have gone here as well, when its place was another's
		return err
	}
	if len(m.failed) == 0 {
		return nil
	}
	return m.report(target)
}

// resting reports whether nothing is under way.
func (m *module) resting() bool {
	for i := range m.few {
		if m.few[i].look() > 0 {
			return false
		}
	}
	return m.all.look() == 0
}

// pollFlushes is how many flushes without anything to do there are to one that makes progress.
const pollFlushes = 16

// FlushLocal implements osc.Module: the count does not tell completion here from completion there.
func (m *module) FlushLocal(target int) error { return m.Flush(target) }

// hopeless is why nothing on the window can end any more.
func (m *module) hopeless() error {
	if f := m.comm.Fault(); f != nil && f.Fatal {
		return f.Err
	}
	return nil
}

// failure is an operation that failed, until the call that completes it.
type failure struct {
	proc *core.Proc
	err  error
}

// fail notes the first failure of operations to p.
func (m *module) fail(p *core.Proc, err error) {
	for i := range m.failed {
		if m.failed[i].proc == p {
			return
		}
	}
	m.failed = append(m.failed, failure{p, err})
}

// report gives the failure of an operation to target and forgets it; of all targets' the first, and forgets them all.
func (m *module) report(target int) error {
	if target == osc.AllTargets {
		err := m.failed[0].err
		m.failed = m.failed[:0]
		return err
	}
	p := m.comm.Procs[target]
	for i := range m.failed {
		if m.failed[i].proc == p {
			err := m.failed[i].err
			m.failed = append(m.failed[:i], m.failed[i+1:]...)
			return err
		}
	}
	return nil
}

// why is the error of an operation to p that the interface says has failed.
func (m *module) why(p *core.Proc, f p4.FailType) error {
	var err *core.Error
	switch {
	case p.Failed() != nil:
		return m.comm.DeathOf(p)
	case f == p4.Undeliverable:
		err = core.NewError(core.ErrProcFailed, "an operation of the window cannot be delivered")
	case (f == p4.Dropped || f == p4.NoMatch) && m.comm.Fault() != nil: // its entries are gone
		err = core.NewError(core.ErrProcFailed, "it has freed the window, since a member has died")
	case f == p4.SegV && m.w.Flavor == osc.Dynamic:
		err = core.NewError(core.ErrRMARange, "an operation touches memory that is not attached at its target, or that lies in several attached pieces")
	case f == p4.Dropped || f == p4.SegV || f == p4.NoMatch:
		err = core.NewError(core.ErrRMARange, "an operation lies outside of the window at its target")
	default:
		err = core.NewError(core.ErrIntern, "the target's interface refuses an operation of the window: %v", f)
	}
	err.Peer = m.comm.RankOf(p.Rank)
	return err
}

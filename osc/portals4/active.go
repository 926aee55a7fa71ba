package portals4

import (
	"sync/atomic"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/osc"
	p4 "github.com/ompi-go/ompi-go/portals4"
)

// Header data of puts to words of control.
const (
	saysPost     = 1
	saysComplete = 2
)

// active is the synchronisation of active targets. Who has posted is told by the event of its put; those who are early are kept until the Start that
// they are for. Completes need only be counted: a member that has completed cannot do so again before it has been posted to again.
type active struct {
	early     map[int]int      // by rank in the job: posts that no Start has seen
	awaited   map[int]struct{} // members that a Start waits for
	missing   atomic.Int32     // how many
	started   []int            // group of the access epoch
	posted    []int            // group of the exposure epoch
	completes atomic.Int64     // completes that no Wait has seen
	noStart   atomic.Bool      // what a Start waits for will not come: a member has died, or all is over
	noWait    atomic.Bool      // likewise of a Wait
}

// came takes a post or complete.
func (a *active) came(jobRank int, says uint64) {
	switch says {
	case saysPost:
		if _, ok := a.awaited[jobRank]; ok {
			delete(a.awaited, jobRank)
			a.missing.Add(-1)
			return
		}
		if a.early == nil {
			a.early = make(map[int]int)
		}
		a.early[jobRank]++
	case saysComplete:
		a.completes.Add(1)
	}
}

// commFailed ends the waiting for members that have died. Each kind of epoch has its own: one of a member that lives goes on.
func (a *active) commFailed(m *module) {
	a.noStart.Store(m.deathIn(a.started) != nil)
	a.noWait.Store(m.deathIn(a.posted) != nil)
}

// deathIn tells of a dead member of ranks, or that all is over.
func (m *module) deathIn(ranks []int) error {
	if m.comm.Fault() == nil || len(ranks) == 0 {
		return nil
	}
	for _, r := range ranks {
		if p := m.comm.Procs[r]; p.Failed() != nil {
			return m.comm.DeathOf(p)
		}
	}
	return m.hopeless()
}

// say sends a post or a complete to a member. It is not acknowledged.
func (m *module) say(rank int, what uint64) error {
	p := m.comm.Procs[rank]
	t := &m.transfer
	t.Target, t.PT, t.MatchBits, t.Ack, t.HdrData = m.f.ni.ProcessOf(p.Rank), m.control.pt, m.control.bits, p4.NoAck, what
	t.Mem, t.RemoteOffset, t.UserPtr = nil, 0, nil
	err := m.f.mute.Put(t)
	t.HdrData = 0
	if err != nil {
		return core.NewError(core.ErrIntern, "the interface refuses to tell rank %d of a synchronisation: %w", rank, err)
	}
	if rank == m.comm.MyRank {
		m.f.take()
	}
	return nil
}

// Fence implements osc.Module.
func (m *module) Fence(assert osc.Assert) error {
	var err error
	if assert&osc.ModeNoPrecede == 0 {
		m.engine.Lock()
		err = m.Flush(osc.AllTargets)
		m.engine.Unlock()
	}
	if assert&osc.ModeNoPrecede != 0 && assert&osc.ModeNoSucceed != 0 {
		return err
	}
	// The barrier is for the others, too: they would wait for who left it out for an error of his own.
	if b := m.w.Coll.Barrier.Barrier(); err == nil {
		err = b
	}
	return err
}

// startCond holds when all members of a Start's group have posted, or cannot any more.
type startCond module

// Done implements progress.Cond.
func (c *startCond) Done() bool { return c.active.missing.Load() == 0 || c.active.noStart.Load() }

// Start implements osc.Module.
func (m *module) Start(group []int, assert osc.Assert) error {
	m.engine.Lock()
	defer m.engine.Unlock()
	a := &m.active
	a.started = group
	if assert&osc.ModeNoCheck != 0 {
		return nil
	}
	for _, r := range group {
		p := m.comm.Procs[r].Rank
		if n := a.early[p]; n > 1 {
			a.early[p] = n - 1
		} else if n == 1 {
			delete(a.early, p)
		} else {
			if a.awaited == nil {
				a.awaited = make(map[int]struct{})
			}
			a.awaited[p] = struct{}{}
			a.missing.Add(1)
		}
	}
	if a.missing.Load() == 0 {
		return nil
	}
	a.commFailed(m)
	m.engine.WaitLocked((*startCond)(m))
	var err error
	if a.missing.Load() > 0 {
		err = m.deathIn(group)
	}
	if a.missing.Load() > 0 {
		clear(a.awaited)
		a.missing.Store(0)
		a.started = nil
	}
	return err
}

// Complete implements osc.Module.
func (m *module) Complete() error {
	m.engine.Lock()
	defer m.engine.Unlock()
	err := m.Flush(osc.AllTargets)
	for _, r := range m.active.started {
		if e := m.say(r, saysComplete); err == nil {
			err = e
		}
	}
	m.active.started = nil
	return err
}

// Post implements osc.Module.
func (m *module) Post(group []int, assert osc.Assert) error {
	m.engine.Lock()
	defer m.engine.Unlock()
	m.active.posted = group
	if assert&osc.ModeNoCheck != 0 {
		return nil
	}
	var err error
	for _, r := range group {
		if e := m.say(r, saysPost); err == nil {
			err = e
		}
	}
	return err
}

// waitCond holds when all members of the exposure epoch's group have completed, or cannot any more.
type waitCond module

// Done implements progress.Cond.
func (c *waitCond) Done() bool {
	return c.active.completes.Load() >= int64(len(c.active.posted)) || c.active.noWait.Load()
}

// Wait implements osc.Module.
func (m *module) Wait() error {
	m.engine.Lock()
	defer m.engine.Unlock()
	a := &m.active
	for {
		if over, err := m.exposed(); over {
			return err
		}
		a.commFailed(m)
		m.engine.WaitLocked((*waitCond)(m))
	}
}

// exposed looks whether the exposure epoch is over.
func (m *module) exposed() (over bool, err error) {
	a := &m.active
	switch n := int64(len(a.posted)); {
	case a.completes.Load() >= n:
		a.completes.Add(-n)
	case m.deathIn(a.posted) != nil:
		err = m.deathIn(a.posted)
		a.completes.Store(0)
	default:
		return false, nil
	}
	a.posted = nil
	return true, err
}

// Test implements osc.Module.
func (m *module) Test() (bool, error) {
	m.engine.Lock()
	over, err := m.exposed()
	if !over {
		m.engine.TryPoll()
		over, err = m.exposed()
	}
	m.engine.Unlock()
	if !over {
		m.engine.Yield()
	}
	return over, err
}

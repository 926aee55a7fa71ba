package pt2pt

import (
	"slices"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/am"
)

// Flush implements osc.Module.
func (m *module) Flush(target int) error {
	if target != osc.AllTargets {
		if p := m.peers[target]; p != nil {
			p.askAck()
			return p.await()
		}
		return nil
	}
	return m.flushTouched()
}

// flushTouched completes all operations everywhere.
func (m *module) flushTouched() error {
	for i := 0; i < len(m.touched); i++ {
		m.touched[i].askAck()
	}
	return m.awaitTouched()
}

// awaitTouched waits for all targets. The first error counts.
func (m *module) awaitTouched() (err error) {
	for i := 0; i < len(m.touched); i++ {
		if e := m.touched[i].await(); err == nil {
			err = e
		}
	}
	return err
}

// FlushLocal implements osc.Module. What is queued has been copied, so that only results and long messages are to be waited for.
func (m *module) FlushLocal(target int) (err error) {
	if target != osc.AllTargets {
		if p := m.peers[target]; p != nil {
			return p.awaitResults()
		}
		return nil
	}
	for _, p := range m.touched {
		if p.pending > 0 {
			p.flush()
		}
	}
	for i := 0; i < len(m.touched); i++ {
		if e := m.touched[i].awaitResults(); err == nil {
			err = e
		}
	}
	return err
}

// awaitResults waits for what has a result or a long message.
func (p *peer) awaitResults() error {
	if p.pending == 0 {
		return nil
	}
	p.flush()
	if err := p.m.wait(waiter{kind: forResults, p: p}); err != nil {
		return err
	}
	return p.takeFailure()
}

// close adds a command that says that everything before it is to be complete, with or without an acknowledgement, and sends what is queued. It may give the
// token away when another goroutine has closed a packet that cannot be sent yet.
func (p *peer) close(kind am.Kind, ack bool) {
	k := p.packet()
	for len(k.buf)-k.n < am.HeaderSize {
		if p.makeRoom() != nil {
			return // whoever waits for the effect hears of it
		}
		k = p.packet()
	}
	c := am.Command{Kind: kind}
	if ack {
		p.wanted++
		c.ID, c.Flags = p.wanted, flagAck
		p.dirty = false
		k.answers = true
	}
	k.control(&c)
	p.flush()
}

// askAck asks p to tell when all operations are complete, if nothing else does.
func (p *peer) askAck() {
	if p.dirty {
		p.close(am.Flush, true)
		return
	}
	if p.pending > 0 {
		p.flush()
	}
}

// await waits until p has acknowledged what it was asked to, and all results are here.
func (p *peer) await() error {
	if err := p.m.wait(waiter{kind: forTarget, p: p, n: int64(p.wanted)}); err != nil {
		return err
	}
	return p.takeFailure()
}

// Lock implements osc.Module.
func (m *module) Lock(t osc.LockType, target int, assert osc.Assert) error {
	m.engine.Lock()
	defer m.engine.Unlock()
	p := m.peer(target)
	if err := m.faultWith(p); err != nil {
		return err
	}
	if err := m.settleLocks(p); err != nil {
		return err
	}
	p.want(t, assert&osc.ModeNoCheck != 0)
	if p.lock == lockFree {
		return nil
	}
	m.newest = p
	switch {
	case target == m.me: // the program may load and store now
		return p.lockSelf()
	case m.f.opts.Piggyback:
		return nil
	}
	p.packet()
	p.flush()
	return m.wait(waiter{kind: forLock, p: p})
}

// settleLocks waits for the lock that was asked for last, if it is still to come, before p's is asked for: locks are had in the order in which the program asks
// for them, or programs that keep an order to be safe would wait in circles all the same.
func (m *module) settleLocks(p *peer) error {
	for q := m.newest; q != nil; q = m.newest {
		switch q.lock {
		case lockWanted, lockQueued:
			q.packet()
			q.flush()
		case lockAsked:
		default:
			m.newest = nil
			return nil
		}
		err := m.wait(waiter{kind: forLock, p: q})
		if m.newest == q {
			m.newest = nil
		}
		if err != nil { // its own unlock tells of q's death; p may be well
			if err := m.faultWith(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// lockSelf waits for the lock of this member's own memory.
func (p *peer) lockSelf() error {
	p.lock = lockAsked
	if p.m.lock.acquire(p, p.typ) {
		p.lock = lockHeld
		return nil
	}
	return p.m.wait(waiter{kind: forLock, p: p})
}

// unlockSelf gives it back.
func (p *peer) unlockSelf() {
	if p.lock == lockHeld {
		p.m.lock.release(p)
		p.m.grant()
		p.m.resume()
		p.m.review()
	}
	p.lock = lockNone
}

// askUnlock asks p to let go of the lock when all operations are complete. An acknowledgement is wanted if nothing else tells of them or of the lock.
func (p *peer) askUnlock() {
	switch {
	case p.rank == p.m.me:
		p.unlockSelf()
	case p.lock == lockFree:
		p.askAck()
	case p.lock != lockNone:
		p.close(am.Unlock, p.dirty || p.fetched || p.lock != lockHeld && p.pending == 0)
		p.fetched = false
	}
}

// unlocked ends the epoch at p.
func (p *peer) unlocked() error {
	err := p.await()
	p.lock = lockNone
	return err
}

// Unlock implements osc.Module.
func (m *module) Unlock(target int) error {
	m.engine.Lock()
	defer m.engine.Unlock()
	p := m.peer(target)
	if m.newest == p {
		m.newest = nil
	}
	p.askUnlock()
	err := p.unlocked()
	m.review()
	if p.touched {
		p.touched = false
		i := slices.Index(m.touched, p)
		m.touched = slices.Delete(m.touched, i, i+1)
	}
	return err
}

// LockAll implements osc.Module. Others than this member itself are asked when the first operation goes to them.
func (m *module) LockAll(assert osc.Assert) error {
	m.engine.Lock()
	defer m.engine.Unlock()
	if err := m.faultWith(m.peer(m.me)); err != nil {
		return err
	}
	m.all, m.free = true, assert&osc.ModeNoCheck != 0
	p := m.peer(m.me)
	p.want(osc.LockShared, m.free)
	if m.free {
		return nil
	}
	return p.lockSelf()
}

// UnlockAll implements osc.Module.
func (m *module) UnlockAll() (err error) {
	m.engine.Lock()
	defer m.engine.Unlock()
	m.all = false
	m.peer(m.me).askUnlock()
	m.peer(m.me).lock = lockNone
	for i := 0; i < len(m.touched); i++ {
		m.touched[i].askUnlock()
	}
	for i := 0; i < len(m.touched); i++ {
		if e := m.touched[i].unlocked(); err == nil {
			err = e
		}
	}
	m.untouch()
	return err
}

// untouch empties the list of those that have something to complete.
func (m *module) untouch() {
	for i, p := range m.touched {
		p.touched = false
		m.touched[i] = nil
	}
	m.touched = m.touched[:0]
}

// Fence implements osc.Module. Its members add up how many packets each of them has been sent, and wait for as many.
func (m *module) Fence(assert osc.Assert) error {
	if assert&osc.ModeNoPrecede != 0 {
		if assert&osc.ModeNoSucceed != 0 {
			return m.fault()
		}
		return m.w.Coll.Barrier.Barrier() // nobody's operations may come before this member is here
	}
	m.engine.Lock()
	err := m.sendAll()
	m.engine.Unlock()
	mine, e := m.countAll()
	if e != nil {
		return e
	}
	m.engine.Lock()
	defer m.engine.Unlock()
	if e := m.awaitTouched(); err == nil {
		err = e
	}
	if e := m.wait(waiter{kind: forFence, n: mine}); err == nil {
		err = e
	}
	m.fences++
	m.arrived = 0
	m.untouch()
	m.catchEarly()
	return err
}

// sendAll sends what is queued at the end of a fence epoch, and gives the numbers of packets to counts.
func (m *module) sendAll() (err error) {
	if m.w.Flavor == osc.Dynamic { // whose targets may have something to say
		err = m.flushTouched()
	}
	clear(m.counts)
	for _, p := range m.touched {
		p.flush()
		p.dirty = false
		m.counts[p.rank] = p.packets
		p.packets = 0
	}
	return err
}

// allreduceMost is for how many members adding up all numbers everywhere is cheaper than dealing the sums out.
const allreduceMost = 64

// countAll gives how many packets all members have sent to this one.
func (m *module) countAll() (int64, error) {
	n := len(m.counts)
	all := core.MakeBuffer(unsafe.Pointer(&m.counts[0]), int64(n), datatype.Int64)
	if n <= allreduceMost {
		err := m.w.Coll.Allreduce.Allreduce(core.InPlaceBuffer(), all, core.Sum)
		return m.counts[m.me], err
	}
	err := m.w.Coll.ReduceScatterBlock.ReduceScatterBlock(all, core.MakeBuffer(unsafe.Pointer(&m.mine), 1, datatype.Int64), core.Sum)
	return m.mine, err
}

// Start implements osc.Module. Operations are queued until their target has posted.
func (m *module) Start(group []int, assert osc.Assert) error {
	m.engine.Lock()
	defer m.engine.Unlock()
	if err := m.fault(); err != nil {
		return err
	}
	m.group = group
	for _, rank := range group {
		p := m.peer(rank)
		p.started, p.open = true, assert&osc.ModeNoCheck != 0
	}
	return nil
}

// Complete implements osc.Module.
func (m *module) Complete() (err error) {
	m.engine.Lock()
	defer m.engine.Unlock()
	if m.w.Flavor == osc.Dynamic { // whose targets may have something to say
		err = m.flushTouched()
	}
	for _, rank := range m.group {
		if rank != m.me {
			m.peer(rank).close(am.Complete, false)
		}
	}
	for _, rank := range m.group {
		p := m.peer(rank)
		kind := waiter{kind: forResults, p: p}
		if rank == m.me {
			kind.kind = forPost
		}
		e := m.wait(kind)
		if e == nil {
			e = p.takeFailure()
		}
		if err == nil {
			err = e
		}
		if rank == m.me {
			p.ready() // uses the post
			m.completed++
		}
		p.started, p.open, p.dirty = false, false, false
	}
	m.group = nil
	m.untouch()
	m.review()
	return err
}

// Post implements osc.Module. With ModeNoCheck nobody waits to hear of it.
func (m *module) Post(group []int, assert osc.Assert) error {
	m.engine.Lock()
	defer m.engine.Unlock()
	if err := m.fault(); err != nil {
		return err
	}
	m.exposed = len(group)
	if assert&osc.ModeNoCheck != 0 {
		return nil
	}
	for _, rank := range group {
		p := m.peer(rank)
		if rank == m.me {
			p.posted++
			continue
		}
		p.direct(&am.Command{Kind: am.Post})
	}
	m.review()
	return nil
}

// Wait implements osc.Module.
func (m *module) Wait() error {
	m.engine.Lock()
	defer m.engine.Unlock()
	err := m.wait(waiter{kind: forClosing, n: int64(m.exposed)})
	if err == nil {
		m.closed()
	}
	return err
}

func (m *module) closed() {
	m.completed -= m.exposed
	m.exposed = 0
}

// Test implements osc.Module.
func (m *module) Test() (bool, error) {
	m.engine.Lock()
	defer m.engine.Unlock()
	m.engine.TryPoll()
	if m.completed < m.exposed {
		return false, m.fault()
	}
	m.closed()
	return true, nil
}

package portals4

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/elem"
	"github.com/ompi-go/ompi-go/osc/words"
	p4 "github.com/ompi-go/ompi-go/portals4"
)

// Pairs that the interface cannot combine are got, combined here, and put back, under a lock of the target's that has nothing to do with MPI's.

// pairsAtOnce is how many bytes of pairs are worked on under one lock.
const pairsAtOnce = 4 << 10

// emulate carries out an accumulate of pairs. It is complete at both ends when the call returns.
func (m *module) emulate(op *osc.Op, code elem.Code) (done bool, err error) {
	if op.Kind == osc.Accumulate && code.IsNoOp() {
		return true, nil
	}
	if err := m.seize(op.Rank); err != nil {
		return false, err
	}
	size := code.Size()
	n, off := op.High-op.Low, op.Off+op.Low
	for at := int64(0); at < n && err == nil; {
		now := min(n-at, pairsAtOnce/size*size)
		var from, result unsafe.Pointer
		if !code.IsNoOp() {
			from = unsafe.Add(op.Origin.Addr(), at)
		}
		if op.Kind == osc.GetAccumulate {
			result = unsafe.Add(op.Result.Addr(), at)
		}
		err = m.combine(op.Rank, code, from, result, off+at, now)
		at += now
	}
	if e := m.give(op.Rank); err == nil {
		err = e
	}
	return err == nil, err
}

// combine works on n bytes of pairs at off.
func (m *module) combine(rank int, code elem.Code, from, result unsafe.Pointer, off, n int64) error {
	p := m.comm.Procs[rank]
	k := m.newCall(&m.all, p)
	size := code.Size()
	count := (n + size - 1) / size
	if need := int(count*size+7) / 8; len(k.scratch) < need {
		k.scratch = make([]uint64, max(need, pairsAtOnce/8))
	}
	mem := unsafe.Pointer(unsafe.SliceData(k.scratch))
	move := func(f func(*p4.Transfer) error) error {
		if err := m.room(&m.all); err != nil {
			return err
		}
		k.Reset()
		k.left = 1
		m.aim(p)
		t := &m.transfer
		t.Mem, t.RemoteOffset, t.UserPtr = bytes(mem, n), uint64(off), k
		m.all.issued++
		if err := f(t); err != nil {
			m.all.issued--
			k.left = 0
			return core.NewError(core.ErrIntern, "the interface refuses an operation of the window: %w", err)
		}
		return m.await(k)
	}
	err := move(m.all.full.Get)
	if err == nil {
		if code.IsNoOp() {
			code.Fetch(mem, nil, result, count, &m.locks)
		} else if result != nil {
			code.Fetch(mem, from, result, count, &m.locks)
		} else {
			code.Apply(mem, from, count, &m.locks)
		}
		if !code.IsNoOp() {
			err = move(m.all.full.Put)
		}
	}
	m.done(k)
	return err
}

// seize takes the target's lock of pairs. Its word says who has it, so that the dead keep nobody waiting.
func (m *module) seize(rank int) error {
	c := (*control)(m)
	me := uint64(m.comm.MyRank) + 1
	free := uint64(0)
	for pause := 1; ; pause = min(2*pause, 32) {
		old, err := c.CompareSwap(rank, words.SpareWord, free, me)
		if err != nil || old == free {
			return err
		}
		if err := m.hopeless(); err != nil {
			return err
		}
		if free = 0; old > 0 && old <= uint64(m.comm.Size()) && m.comm.Procs[old-1].Failed() != nil {
			free = old
			continue
		}
		for range pause { // who has it may need this process's interface, or its token
			m.engine.TryPoll()
			m.engine.Unlock()
			m.engine.Yield()
			m.engine.Lock()
		}
	}
}

// give gives the lock back.
func (m *module) give(rank int) error {
	_, err := (*control)(m).Swap(rank, words.SpareWord, 0)
	return err
}

package rdma

import (
	"errors"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/osc"
)

// Synchronisation is package words' but for fences.

// Start implements osc.Module.
func (m *module) Start(group []int, assert osc.Assert) error {
	return m.sync.Start(group, assert&osc.ModeNoCheck != 0)
}

// Complete implements osc.Module.
func (m *module) Complete() error { return m.sync.Complete() }

// Post implements osc.Module. That somebody has died whom the window is opened to is for Wait to tell.
func (m *module) Post(group []int, assert osc.Assert) error {
	err := m.sync.Post(group, assert&osc.ModeNoCheck != 0)
	if core.ClassOf(err) == core.ErrProcFailed {
		return nil
	}
	return err
}

// Wait implements osc.Module.
func (m *module) Wait() error { return m.sync.Wait() }

// Test implements osc.Module.
func (m *module) Test() (bool, error) { return m.sync.Test() }

// Lock implements osc.Module.
func (m *module) Lock(t osc.LockType, target int, assert osc.Assert) error {
	return m.sync.Lock(t == osc.LockExclusive, target, assert&osc.ModeNoCheck != 0)
}

// Unlock implements osc.Module.
func (m *module) Unlock(target int) error { return m.sync.Unlock(target) }

// LockAll implements osc.Module.
func (m *module) LockAll(assert osc.Assert) error { return m.sync.LockAll(assert&osc.ModeNoCheck != 0) }

// UnlockAll implements osc.Module.
func (m *module) UnlockAll() error { return m.sync.UnlockAll() }

// Fence implements osc.Module.
func (m *module) Fence(assert osc.Assert) error {
	var err error
	if assert&osc.ModeNoPrecede == 0 {
		m.f.engine.Lock()
		err = m.Flush(osc.AllTargets)
		m.f.engine.Unlock()
	}
	if assert&(osc.ModeNoPrecede|osc.ModeNoSucceed) == osc.ModeNoPrecede|osc.ModeNoSucceed {
		return err
	}
	return errors.Join(err, m.w.Coll.Barrier.Barrier())
}

// Sync implements osc.Module: taking and giving back the token are barriers to memory, and what came by messages meanwhile is carried out.
func (m *module) Sync() error {
	m.f.engine.Lock()
	m.f.engine.TryPoll()
	m.f.engine.Unlock()
	return nil
}

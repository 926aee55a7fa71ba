package osc

import "github.com/ompi-go/ompi-go/core"

// Calls that synchronise. Each asks the epochs whether it is legal, calls the module, and tells the epochs how it ended. Ranks are inside the communicator;
// groups are ascending, and nobody changes them.

// enter takes the token for a look at the epochs; open tells that the call opens an epoch, which a fault forbids.
func (w *Win) enter(rank int, open bool) error {
	w.Engine.Lock()
	if f := w.Comm.Fault(); f != nil && open {
		return w.fault(f, rank)
	}
	return nil
}

// Fence is MPI_Win_fence.
func (w *Win) Fence(a Assert) error {
	err := w.enter(AllTargets, true)
	if err == nil {
		err = orNil(w.epochs.beginFence(a))
	}
	w.Engine.Unlock()
	if err != nil {
		return err
	}
	err = w.module.Fence(a)
	w.Engine.Lock()
	w.settle(err)
	w.epochs.endFence(a, err == nil)
	w.Engine.Unlock()
	return err
}

// orNil keeps a nil *core.Error from becoming an error.
func orNil(err *core.Error) error {
	if err != nil {
		return err
	}
	return nil
}

// settle notes that a closing synchronisation has completed what was issued before it, which is all: nothing can be issued meanwhile.
func (w *Win) settle(err error) {
	if err == nil {
		w.complete = w.issued
		w.track()
	}
}

// Start is MPI_Win_start.
func (w *Win) Start(group []int, a Assert) error {
	err := w.enter(AllTargets, true)
	if err == nil {
		err = orNil(w.epochs.beginStart(group))
	}
	w.Engine.Unlock()
	if err != nil {
		return err
	}
	err = w.module.Start(group, a)
	w.Engine.Lock()
	w.epochs.endStart(err == nil)
	w.Engine.Unlock()
	return err
}

// Complete is MPI_Win_complete. The epoch is over, also with an error.
func (w *Win) Complete() error {
	w.Engine.Lock()
	err := orNil(w.epochs.beginComplete())
	w.Engine.Unlock()
	if err != nil {
		return err
	}
	err = w.module.Complete()
	w.Engine.Lock()
	w.settle(err)
	w.epochs.endComplete()
	w.Engine.Unlock()
	return err
}

// Post is MPI_Win_post.
func (w *Win) Post(group []int, a Assert) error {
	err := w.enter(AllTargets, true)
	if err == nil {
		err = orNil(w.epochs.beginPost(group))
	}
	w.Engine.Unlock()
	if err != nil {
		return err
	}
	err = w.module.Post(group, a)
	w.Engine.Lock()
	w.epochs.endPost(err == nil)
	w.Engine.Unlock()
	return err
}

// Wait is MPI_Win_wait. The epoch is over, also with an error.
func (w *Win) Wait() error {
	w.Engine.Lock()
	err := orNil(w.epochs.beginWait(callWait))
	w.Engine.Unlock()
	if err != nil {
		return err
	}
	err = w.module.Wait()
	w.Engine.Lock()
	w.epochs.endWait(true)
	w.Engine.Unlock()
	return err
}

// Test is MPI_Win_test.
func (w *Win) Test() (bool, error) {
	w.Engine.Lock()
	err := orNil(w.epochs.beginWait(callTest))
	w.Engine.Unlock()
	if err != nil {
		return false, err
	}
	over, err := w.module.Test()
	w.Engine.Lock()
	w.epochs.endWait(over || err != nil)
	w.Engine.Unlock()
	return over && err == nil, err
}

// noLocks refuses locks where all members have promised that there are none.
func (w *Win) noLocks() error {
	if w.Hints.NoLocks {
		return core.NewError(core.ErrRMASync, "the window was made with the info key %s", keyNoLocks)
	}
	return nil
}

// Lock is MPI_Win_lock.
func (w *Win) Lock(t LockType, rank int, a Assert) error {
	if err := w.noLocks(); err != nil {
		return err
	}
	err := w.enter(rank, true)
	if err == nil {
		err = orNil(w.epochs.beginLock(rank))
	}
	w.Engine.Unlock()
	if err != nil {
		return err
	}
	err = w.module.Lock(t, rank, a)
	w.Engine.Lock()
	w.epochs.endLock(rank, err == nil)
	w.Engine.Unlock()
	return err
}

// Unlock is MPI_Win_unlock. The lock is gone, also with an error.
func (w *Win) Unlock(rank int) error {
	w.Engine.Lock()
	err := orNil(w.epochs.beginUnlock(rank))
	w.Engine.Unlock()
	if err != nil {
		return err
	}
	err = w.module.Unlock(rank)
	w.Engine.Lock()
	w.epochs.endUnlock(rank)
	if !w.epochs.passive() { // no target is left that anything could be under way to
		w.settle(err)
	}
	w.Engine.Unlock()
	return err
}

// LockAll is MPI_Win_lock_all.
func (w *Win) LockAll(a Assert) error {
	if err := w.noLocks(); err != nil {
		return err
	}
	err := w.enter(AllTargets, true)
	if err == nil {
		err = orNil(w.epochs.beginLockAll())
	}
	w.Engine.Unlock()
	if err != nil {
		return err
	}
	err = w.module.LockAll(a)
	w.Engine.Lock()
	w.epochs.endLockAll(err == nil)
	w.Engine.Unlock()
	return err
}

// UnlockAll is MPI_Win_unlock_all. The lock is gone, also with an error.
func (w *Win) UnlockAll() error {
	w.Engine.Lock()
	err := orNil(w.epochs.beginUnlockAll())
	w.Engine.Unlock()
	if err != nil {
		return err
	}
	err = w.module.UnlockAll()
	w.Engine.Lock()
	w.settle(err)
	w.epochs.endUnlockAll()
	w.Engine.Unlock()
	return err
}

// Flush is MPI_Win_flush, with AllTargets MPI_Win_flush_all.
func (w *Win) Flush(rank int) error { return w.flush(rank, false) }

// FlushLocal is MPI_Win_flush_local, with AllTargets MPI_Win_flush_local_all.
func (w *Win) FlushLocal(rank int) error { return w.flush(rank, true) }

func (w *Win) flush(rank int, local bool) error {
	if w.shortFlush(rank) {
		return nil
	}
	e := w.Engine
	e.Lock()
	if err := w.epochs.flush(rank); err != nil {
		e.Unlock()
		return err
	}
	if w.mapper != nil && w.complete == w.issued && w.Comm.Fault() == nil {
		e.TryPoll()
		e.Unlock()
		e.Yield() // who waits by flushing waits for somebody who may need the core
		return nil
	}
	passes := e.Passes()
	err := w.flushModule(rank, local)
	idle := e.Passes() == passes
	if idle {
		e.TryPoll()
	}
	e.Unlock()
	if idle {
		e.Yield()
	}
	return err
}

// flushModule has the module flush. The token is held.
func (w *Win) flushModule(rank int, local bool) error {
	if local {
		return w.module.FlushLocal(rank)
	}
	before := w.issued // what other goroutines issue meanwhile need not be covered
	err := w.module.Flush(rank)
	if err == nil && rank == AllTargets {
		w.complete = max(w.complete, before)
		w.track()
	}
	return err
}

// Sync is MPI_Win_sync.
func (w *Win) Sync() error { return w.module.Sync() }

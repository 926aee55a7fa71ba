package ompi

import (
	"slices"
	"sync/atomic"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/osc"
)

// winGroup is a group as ranks of a window, ascending. It never changes.
type winGroup struct {
	g     *core.Group
	ranks []int
}

// ranksOf gives the members of g as ranks of the window; last keeps them for the next call with the same group.
func (w *Win) ranksOf(g *Group, last *atomic.Pointer[winGroup]) ([]int, error) {
	if g == nil {
		return nil, core.NewError(ErrGroup, "the group is nil")
	}
	if p := last.Load(); p != nil && p.g == g {
		return p.ranks, nil
	}
	own := w.c.c.Group()
	theirs := make([]int, g.Size())
	for i := range theirs {
		theirs[i] = i
	}
	ranks, err := g.TranslateRanks(theirs, own)
	if err != nil {
		return nil, err
	}
	for i, r := range ranks {
		if r == Undefined {
			return nil, core.NewError(ErrGroup, "rank %d of the group is no member of the window's", i)
		}
	}
	slices.Sort(ranks)
	last.Store(&winGroup{g, ranks})
	return ranks, nil
}

// asserts checks an assertion against those that the call takes.
func asserts(a, legal Assert) error {
	if a&^legal != 0 {
		return core.NewError(ErrAssert, "assertion %#x; this call takes combinations of %#x", int(a), int(legal))
	}
	return nil
}

// Fence ends the epochs that the last Fence opened, at all ranks: operations of this rank are complete everywhere, and those of the others at this rank.
// It opens an epoch for accesses to and from all, unless ModeNoSucceed says that none follow (MPI-3.1 §11.5.1). It is collective.
func (w *Win) Fence(assert Assert) error {
	return w.call("Win_fence", Undefined, func() error {
		if err := asserts(assert, ModeNoStore|ModeNoPut|ModeNoPrecede|ModeNoSucceed); err != nil {
			return err
		}
		return w.w.Fence(osc.Assert(assert))
	})
}

// Start opens an access epoch to the members of g, who call Post (MPI-3.1 §11.5.2). It may wait for them.
func (w *Win) Start(g *Group, assert Assert) error {
	return w.call("Win_start", Undefined, func() error {
		if err := asserts(assert, ModeNoCheck); err != nil {
			return err
		}
		ranks, err := w.ranksOf(g, &w.start)
		if err != nil {
			return err
		}
		return w.w.Start(ranks, osc.Assert(assert))
	})
}

// Complete ends the epoch of Start: the operations' buffers may be used again.
func (w *Win) Complete() error { return w.call("Win_complete", Undefined, w.w.Complete) }

// Post opens an exposure epoch, in which the members of g access this rank's window; it does not wait.
func (w *Win) Post(g *Group, assert Assert) error {
	return w.call("Win_post", Undefined, func() error {
		if err := asserts(assert, ModeNoCheck|ModeNoStore|ModeNoPut); err != nil {
			return err
		}
		ranks, err := w.ranksOf(g, &w.post)
		if err != nil {
			return err
		}
		return w.w.Post(ranks, osc.Assert(assert))
	})
}

// Wait ends the epoch of Post: all members of its group have called Complete, and their operations are done here.
func (w *Win) Wait() error { return w.call("Win_wait", Undefined, w.w.Wait) }

// Test is Wait that does not wait; true ends the epoch.
func (w *Win) Test() (over bool, err error) {
	err = w.call("Win_test", Undefined, func() (err error) {
		over, err = w.w.Test()
		return err
	})
	return over, err
}

// checkTarget checks the target of a lock or a flush.
func (w *Win) checkTarget(rank int) error {
	if rank != ProcNull && uint(rank) >= uint(w.c.size) {
		return w.c.noRank(rank)
	}
	return nil
}

// Lock opens an access epoch to one target, without its help (MPI-3.1 §11.5.3). It may wait for who holds a lock that excludes this one. Several targets may
// be locked at once, each once. ProcNull is legal and locks nothing.
func (w *Win) Lock(t LockType, target int, assert Assert) error {
	if assert == 0 && w.plain(target) && (t == LockShared || t == LockExclusive) {
		if err := w.w.Lock(osc.LockType(t), target, 0); err != nil {
			return w.c.fail("Win_lock", err)
		}
		return nil
	}
	return w.call("Win_lock", target, func() error {
		if t != LockShared && t != LockExclusive {
			return core.NewError(ErrLockType, "lock type %d; LockShared and LockExclusive are allowed", int(t))
		}
		if err := w.checkTarget(target); err != nil {
			return err
		}
		if err := asserts(assert, ModeNoCheck); err != nil || target == ProcNull {
			return err
		}
		return w.w.Lock(osc.LockType(t), target, osc.Assert(assert))
	})
}

// Unlock ends the epoch of Lock: its operations are complete, here and at the target.
func (w *Win) Unlock(target int) error {
	if w.plain(target) {
		if err := w.w.Unlock(target); err != nil {
			return w.c.fail("Win_unlock", err)
		}
		return nil
	}
	return w.call("Win_unlock", target, func() error {
		if err := w.checkTarget(target); err != nil || target == ProcNull {
			return err
		}
		return w.w.Unlock(target)
	})
}

// LockAll opens an access epoch to all ranks, with a lock that is shared. It is not collective.
func (w *Win) LockAll(assert Assert) error {
	if assert == 0 && w.plain(0) {
		if err := w.w.LockAll(0); err != nil {
			return w.c.fail("Win_lock_all", err)
		}
		return nil
	}
	return w.call("Win_lock_all", Undefined, func() error {
		if err := asserts(assert, ModeNoCheck); err != nil {
			return err
		}
		return w.w.LockAll(osc.Assert(assert))
	})
}

// UnlockAll ends the epoch of LockAll.
func (w *Win) UnlockAll() error {
	if w.plain(0) {
		if err := w.w.UnlockAll(); err != nil {
			return w.c.fail("Win_unlock_all", err)
		}
		return nil
	}
	return w.call("Win_unlock_all", Undefined, func() error { return w.w.UnlockAll() })
}

// Flush completes all operations of this rank to the target, which must be locked, here and there (MPI-3.1 §11.5.4).
func (w *Win) Flush(target int) error {
	if !w.plain(target) {
		return w.flush("Win_flush", target, false)
	}
	if err := w.w.Flush(target); err != nil {
		return w.c.fail("Win_flush", err)
	}
	return nil
}

// FlushAll is Flush to all targets.
func (w *Win) FlushAll() error {
	if w.plain(0) {
		if err := w.w.Flush(osc.AllTargets); err != nil {
			return w.c.fail("Win_flush_all", err)
		}
		return nil
	}
	return w.call("Win_flush_all", Undefined, func() error { return w.w.Flush(osc.AllTargets) })
}

// FlushLocal completes all operations of this rank to the target here: their buffers may be used again.
func (w *Win) FlushLocal(target int) error {
	if !w.plain(target) {
		return w.flush("Win_flush_local", target, true)
	}
	if err := w.w.FlushLocal(target); err != nil {
		return w.c.fail("Win_flush_local", err)
	}
	return nil
}

// FlushLocalAll is FlushLocal to all targets.
func (w *Win) FlushLocalAll() error {
	if w.plain(0) {
		if err := w.w.FlushLocal(osc.AllTargets); err != nil {
			return w.c.fail("Win_flush_local_all", err)
		}
		return nil
	}
	return w.call("Win_flush_local_all", Undefined, func() error { return w.w.FlushLocal(osc.AllTargets) })
}

// plain tells that a call needs nothing but to be carried out: there is no interceptor, and the target is a rank. Closures of other calls are allocated.
func (w *Win) plain(target int) bool {
	return w != nil && !w.c.odd && uint(target) < uint(w.c.size) && !w.freed.Load()
}

func (w *Win) flush(op string, target int, local bool) error {
	return w.call(op, target, func() error {
		if err := w.checkTarget(target); err != nil || target == ProcNull {
			return err
		}
		if local {
			return w.w.FlushLocal(target)
		}
		return w.w.Flush(target)
	})
}

// Sync makes what others have written to this rank's window visible to its loads, and its stores to them (MPI-3.1 §11.5.4).
func (w *Win) Sync() error { return w.call("Win_sync", Undefined, w.w.Sync) }

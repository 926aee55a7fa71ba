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

// syncArgs are the arguments of a synchronising call.
type syncArgs struct {
	target int
	assert Assert
	lock   LockType
	group  *Group
}

// sync runs a synchronising call. f captures nothing, so that nothing is allocated unless there is an interceptor.
func (w *Win) sync(op string, a syncArgs, f func(*Win, syncArgs) error) error {
	if err := w.usable(op); err != nil {
		return err
	}
	if w.c.odd {
		return w.c.call(op, a.target, 0, func() error { return w.outcome(op, f(w, a)) })
	}
	return w.outcome(op, f(w, a))
}

// Fence ends the epochs that the last Fence opened, at all ranks: operations of this rank are complete everywhere, and those of the others at this rank.
// It opens an epoch for accesses to and from all, unless ModeNoSucceed says that none follow (MPI-3.1 §11.5.1). It is collective.
func (w *Win) Fence(assert Assert) error {
	return w.sync("Win_fence", syncArgs{target: Undefined, assert: assert}, func(w *Win, a syncArgs) error {
		if err := asserts(a.assert, ModeNoStore|ModeNoPut|ModeNoPrecede|ModeNoSucceed); err != nil {
			return err
		}
		return w.w.Fence(osc.Assert(a.assert))
	})
}

// Start opens an access epoch to the members of g, who call Post (MPI-3.1 §11.5.2). It may wait for them.
func (w *Win) Start(g *Group, assert Assert) error {
	return w.sync("Win_start", syncArgs{target: Undefined, assert: assert, group: g}, func(w *Win, a syncArgs) error {
		if err := asserts(a.assert, ModeNoCheck); err != nil {
			return err
		}
		ranks, err := w.ranksOf(a.group, &w.start)
		if err != nil {
			return err
		}
		return w.w.Start(ranks, osc.Assert(a.assert))
	})
}

// Complete ends the epoch of Start: the operations' buffers may be used again.
func (w *Win) Complete() error {
	return w.sync("Win_complete", syncArgs{target: Undefined}, func(w *Win, _ syncArgs) error { return w.w.Complete() })
}

// Post opens an exposure epoch, in which the members of g access this rank's window; it does not wait.
func (w *Win) Post(g *Group, assert Assert) error {
	return w.sync("Win_post", syncArgs{target: Undefined, assert: assert, group: g}, func(w *Win, a syncArgs) error {
		if err := asserts(a.assert, ModeNoCheck|ModeNoStore|ModeNoPut); err != nil {
			return err
		}
		ranks, err := w.ranksOf(a.group, &w.post)
		if err != nil {
			return err
		}
		return w.w.Post(ranks, osc.Assert(a.assert))
	})
}

// Wait ends the epoch of Post: all members of its group have called Complete, and their operations are done here.
func (w *Win) Wait() error {
	return w.sync("Win_wait", syncArgs{target: Undefined}, func(w *Win, _ syncArgs) error { return w.w.Wait() })
}

// Test is Wait that does not wait; true ends the epoch.
func (w *Win) Test() (bool, error) {
	const op = "Win_test"
	if err := w.usable(op); err != nil {
		return false, err
	}
	if w.c.odd {
		return observed(w.c, op, Undefined, 0, func() (bool, error) { return w.test(op) })
	}
	return w.test(op)
}

func (w *Win) test(op string) (bool, error) {
	over, err := w.w.Test()
	return over, w.outcome(op, err)
}

// onTarget checks the target of a lock or a flush; false: there is nothing to do.
func (w *Win) onTarget(rank int) (bool, error) {
	if rank == ProcNull {
		return false, nil
	}
	if uint(rank) >= uint(w.c.size) {
		return false, w.c.noRank(rank)
	}
	return true, nil
}

// Lock opens an access epoch to one target, without its help (MPI-3.1 §11.5.3). It may wait for who holds a lock that excludes this one. Several targets may
// be locked at once, each once. ProcNull is legal and locks nothing.
func (w *Win) Lock(t LockType, target int, assert Assert) error {
	return w.sync("Win_lock", syncArgs{target: target, assert: assert, lock: t}, func(w *Win, a syncArgs) error {
		if a.lock != LockShared && a.lock != LockExclusive {
			return core.NewError(ErrLockType, "lock type %d; LockShared and LockExclusive are allowed", int(a.lock))
		}
		some, err := w.onTarget(a.target)
		if err == nil {
			err = asserts(a.assert, ModeNoCheck)
		}
		if err != nil || !some {
			return err
		}
		return w.w.Lock(osc.LockType(a.lock), a.target, osc.Assert(a.assert))
	})
}

// Unlock ends the epoch of Lock: its operations are complete, here and at the target.
func (w *Win) Unlock(target int) error {
	return w.sync("Win_unlock", syncArgs{target: target}, func(w *Win, a syncArgs) error {
		if some, err := w.onTarget(a.target); !some {
			return err
		}
		return w.w.Unlock(a.target)
	})
}

// LockAll opens an access epoch to all ranks, with a lock that is shared. It is not collective.
func (w *Win) LockAll(assert Assert) error {
	return w.sync("Win_lock_all", syncArgs{target: Undefined, assert: assert}, func(w *Win, a syncArgs) error {
		if err := asserts(a.assert, ModeNoCheck); err != nil {
			return err
		}
		return w.w.LockAll(osc.Assert(a.assert))
	})
}

// UnlockAll ends the epoch of LockAll.
func (w *Win) UnlockAll() error {
	return w.sync("Win_unlock_all", syncArgs{target: Undefined}, func(w *Win, _ syncArgs) error { return w.w.UnlockAll() })
}

// plain tells that a flush needs nothing but to be carried out: there is no interceptor, and the target is a rank. It is the hottest of these calls.
func (w *Win) plain(target int) bool {
	return w != nil && !w.c.odd && uint(target) < uint(w.c.size) && !w.freed.Load()
}

// Flush completes all operations of this rank to the target, which must be locked, here and there (MPI-3.1 §11.5.4).
func (w *Win) Flush(target int) error {
	if w.plain(target) {
		if err := w.w.Flush(target); err != nil {
			return w.c.fail("Win_flush", err)
		}
		return nil
	}
	return w.sync("Win_flush", syncArgs{target: target}, func(w *Win, a syncArgs) error {
		if some, err := w.onTarget(a.target); !some {
			return err
		}
		return w.w.Flush(a.target)
	})
}

// FlushAll is Flush to all targets.
func (w *Win) FlushAll() error {
	if w.plain(0) {
		if err := w.w.Flush(osc.AllTargets); err != nil {
			return w.c.fail("Win_flush_all", err)
		}
		return nil
	}
	return w.sync("Win_flush_all", syncArgs{target: Undefined}, func(w *Win, _ syncArgs) error { return w.w.Flush(osc.AllTargets) })
}

// FlushLocal completes all operations of this rank to the target here: their buffers may be used again.
func (w *Win) FlushLocal(target int) error {
	if w.plain(target) {
		if err := w.w.FlushLocal(target); err != nil {
			return w.c.fail("Win_flush_local", err)
		}
		return nil
	}
	return w.sync("Win_flush_local", syncArgs{target: target}, func(w *Win, a syncArgs) error {
		if some, err := w.onTarget(a.target); !some {
			return err
		}
		return w.w.FlushLocal(a.target)
	})
}

// FlushLocalAll is FlushLocal to all targets.
func (w *Win) FlushLocalAll() error {
	return w.sync("Win_flush_local_all", syncArgs{target: Undefined}, func(w *Win, _ syncArgs) error { return w.w.FlushLocal(osc.AllTargets) })
}

// Sync makes what others have written to this rank's window visible to its loads, and its stores to them (MPI-3.1 §11.5.4).
func (w *Win) Sync() error {
	return w.sync("Win_sync", syncArgs{target: Undefined}, func(w *Win, _ syncArgs) error { return w.w.Sync() })
}

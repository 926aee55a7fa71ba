package osc

import (
	"slices"
	"sort"
	"sync/atomic"

	"github.com/ompi-go/ompi-go/core"
)

// epochs is the state of a window's epochs at one member (MPI-3.1 §11.5): which access epoch is open and which exposure epoch, since the two
// may be open at once. It refuses what the standard calls erroneous as far as one member can know it, and names what was open. It holds what is open
// and nothing else. The token guards it.
//
// Calls that begin or end an epoch do so in two steps, begin… before the module is called and end… after, between which the token is not held: what
// another goroutine tries meanwhile is refused.
//
// A fence opens epochs only if operations follow it before the next one (§11.5.1). So after a fence access is standing: the first operation opens the
// epoch, which only a fence can end then; until then a lock or a start takes its place.
type epochs struct {
	// What operations and flushes look at first, without the token: whom operations may go to, as far as the last look at the rest has told (a rank,
	// AllTargets, or nobody), and whether flushes are legal. Changed with the token, atomic.
	gate  int64
	locky uint32

	access   access
	exposed  bool   // by Post
	accessIn string // the call that is changing the access side just now, "" none; of locks each has its own
	exposeIn string // likewise the exposure side
	start    []int  // targets of Start, ascending
	post     []int  // origins of Post, ascending
	locks    []lock // ascending by rank
	me       int
}

// access is the kind of access epoch.
type access uint8

const (
	accessNone     access = iota
	accessStanding        // after a fence, no operation yet
	accessFence           // after a fence, with operations
	accessStart
	accessLock // locks of single targets
	accessLockAll
)

// lock is one of Win_lock.
type lock struct {
	rank int
	in   string // the call that is under way: Win_lock or Win_unlock; "": it is held
}

// Names of calls, in errors.
const (
	callFence     = "Win_fence"
	callStart     = "Win_start"
	callComplete  = "Win_complete"
	callPost      = "Win_post"
	callWait      = "Win_wait"
	callTest      = "Win_test"
	callLock      = "Win_lock"
	callUnlock    = "Win_unlock"
	callLockAll   = "Win_lock_all"
	callUnlockAll = "Win_unlock_all"
	callFree      = "Win_free"
)

// nobody is the gate when operations must look at the rest.
const nobody = AllTargets - 1

func (e *epochs) init(me int) { e.me, e.gate = me, nobody }

// lets reports whether an operation on rank is known to be legal. Any goroutine may ask.
func (e *epochs) lets(rank int) bool {
	g := atomic.LoadInt64(&e.gate)
	return g == AllTargets || g == int64(rank)
}

// letsFlush reports whether a flush is. Any goroutine may ask.
func (e *epochs) letsFlush(rank int) bool {
	return atomic.LoadUint32(&e.locky) != 0 && (rank == AllTargets || e.lets(rank))
}

// admit lets operations on rank, or on all, through from now on.
func (e *epochs) admit(rank int) { atomic.StoreInt64(&e.gate, int64(rank)) }

// settle tells flushes how an epoch of locks stands, when a call that changes it is over.
func (e *epochs) settle() {
	v := uint32(0)
	if e.passive() {
		v = 1
	}
	atomic.StoreUint32(&e.locky, v)
}

// operation allows an operation on a target; passive: only locks allow it. The first operation after a fence opens its epoch.
func (e *epochs) operation(rank int, passive bool) *core.Error {
	switch {
	case e.accessIn != "":
		return e.wrong(rank, "%s is under way in another goroutine", e.accessIn)
	case e.access == accessNone:
		return e.wrong(rank, "no access epoch is open")
	case passive && (e.access == accessFence || e.access == accessStanding || e.access == accessStart):
		return e.wrong(rank, "operations with requests need a lock")
	}
	switch e.access {
	case accessStanding:
		e.access = accessFence
		e.admit(AllTargets)
	case accessFence, accessLockAll:
		e.admit(AllTargets)
	case accessStart:
		if _, ok := slices.BinarySearch(e.start, rank); !ok {
			return e.wrong(rank, "the access epoch is for others")
		}
		e.admit(rank)
	case accessLock:
		switch i, ok := e.find(rank); {
		case !ok:
			return e.wrong(rank, "the target is not locked")
		case e.locks[i].in != "":
			return e.wrong(rank, "%s of this target is under way in another goroutine", e.locks[i].in)
		}
		e.admit(rank)
	}
	return nil
}

// passive reports whether the open epoch is one of locks.
func (e *epochs) passive() bool { return e.access == accessLock || e.access == accessLockAll }

// flush allows one of the flush calls, which need a lock of the target, or any for AllTargets (MPI-3.1 §11.5.4).
func (e *epochs) flush(rank int) *core.Error {
	switch {
	case e.accessIn != "":
		return e.wrong(rank, "%s is under way in another goroutine", e.accessIn)
	case !e.passive():
		return e.wrong(rank, "no lock is held")
	case rank == AllTargets || e.access == accessLockAll:
		return nil
	}
	if i, ok := e.find(rank); !ok || e.locks[i].in != "" {
		return e.wrong(rank, "the target is not locked")
	}
	return nil
}

// find gives the place of a lock.
func (e *epochs) find(rank int) (int, bool) {
	i := sort.Search(len(e.locks), func(i int) bool { return e.locks[i].rank >= rank })
	return i, i < len(e.locks) && e.locks[i].rank == rank
}

// shut makes operations and flushes look at everything.
func (e *epochs) shut() {
	atomic.StoreInt64(&e.gate, nobody)
	atomic.StoreUint32(&e.locky, 0)
}

// free allows Win_free: this member's part in the window is over.
func (e *epochs) free() *core.Error {
	switch {
	case e.accessIn != "":
		return e.wrong(AllTargets, "%s is under way in another goroutine", e.accessIn)
	case e.exposeIn != "":
		return e.wrong(AllTargets, "%s is under way in another goroutine", e.exposeIn)
	case e.access == accessFence:
		return e.wrong(AllTargets, "operations have been issued since the last Win_fence; end the epoch with another")
	case e.access > accessFence || e.exposed:
		return e.wrong(AllTargets, "an epoch is open")
	}
	e.shut()
	e.accessIn, e.exposeIn = callFree, callFree
	return nil
}

// stay takes back free: what may follow a fence still may.
func (e *epochs) stay() { e.accessIn, e.exposeIn = "", "" }

// beginFence: a fence ends the epochs of the one before, and no others may be open.
func (e *epochs) beginFence(a Assert) *core.Error {
	if err := e.settled(true); err != nil {
		return err
	}
	switch {
	case e.access > accessFence || e.exposed:
		return e.wrong(AllTargets, "epochs that others than Win_fence have begun must be ended first")
	case a&ModeNoPrecede != 0 && e.access == accessFence:
		return core.NewError(core.ErrAssert, "ModeNoPrecede, but operations have been issued since the last Win_fence")
	}
	e.shut()
	e.access, e.accessIn, e.exposeIn = accessNone, callFence, callFence
	return nil
}

func (e *epochs) endFence(a Assert, ok bool) {
	e.accessIn, e.exposeIn = "", ""
	if ok && a&ModeNoSucceed == 0 {
		e.access = accessStanding
	}
}

// settled refuses calls that would change what another goroutine's call is changing.
func (e *epochs) settled(both bool) *core.Error {
	if e.accessIn != "" {
		return e.wrong(AllTargets, "%s is under way in another goroutine", e.accessIn)
	}
	if both && e.exposeIn != "" {
		return e.wrong(AllTargets, "%s is under way in another goroutine", e.exposeIn)
	}
	return nil
}

// beginAccess is the common part of the calls that open an access epoch.
func (e *epochs) beginAccess() *core.Error {
	if err := e.settled(false); err != nil {
		return err
	}
	switch e.access {
	case accessNone, accessStanding:
		return nil
	case accessFence:
		return e.wrong(AllTargets, "operations have been issued since the last Win_fence; end that epoch with Win_fence(ModeNoSucceed)")
	}
	return e.wrong(AllTargets, "an access epoch is open")
}

func (e *epochs) beginStart(group []int) *core.Error {
	if err := e.beginAccess(); err != nil {
		return err
	}
	e.shut()
	e.access, e.accessIn, e.start = accessNone, callStart, group
	return nil
}

func (e *epochs) endStart(ok bool) {
	e.accessIn = ""
	if ok {
		e.access = accessStart
		if len(e.start) == 1 {
			e.admit(e.start[0])
		}
	} else {
		e.start = nil
	}
}

func (e *epochs) beginComplete() *core.Error {
	if err := e.settled(false); err != nil {
		return err
	}
	if e.access != accessStart {
		return e.wrong(AllTargets, "no Win_start precedes it")
	}
	e.shut()
	e.accessIn = callComplete
	return nil
}

func (e *epochs) endComplete() { e.access, e.accessIn, e.start = accessNone, "", nil }

func (e *epochs) beginPost(group []int) *core.Error {
	switch {
	case e.exposeIn != "":
		return e.wrong(AllTargets, "%s is under way in another goroutine", e.exposeIn)
	case e.exposed:
		return e.wrong(AllTargets, "an exposure epoch is open")
	case e.ownLocked():
		return e.wrong(AllTargets, "this member has locked its own window, which cannot be exposed meanwhile")
	}
	e.exposeIn, e.post = callPost, group
	return nil
}

// ownLocked reports whether this member holds a lock on its own window.
func (e *epochs) ownLocked() bool {
	if e.access == accessLockAll || e.accessIn == callLockAll {
		return true
	}
	_, ok := e.find(e.me)
	return ok
}

func (e *epochs) endPost(ok bool) {
	e.exposeIn, e.exposed = "", ok
	if !ok {
		e.post = nil
	}
}

// beginWait is for Wait and Test.
func (e *epochs) beginWait(call string) *core.Error {
	switch {
	case e.exposeIn != "":
		return e.wrong(AllTargets, "%s is under way in another goroutine", e.exposeIn)
	case !e.exposed:
		return e.wrong(AllTargets, "no Win_post precedes it")
	}
	e.exposeIn = call
	return nil
}

func (e *epochs) endWait(over bool) {
	e.exposeIn = ""
	if over {
		e.exposed, e.post = false, nil
	}
}

func (e *epochs) beginLock(rank int) *core.Error {
	if e.access != accessLock {
		if err := e.beginAccess(); err != nil {
			return err
		}
	} else if e.accessIn != "" {
		return e.wrong(rank, "%s is under way in another goroutine", e.accessIn)
	}
	if rank == e.me && (e.exposed || e.exposeIn != "") {
		return e.wrong(rank, "this member's window is exposed, and cannot be locked by itself meanwhile")
	}
	i, ok := e.find(rank)
	if ok {
		return e.wrong(rank, "the target is locked already")
	}
	e.shut()
	e.access = accessLock
	e.locks = slices.Insert(e.locks, i, lock{rank: rank, in: callLock})
	return nil
}

func (e *epochs) endLock(rank int, ok bool) {
	i, _ := e.find(rank)
	if ok {
		e.locks[i].in = ""
		e.admit(rank)
	} else {
		e.unlocked(i)
	}
	e.settle()
}

// unlocked takes a lock out.
func (e *epochs) unlocked(i int) {
	e.locks = slices.Delete(e.locks, i, i+1)
	if len(e.locks) == 0 {
		e.access = accessNone
	}
}

func (e *epochs) beginUnlock(rank int) *core.Error {
	i, ok := e.find(rank)
	if !ok {
		return e.wrong(rank, "the target is not locked")
	}
	if in := e.locks[i].in; in != "" {
		return e.wrong(rank, "%s of this target is under way in another goroutine", in)
	}
	e.shut()
	e.locks[i].in = callUnlock
	return nil
}

func (e *epochs) endUnlock(rank int) {
	if i, ok := e.find(rank); ok {
		e.unlocked(i)
	}
	e.settle()
}

func (e *epochs) beginLockAll() *core.Error {
	if err := e.beginAccess(); err != nil {
		return err
	}
	if e.exposed || e.exposeIn != "" {
		return e.wrong(AllTargets, "this member's window is exposed, and cannot be locked by itself meanwhile")
	}
	e.shut()
	e.access, e.accessIn = accessNone, callLockAll
	return nil
}

func (e *epochs) endLockAll(ok bool) {
	e.accessIn = ""
	if ok {
		e.access = accessLockAll
		e.admit(AllTargets)
	}
	e.settle()
}

func (e *epochs) beginUnlockAll() *core.Error {
	if err := e.settled(false); err != nil {
		return err
	}
	if e.access != accessLockAll {
		return e.wrong(AllTargets, "no Win_lock_all precedes it")
	}
	e.shut()
	e.accessIn = callUnlockAll
	return nil
}

func (e *epochs) endUnlockAll() { e.access, e.accessIn = accessNone, "" }

package ompi

import (
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"sync/atomic"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/internal/attr"
	"github.com/ompi-go/ompi-go/osc"
)

// Win is a window: memory of all members of a communicator that each of them can read, write and combine with, without a call of the member whose memory
// it is (MPI-3.1 chapter 11). Operations belong into epochs, which Fence, Start or Lock open; what is outside of them is refused with ErrRMASync, whose
// text names the epochs that are open. All methods may be called from many goroutines, which share the window's epochs.
type Win struct {
	w     *osc.Win
	c     *Comm // the window's own communicator, which programs do not see
	info  *core.Info
	name  atomic.Pointer[string]
	freed atomic.Bool
	attrs attr.Set
	start atomic.Pointer[winGroup] // the groups of the last Start and Post, which are mostly those of the next
	post  atomic.Pointer[winGroup]
}

// WinOption changes how a window is made.
type WinOption func(*winOptions)

type winOptions struct{ info *core.Info }

// WinInfo gives hints for the window (MPI-3.1 §11.2.1): no_locks, accumulate_ordering, accumulate_ops, same_size, same_disp_unit, for shared windows
// alloc_shared_noncontig, and our own ompi_lock_recovery: a lock whose holder has died goes to the next who waits, and survivors go on among themselves. Of
// hints that not all members give, the weaker promise holds. Win.Info tells what is in force.
func WinInfo(info *Info) WinOption {
	return func(o *winOptions) { o.info = info.Dup() }
}

// LockType is the kind of a lock (MPI-3.1 §11.5.3).
type LockType int

// Kinds of locks.
const (
	LockShared    = LockType(osc.LockShared)    // with others who share it
	LockExclusive = LockType(osc.LockExclusive) // alone
)

// Assert is a set of assertions about the use of an epoch (MPI-3.1 §11.5.5), joined by |; 0 is none.
type Assert int

// Assertions, and the calls that take them.
const (
	ModeNoCheck   = Assert(osc.ModeNoCheck)   // Start, Post: the other side has called already; Lock, LockAll: nobody else holds or wants a conflicting lock
	ModeNoStore   = Assert(osc.ModeNoStore)   // Fence, Post: the program has not stored to its window since the last synchronisation
	ModeNoPut     = Assert(osc.ModeNoPut)     // Fence, Post: nobody writes to this member's window until the next synchronisation
	ModeNoPrecede = Assert(osc.ModeNoPrecede) // Fence: no operations precede it, at any member
	ModeNoSucceed = Assert(osc.ModeNoSucceed) // Fence: no operations follow it, at any member
)

const (
	opWinCreate  = "Win_create"
	opWinAlloc   = "Win_allocate"
	opWinShared  = "Win_allocate_shared"
	opWinDynamic = "Win_create_dynamic"
)

// WinCreate makes a window of memory that the program has: base, which must be contiguous, or no memory with the zero Buffer. Target displacements count
// dispUnit bytes. It is collective over c, an intracommunicator; an error of one rank is one of all. The memory must stay untouched by the collector's
// rules alone: the window keeps it alive.
func WinCreate(c *Comm, base Buffer, dispUnit int, opts ...WinOption) (*Win, error) {
	spec := osc.Spec{Flavor: osc.Create, Unit: int64(dispUnit)}
	return c.newWin(opWinCreate, &spec, opts, func() error {
		if err := checkUnit(dispUnit); err != nil {
			return err
		}
		if err := checkMemory(base); err != nil {
			return err
		}
		if spec.Size = base.Bytes(); spec.Size > 0 {
			spec.Memory = core.NewRegion(core.RegionHeap, base.Addr(), spec.Size, nil)
		}
		return nil
	})
}

func checkUnit(unit int) error {
	if unit <= 0 {
		return core.NewError(ErrDisp, "the displacement unit is %d; it is a number of bytes above 0", unit)
	}
	return nil
}

// checkMemory checks a buffer that is to be window memory.
func checkMemory(b Buffer) error {
	if err := checkBuffer(b); err != nil {
		return err
	}
	switch {
	case b.Bytes() == 0:
		return nil
	case b.Addr() == nil:
		return core.NewError(ErrBuffer, "the memory's address is nil")
	case !b.Type().Contiguous():
		return core.NewError(ErrType, "memory of a window is contiguous; give its whole range as bytes")
	}
	return nil
}

// WinAllocate makes a window and its memory, n zeroed elements at this rank, in which operations are fastest (MPI-3.1 §11.2.2). The displacement unit is
// the size of T. The memory is gone after Free: between processes it is not the collector's, and a later use may end the program. T must hold no
// pointers. It is collective, as WinCreate.
func WinAllocate[T any](c *Comm, n int, opts ...WinOption) (*Win, []T, error) {
	return allocateWin[T](c, opWinAlloc, osc.Allocate, n, opts)
}

// WinAllocateShared is WinAllocate of memory that all ranks can load and store, too; SharedQuery gives that of the others. The ranks' parts follow each
// other in the order of ranks, unless all gave the hint alloc_shared_noncontig (MPI-3.1 §11.2.3). ErrRMAShared where the ranks share no memory:
// Comm.SplitType(SplitShared) makes communicators of those that do.
func WinAllocateShared[T any](c *Comm, n int, opts ...WinOption) (*Win, []T, error) {
	return allocateWin[T](c, opWinShared, osc.Shared, n, opts)
}

func allocateWin[T any](c *Comm, op string, f osc.Flavor, n int, opts []WinOption) (*Win, []T, error) {
	spec := osc.Spec{Flavor: f, Unit: max(1, int64(unsafe.Sizeof(*new(T))))}
	w, err := c.newWin(op, &spec, opts, func() error {
		if err := noPointers[T](); err != nil {
			return err
		}
		if n < 0 {
			return core.NewError(ErrArg, "%d elements", n)
		}
		over, size := bits.Mul64(uint64(n), uint64(unsafe.Sizeof(*new(T))))
		if over != 0 || size > 1<<61 {
			return core.NewError(ErrNoMem, "%d elements of %d bytes are more than any machine has", n, unsafe.Sizeof(*new(T)))
		}
		spec.Size = int64(size)
		return nil
	})
	if err != nil || w == nil {
		return nil, nil, err
	}
	if spec.Size == 0 {
		return w, make([]T, n), nil
	}
	return w, unsafe.Slice((*T)(w.w.Memory.Base()), n), nil
}

// WinCreateDynamic makes a window without memory: each rank attaches its own, when it likes (MPI-3.1 §11.2.4). Displacements are addresses, of which Attach
// tells.
func WinCreateDynamic(c *Comm, opts ...WinOption) (*Win, error) {
	return c.newWin(opWinDynamic, &osc.Spec{Flavor: osc.Dynamic, Unit: 1}, opts, func() error { return nil })
}

// newWin makes a window over c. check completes spec, and may refuse; then all members get an error.
func (c *Comm) newWin(op string, spec *osc.Spec, opts []WinOption, check func() error) (*Win, error) {
	if err := c.usable(op); err != nil {
		return nil, err
	}
	if c.IsInter() {
		return nil, c.badArg(op, ErrComm, "windows are made over intracommunicators")
	}
	return observed(c, op, Undefined, 0, func() (*Win, error) {
		var o winOptions
		for _, f := range opts {
			if f != nil {
				f(&o)
			}
		}
		spec.Info = o.info
		wrong := check()
		if wrong == nil {
			_, wrong = osc.ParseHints(o.info)
		}
		w, err := c.makeWin(spec, wrong)
		if wrong != nil {
			err = wrong
		}
		if err != nil {
			return nil, c.fail(op, err)
		}
		return w, nil
	})
}

// makeWin makes the window's own communicator, and on it the window. With a reason not to, all members get an error.
func (c *Comm) makeWin(spec *osc.Spec, wrong error) (*Win, error) {
	own := c.inst.prepare(c.c.Group(), "")
	own.over = c
	ks, err := c.agreeContexts(wrong != nil)
	if err != nil {
		return nil, err
	}
	if err := c.inst.enable(own, ks); err != nil {
		return nil, err
	}
	own.c.SetName(fmt.Sprintf("window %d", own.c.Context()))
	spec.Comm, spec.Coll = own.c, own.coll
	w := &Win{c: own}
	w.name.Store(new(string))
	if w.w, err = osc.New(c.inst.osc, (*upcalls)(c.inst).Say, *spec); err != nil {
		return nil, errors.Join(err, own.letGo())
	}
	w.info = w.w.Info
	own.win = w
	return w, nil
}

// usable is the long check at the entrance of calls that are not hot.
func (w *Win) usable(op string) error {
	if w == nil {
		return &core.Error{Class: ErrWin, Op: op, Peer: Undefined, Index: -1, Err: errors.New("the window is nil")}
	}
	switch {
	case w.c.inst.finalized.Load():
		return w.c.fail(op, core.NewError(ErrOther, "called after Finalize"))
	case w.freed.Load():
		return w.c.fail(op, core.NewError(ErrWin, "it has been freed"))
	}
	return nil
}

// call runs a synchronising call.
func (w *Win) call(op string, peer int, f func() error) error {
	if err := w.usable(op); err != nil {
		return err
	}
	if w.c.odd {
		return w.c.call(op, peer, 0, func() error { return w.outcome(op, f()) })
	}
	return w.outcome(op, f())
}

// outcome completes an error and lets the window's handler decide.
func (w *Win) outcome(op string, err error) error {
	if err == nil {
		return nil
	}
	return w.c.fail(op, err)
}

// Free ends the window, after deleting its attributes, the one set last first (MPI-3.1 §11.2.5). It is collective and waits for all. Every rank must have
// ended its epochs, else it gets ErrRMASync and can still do so while the others wait. Memory of WinAllocate and WinAllocateShared is gone afterwards. A
// window that is not freed ends with Finalize, which says so.
func (w *Win) Free() error {
	const op = "Win_free"
	return w.call(op, Undefined, func() error {
		if err := w.w.Leave(); err != nil {
			return err
		}
		if err := w.attrs.Clear(); err != nil {
			w.w.Stay()
			return callbackError(op, "delete", err)
		}
		w.freed.Store(true)
		err := w.w.Free()
		left := w.c.letGo()
		if err != nil && core.ClassOf(left) == ErrProcFailed {
			return err // the same death again
		}
		return errors.Join(err, left)
	})
}

// leaveWindows says which windows of the given communicators were not freed: their components drop them when they are closed.
func (i *Instance) leaveWindows(comms []*Comm) {
	for _, c := range comms {
		if w := c.win; w != nil && !w.freed.Swap(true) && i.fatal.Load() == nil {
			i.engine.Lock()
			(*upcalls)(i).Say("win-left", fmt.Sprintf("%s was not freed before Finalize; Win.Free is collective, and completes what is under way", w.c.c.Name()))
			i.engine.Unlock()
		}
	}
}

// dropWindows lets go of the memory of windows that were not freed. The token is held.
func (i *Instance) dropWindows(comms []*Comm) error {
	var errs []error
	for _, c := range comms {
		if c.win != nil {
			errs = append(errs, c.win.w.Drop())
		}
	}
	return errors.Join(errs...)
}

// noPointers refuses elements that cannot be window memory.
func noPointers[T any]() error {
	if t := reflect.TypeFor[T](); hasPointers(t) {
		return core.NewError(ErrType, "elements of %v: %w", t, errPointersInside)
	}
	return nil
}

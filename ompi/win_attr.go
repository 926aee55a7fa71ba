package ompi

import (
	"fmt"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/internal/attr"
	"github.com/ompi-go/ompi-go/osc"
)

// Attributes is where w's attributes are kept; a Keyval gets at them.
func (w *Win) Attributes() *attr.Set { return &w.attrs }

// Group is the group of the communicator that the window was made over.
func (w *Win) Group() *Group {
	if w == nil {
		return nil
	}
	return w.c.c.Group()
}

// Name is the window's name, for people: empty until SetName. Errors of one without a name say "window 3", a number that its members agreed on.
func (w *Win) Name() string { return *w.name.Load() }

// SetName names the window.
func (w *Win) SetName(name string) {
	w.name.Store(&name)
	if name == "" {
		name = fmt.Sprintf("window %d", w.c.c.Context())
	}
	w.c.c.SetName(name)
}

// Info gives the hints that are in force, and the other keys that the window was made with, as a copy (MPI-3.1 §11.2.7).
func (w *Win) Info() *Info { return w.info.Dup() }

// SetErrhandler sets the handler of errors on this window; it gets the communicator that the window was made over.
func (w *Win) SetErrhandler(h Errhandler) { w.c.SetErrhandler(h) }

// Attach makes contiguous memory of this rank reachable in a dynamic window, and gives its address, which others need for their targets
// (MPI-3.1 §11.2.4). Pieces that are attached do not overlap: ErrRMAAttach. It is local, and needs no epoch. The window keeps the memory alive.
func (w *Win) Attach(b Buffer) (Address, error) {
	var a Address
	err := w.call("Win_attach", Undefined, func() error {
		if err := checkMemory(b); err != nil {
			return err
		}
		if err := w.w.Attach(b.Addr(), b.Bytes()); err != nil {
			return err
		}
		a = Address(uintptr(b.Addr()))
		return nil
	})
	return a, err
}

// Detach takes back what Attach did for the memory at a; nobody may be accessing it. ErrBase when nothing that is attached begins there.
func (w *Win) Detach(a Address) error {
	return w.call("Win_detach", Undefined, func() error { return w.w.Detach(int64(a)) })
}

// Address names attached memory in a dynamic window; it may be sent to peers, and Address plus a byte offset inside the segment is a Target.Disp.
type Address int64

// SharedQuery gives rank's memory in a window of WinAllocateShared, as elements of T, and rank's displacement unit in bytes (MPI-3.1 §11.2.3). With
// ProcNull, or Undefined, it is that of the lowest rank that has any. Elements that do not fill the memory leave the rest out. The memory is gone after Free.
func SharedQuery[T any](w *Win, rank int) ([]T, int, error) {
	const op = "Win_shared_query"
	var s []T
	var unit int
	err := w.call(op, rank, func() error {
		which := rank
		switch {
		case rank == ProcNull || rank == Undefined:
			which = osc.AllTargets
		case uint(rank) >= uint(w.c.size):
			return w.c.noRank(rank)
		}
		if err := noPointers[T](); err != nil {
			return err
		}
		base, size, u, err := w.w.SharedQuery(which)
		if err != nil {
			return err
		}
		unit = int(u)
		if each := int64(unsafe.Sizeof(*new(T))); each > 0 && size >= each {
			s = unsafe.Slice((*T)(base), size/each)
		}
		return nil
	})
	return s, unit, err
}

// WinFlavor is how a window got its memory (MPI-3.1 §11.2), the value of the attribute WinCreateFlavor.
type WinFlavor int

// Flavors, with the values of the MPI 5.0 ABI.
const (
	WinFlavorCreate   WinFlavor = 311
	WinFlavorAllocate WinFlavor = 312
	WinFlavorDynamic  WinFlavor = 313
	WinFlavorShared   WinFlavor = 314
)

// WinMemoryModel is a memory model (MPI-3.1 §11.4), the value of the attribute WinModel.
type WinMemoryModel int

// Memory models, with the values of the MPI 5.0 ABI. All windows here are unified: there is one copy of their memory.
const (
	WinUnified  WinMemoryModel = 321
	WinSeparate WinMemoryModel = 322
)

// The predefined attributes of windows (MPI-3.1 §11.2.6), which every window has and nobody can set.
var (
	WinBase         = winAttribute(func(w *Win) unsafe.Pointer { return w.base() })
	WinSize         = winAttribute(func(w *Win) int64 { return w.w.Size })
	WinDispUnit     = winAttribute(func(w *Win) int { return int(w.w.Unit) })
	WinCreateFlavor = winAttribute(func(w *Win) WinFlavor {
		return [...]WinFlavor{osc.Create: WinFlavorCreate, osc.Allocate: WinFlavorAllocate, osc.Shared: WinFlavorShared, osc.Dynamic: WinFlavorDynamic}[w.w.Flavor]
	})
	WinModel = winAttribute(func(*Win) WinMemoryModel { return WinUnified })
)

func winAttribute[T any](of func(*Win) T) *Keyval[T] { return &Keyval[T]{fixed: of} }

func (w *Win) base() unsafe.Pointer {
	if r := w.w.Memory; r != nil {
		return r.Base()
	}
	return nil
}

// errFixed is the error of changing a predefined attribute.
func errFixed() error { return core.NewError(ErrKeyval, "a predefined attribute cannot be changed") }

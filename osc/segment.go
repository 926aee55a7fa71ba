package osc

import (
	"errors"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
)

// segments are what is attached to a dynamic window (MPI-3.1 §11.2.4), with the regions that keep it alive. The token guards it.
type segments struct {
	list []*core.Region
}

// Attach makes size bytes at base reachable for the others.
func (w *Win) Attach(base unsafe.Pointer, size int64) error {
	a, ok := w.module.(Attacher)
	if w.Flavor != Dynamic || !ok {
		return core.NewError(core.ErrRMAFlavor, "memory is attached to dynamic windows")
	}
	r := core.NewRegion(core.RegionHeap, base, size, nil)
	if size > 0 {
		if err := a.Attach(r); err != nil {
			return errors.Join(err, r.Unref())
		}
	}
	w.Engine.Lock()
	w.segments.list = append(w.segments.list, r)
	w.Engine.Unlock()
	return nil
}

// Detach takes back what Attach did for the memory that begins at an address: ErrBase when there is none. Nothing is under way to it any more.
func (w *Win) Detach(address int64) error {
	a, ok := w.module.(Attacher)
	if w.Flavor != Dynamic || !ok {
		return core.NewError(core.ErrRMAFlavor, "memory is detached from dynamic windows")
	}
	w.Engine.Lock()
	var r *core.Region
	for i, x := range w.segments.list {
		if int64(uintptr(x.Base())) == address {
			r = x
			w.segments.list = append(w.segments.list[:i], w.segments.list[i+1:]...)
			break
		}
	}
	w.Engine.Unlock()
	if r == nil {
		return core.NewError(core.ErrBase, "nothing that is attached begins at %#x", uint64(address))
	}
	var err error
	if r.Size() > 0 {
		err = a.Detach(r.Base())
	}
	return errors.Join(err, r.Unref())
}

// drop lets go of what is still attached when the window is freed.
func (s *segments) drop() error {
	var errs []error
	for _, r := range s.list {
		errs = append(errs, r.Unref())
	}
	s.list = nil
	return errors.Join(errs...)
}

// SharedQuery gives a member's memory as it is mapped here (MPI-3.1 §11.2.3); of AllTargets, that of the lowest rank which has any.
func (w *Win) SharedQuery(rank int) (base unsafe.Pointer, size, unit int64, err error) {
	s, ok := w.module.(Sharer)
	if w.Flavor != Shared || !ok {
		return nil, 0, 0, core.NewError(core.ErrRMAFlavor, "only windows of WinAllocateShared have memory that others can query")
	}
	if rank == AllTargets {
		for rank = 0; rank < w.Comm.Size(); rank++ {
			if size, unit, err = w.lockedExtent(rank); err != nil || size > 0 {
				break
			}
		}
		if rank == w.Comm.Size() {
			rank = 0
		}
	}
	if err == nil {
		_, unit, err = w.lockedExtent(rank)
	}
	if err == nil {
		base, size, err = s.SharedQuery(rank)
	}
	return base, size, unit, err
}

func (w *Win) lockedExtent(rank int) (size, unit int64, err error) {
	w.Engine.Lock()
	defer w.Engine.Unlock()
	return w.extent(rank)
}

package osc

import (
	"sync/atomic"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// The short way of small operations and Flush on memory of the target that is mapped here (Mapper, Atomic): without the token.

// mapping is a target's memory as it is mapped here.
type mapping struct {
	base  unsafe.Pointer // nil: it is not, or nobody has asked. Atomic; changed with the token, once
	size  int64          // in bytes, for the short way; written before base
	unit  int64
	asked bool // guarded by the token
}

// shortMost is the largest Put and Get of the short way, in bytes; what is larger need not hurry past the module, which may know better.
const shortMost = 512

// short gives the target's memory for an operation of predefined elements on it, and their size in bytes, when everything allows that the caller moves
// them itself; nil when the long way must look.
func (w *Win) short(at *At) (mem unsafe.Pointer, n uintptr) {
	t := at.Type
	if uint(at.Rank) >= uint(len(w.mapped)) || uint64(at.Count)-1 >= shortMost || t.Kind() == datatype.KindNone {
		return nil, 0
	}
	m := &w.mapped[at.Rank]
	base := atomic.LoadPointer(&m.base)
	if base == nil || !w.epochs.lets(at.Rank) || w.Comm.Fault() != nil {
		return nil, 0
	}
	n = uintptr(at.Count * t.Size())
	// What is mapped has fewer than 2^48 bytes, so that nothing here overflows once the displacement is known to be smaller than that.
	if n > shortMost || uint64(at.Disp) > uint64(m.size) || uint64(at.Disp)*uint64(m.unit)+uint64(n) > uint64(m.size) {
		return nil, 0
	}
	return unsafe.Add(base, at.Disp*m.unit), n
}

// unitMost is the largest displacement unit of the short way.
const unitMost = 1 << 10

// ShortAccumulate does an accumulate of predefined elements, which is atomic and complete, and puts into result what was there, unless that is the zero
// Buffer. false: nothing was done, and the long way must look. Any goroutine may call it.
func (w *Win) ShortAccumulate(origin, result core.Buffer, at At, acc *core.Op) bool {
	if w.atomic == nil {
		return false
	}
	var operand unsafe.Pointer
	if acc != core.NoOp {
		if operand = origin.Addr(); operand == nil || origin.Type() != at.Type || origin.Count() != at.Count {
			return false
		}
	}
	mem, _ := w.short(&at)
	return mem != nil && w.atomic.Accumulate(mem, operand, result.Addr(), at.Count, at.Type, acc)
}

// ShortSwap is a compare-and-swap in the same way. The buffers are of one element of at.Type.
func (w *Win) ShortSwap(origin, compare, result core.Buffer, at At) bool {
	if w.atomic == nil {
		return false
	}
	mem, _ := w.short(&at)
	return mem != nil && w.atomic.CompareSwap(mem, compare.Addr(), origin.Addr(), result.Addr(), at.Type)
}

// move copies n bytes.
func move(to, from unsafe.Pointer, n uintptr) {
	if n == 8 {
		*(*uint64)(to) = *(*uint64)(from)
		return
	}
	copy(unsafe.Slice((*byte)(to), n), unsafe.Slice((*byte)(from), n))
}

// localOf gives the target's memory where it is mapped here. The token is held.
func (w *Win) localOf(op *Op) unsafe.Pointer {
	if op.Rank >= len(w.mapped) {
		return nil
	}
	m := &w.mapped[op.Rank]
	if !m.asked {
		base := w.mapper.Mapped(op.Rank)
		if size, unit, err := w.extent(op.Rank); err == nil && !m.asked {
			m.asked = true
			if m.unit = unit; unit <= unitMost {
				m.size = size
			}
			atomic.StorePointer(&m.base, base)
		}
	}
	if m.base == nil {
		return nil
	}
	return unsafe.Add(m.base, op.Off)
}

// shortFlush reports whether a flush has nothing to do but to order memory, which it has done then. What was done at once is complete at its target; what
// is under way must be completed by the module. Now and then it leaves the flush to who makes progress, for programs that wait by flushing.
func (w *Win) shortFlush(rank int) bool {
	return w.mapped != nil && atomic.LoadUint32(&w.underWay) == 0 && w.epochs.letsFlush(rank) && w.Comm.Fault() == nil &&
		atomic.AddUint32(&w.flushes, 1)%pollFlushes != 0 // a full barrier: what this rank has stored is seen by who looks after the call
}

// pollFlushes is how many flushes without anything to do there are to one that makes progress.
const pollFlushes = 64

// track tells flushes whether operations may be under way. The token is held.
func (w *Win) track() {
	v := uint32(0)
	if w.issued != w.complete {
		v = 1
	}
	atomic.StoreUint32(&w.underWay, v)
}

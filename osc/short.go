package osc

import (
	"sync/atomic"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// The short way of Put, Get and Flush on memory of the target that is mapped here (Mapper): without the token and without the module.

// mapping is a target's memory as it is mapped here.
type mapping struct {
	base  unsafe.Pointer // nil: it is not, or nobody has asked. Atomic; changed with the token, once
	asked bool           // guarded by the token
}

// shortMost is the largest Put and Get of the short way, in bytes; what is larger need not hurry past the module, which may know better.
const shortMost = 512

// short gives the target's memory for an operation of predefined elements on it, and their size in bytes, when everything allows that the caller moves
// them itself; nil when the long way must look.
func (w *Win) short(origin *core.Buffer, at *At) (mem unsafe.Pointer, n uintptr) {
	t := at.Type
	if uint(at.Rank) >= uint(len(w.mapped)) || t != origin.Type() || at.Count != origin.Count() || uint64(at.Count)-1 >= shortMost || t.Kind() == datatype.KindNone {
		return nil, 0
	}
	base := atomic.LoadPointer(&w.mapped[at.Rank].base)
	if base == nil || !w.epochs.lets(at.Rank) || w.Comm.Fault() != nil {
		return nil, 0
	}
	size, unit := w.layout.size, w.layout.unit
	if w.layout.table != nil {
		size, unit = w.layout.table[2*at.Rank], w.layout.table[2*at.Rank+1]
	}
	n = uintptr(at.Count * t.Size())
	// Windows are smaller than 2^61 bytes, so that nothing here overflows once the displacement is known to be smaller than that.
	if n > shortMost || uint64(at.Disp) > uint64(size) || unit > unitMost || uint64(at.Disp)*uint64(unit)+uint64(n) > uint64(size) {
		return nil, 0
	}
	return unsafe.Add(base, at.Disp*unit), n
}

// unitMost is the largest displacement unit of the short way.
const unitMost = 1 << 10

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
		m.asked = true
		atomic.StorePointer(&m.base, w.mapper.Mapped(op.Rank))
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

package sm

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
)

// Words that are within reach, because peers are goroutines or their memory is mapped, are changed by the processor's atomic operations, and so
// are atomic even with what the peer does by sync/atomic. Others are not: the kernel copies bytes, no more.

// FetchOp implements btl.Atomics.
func (ep *endpoint) FetchOp(t *btl.Transfer, op btl.AtomicOp, operand uint64) (bool, error) {
	at, err := ep.word(t)
	if err != nil {
		return false, err
	}
	if op > btl.AtomicSwap {
		return false, fmt.Errorf("btl sm: no atomic operation %d", op)
	}
	if t.N == 4 {
		p := (*uint32)(at)
		for {
			old := atomic.LoadUint32(p)
			if atomic.CompareAndSwapUint32(p, old, uint32(combine(op, int64(int32(old)), int64(int32(operand))))) {
				*(*uint32)(t.Local) = old
				return true, nil
			}
		}
	}
	p := (*uint64)(at)
	for {
		old := atomic.LoadUint64(p)
		if atomic.CompareAndSwapUint64(p, old, uint64(combine(op, int64(old), int64(operand)))) {
			*(*uint64)(t.Local) = old
			return true, nil
		}
	}
}

// CompareSwap implements btl.Atomics.
func (ep *endpoint) CompareSwap(t *btl.Transfer, compare, value uint64) (bool, error) {
	at, err := ep.word(t)
	if err != nil {
		return false, err
	}
	if t.N == 4 {
		p := (*uint32)(at)
		for {
			old := atomic.LoadUint32(p)
			if old != uint32(compare) || atomic.CompareAndSwapUint32(p, old, uint32(value)) {
				*(*uint32)(t.Local) = old
				return true, nil
			}
		}
	}
	p := (*uint64)(at)
	for {
		old := atomic.LoadUint64(p)
		if old != compare || atomic.CompareAndSwapUint64(p, old, value) {
			*(*uint64)(t.Local) = old
			return true, nil
		}
	}
}

// combine carries an operation out on integers of any length.
func combine(op btl.AtomicOp, old, operand int64) int64 {
	switch op {
	case btl.AtomicAdd:
		return old + operand
	case btl.AtomicAnd:
		return old & operand
	case btl.AtomicOr:
		return old | operand
	case btl.AtomicXor:
		return old ^ operand
	case btl.AtomicMin:
		return min(old, operand)
	case btl.AtomicMax:
		return max(old, operand)
	}
	return operand
}

// word finds the word of an atomic operation.
func (ep *endpoint) word(t *btl.Transfer) (unsafe.Pointer, error) {
	if t.N != 4 && t.N != 8 {
		return nil, fmt.Errorf("btl sm: an atomic operation on %d bytes; 4 and 8 can be", t.N)
	}
	at, err := ep.source(t)
	switch {
	case err != nil:
		return nil, err
	case at.here == nil:
		return nil, fmt.Errorf("%w: atomic operations on memory of another process that is not mapped", btl.ErrNotSupported)
	case uintptr(at.here)%uintptr(t.N) != 0:
		return nil, fmt.Errorf("btl sm: an atomic operation on %d bytes at %p, which is no multiple of that", t.N, at.here)
	}
	return at.here, nil
}

var _ btl.Atomics = (*endpoint)(nil)

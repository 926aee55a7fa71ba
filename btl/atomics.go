package btl

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
)

// AtomicOp is an operation of Atomics.FetchOp on a word.
type AtomicOp uint8

// Operations. Min and Max take words for signed integers, Add wraps around.
const (
	AtomicAdd AtomicOp = iota
	AtomicAnd
	AtomicOr
	AtomicXor
	AtomicMin
	AtomicMax
	AtomicSwap // the operand takes the word's place
)

// Atomics is an endpoint that changes words of a peer's registered memory. A word has t.N bytes, which is 4 or 8,
// and lies at a multiple of that in memory; t.Local is memory for what it was before. A word's operations are atomic among each other while
// only this BTL's reach it and the peer leaves it alone. The rules of the end are Get's.
type Atomics interface {
	// FetchOp combines the word with the operand's low t.N bytes.
	FetchOp(t *Transfer, op AtomicOp, operand uint64) (done bool, err error)
	// CompareSwap puts value into the place of a word that equals compare.
	CompareSwap(t *Transfer, compare, value uint64) (done bool, err error)
}

// Coherent is an endpoint with Atomics whose operations are atomic with those of sync/atomic, too: the peer's, those of others who have the memory mapped,
// and those of other coherent BTLs.
type Coherent interface {
	Atomics
	Coherent()
}

// Mapper is an endpoint whose peer's registered memory this process can have in its own address space.
type Mapper interface {
	// Map gives the first n bytes of what h names. The memory stays what it is until the region's last user has gone, whatever the peer does. ErrNotSupported: this
	// memory cannot be mapped.
	Map(h MemHandle, n int64) (*core.Region, error)
	// Ring wakes the peer, if it sleeps, to look at what was stored in its memory.
	Ring()
}

// WordOp carries FetchOp out by the processor, on the word of n bytes at word, which another process may be changing likewise; old gets what was there. For BTLs
// that have the word in reach.
func WordOp(word unsafe.Pointer, n int64, op AtomicOp, operand uint64, old unsafe.Pointer) error {
	if err := checkWord(word, n); err != nil {
		return err
	}
	if op > AtomicSwap {
		return fmt.Errorf("no atomic operation %d", op)
	}
	if n == 4 {
		p := (*uint32)(word)
		for {
			was := atomic.LoadUint32(p)
			if atomic.CompareAndSwapUint32(p, was, uint32(op.combine(int64(int32(was)), int64(int32(operand))))) {
				*(*uint32)(old) = was
				return nil
			}
		}
	}
	p := (*uint64)(word)
	switch op {
	case AtomicAdd:
		*(*uint64)(old) = atomic.AddUint64(p, operand) - operand
		return nil
	case AtomicSwap:
		*(*uint64)(old) = atomic.SwapUint64(p, operand)
		return nil
	}
	for {
		was := atomic.LoadUint64(p)
		if atomic.CompareAndSwapUint64(p, was, uint64(op.combine(int64(was), int64(operand)))) {
			*(*uint64)(old) = was
			return nil
		}
	}
}

// WordSwap does that for CompareSwap.
func WordSwap(word unsafe.Pointer, n int64, compare, value uint64, old unsafe.Pointer) error {
	if err := checkWord(word, n); err != nil {
		return err
	}
	if n == 4 {
		p := (*uint32)(word)
		for {
			was := atomic.LoadUint32(p)
			if was != uint32(compare) || atomic.CompareAndSwapUint32(p, was, uint32(value)) {
				*(*uint32)(old) = was
				return nil
			}
		}
	}
	p := (*uint64)(word)
	for {
		was := atomic.LoadUint64(p)
		if was != compare || atomic.CompareAndSwapUint64(p, was, value) {
			*(*uint64)(old) = was
			return nil
		}
	}
}

func checkWord(word unsafe.Pointer, n int64) error {
	if n != 4 && n != 8 {
		return fmt.Errorf("an atomic operation on %d bytes; 4 and 8 can be", n)
	}
	if uintptr(word)%uintptr(n) != 0 {
		return fmt.Errorf("an atomic operation on %d bytes at %p, which is no multiple of that", n, word)
	}
	return nil
}

// combine carries an operation out on integers of any length.
func (op AtomicOp) combine(old, operand int64) int64 {
	switch op {
	case AtomicAdd:
		return old + operand
	case AtomicAnd:
		return old & operand
	case AtomicOr:
		return old | operand
	case AtomicXor:
		return old ^ operand
	case AtomicMin:
		return min(old, operand)
	case AtomicMax:
		return max(old, operand)
	}
	return operand
}

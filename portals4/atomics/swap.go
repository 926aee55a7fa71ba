package atomics

import (
	"sync/atomic"
	"unsafe"
)

// SwapApply is PtlSwap's: SWAP exchanges any number of elements of the target for those of origin. The others are on one datum, whose length
// target, origin and old have: CSWAP_xx stores origin if operand xx target holds, with the operand on the left, and MSWAP stores those bits of
// origin that are set in operand. old gets the target as it was before, in any case. SWAP ignores operand.
func SwapApply(op, typ uint8, target, origin, operand, old []byte) {
	if !Legal(op, typ, true) {
		illegal(op, typ)
	}
	origin, old = origin[:len(target)], old[:len(target)]
	size := Size(typ)
	if op == Swap {
		exchange(size, target, origin, old)
		return
	}
	target, operand = target[:size:size], operand[:size]
	switch typ {
	case Int8:
		swapPlain(op, target, origin, operand, old, integerDecide[int8])
	case Uint8:
		swapPlain(op, target, origin, operand, old, integerDecide[uint8])
	case Int16:
		swapPlain(op, target, origin, operand, old, integerDecide[int16])
	case Uint16:
		swapPlain(op, target, origin, operand, old, integerDecide[uint16])
	case Int32:
		swap32(op, target, origin, operand, old, integerDecide[int32])
	case Uint32:
		swap32(op, target, origin, operand, old, integerDecide[uint32])
	case Int64:
		swap64(op, target, origin, operand, old, integerDecide[int64])
	case Uint64:
		swap64(op, target, origin, operand, old, integerDecide[uint64])
	case Float:
		swap32(op, target, origin, operand, old, orderedDecide[float32])
	case Double:
		swap64(op, target, origin, operand, old, orderedDecide[float64])
	case FloatComplex:
		swap64(op, target, origin, operand, old, numberDecide[complex64])
	case DoubleComplex:
		swapPlain(op, target, origin, operand, old, numberDecide[complex128])
	}
}

// exchange is SWAP, which moves bits and asks for no type.
func exchange(size int, target, origin, old []byte) {
	for i := 0; i < len(target); i += size {
		p, with, was := target[i:i+size], origin[i:], old[i:]
		switch {
		case size == 1:
			p[0], was[0] = with[0], p[0]
		case size == 2:
			now, prior := load[uint16](with), load[uint16](p)
			store(p, now)
			store(was, prior)
		case size == 4 && aligned(&p[0], 4):
			store(was, atomic.SwapUint32((*uint32)(unsafe.Pointer(&p[0])), load[uint32](with)))
		case size == 8 && aligned(&p[0], 8):
			store(was, atomic.SwapUint64((*uint64)(unsafe.Pointer(&p[0])), load[uint64](with)))
		case size == 4:
			now, prior := load[uint32](with), load[uint32](p)
			store(p, now)
			store(was, prior)
		case size == 8:
			now, prior := load[uint64](with), load[uint64](p)
			store(p, now)
			store(was, prior)
		default: // 16 bytes; not as complex numbers, whose loads and stores may change the bits of a NaN
			lo, hi, lo0, hi0 := load[uint64](with), load[uint64](with[8:]), load[uint64](p), load[uint64](p[8:])
			store(p, lo)
			store(p[8:], hi)
			store(was, lo0)
			store(was[8:], hi0)
		}
	}
}

// decide gives what the target becomes; not store: it stays as it is.
type decide[T any] func(op uint8, target, origin, operand T) (now T, store bool)

func swapPlain[T number](op uint8, target, origin, operand, old []byte, f decide[T]) {
	was := load[T](target)
	now, put := f(op, was, load[T](origin), load[T](operand))
	if put {
		store(target, now)
	}
	store(old, was)
}

func swap32[T word32](op uint8, target, origin, operand, old []byte, f decide[T]) {
	if !aligned(&target[0], 4) {
		swapPlain(op, target, origin, operand, old, f)
		return
	}
	p, from, with := (*uint32)(unsafe.Pointer(&target[0])), load[T](origin), load[T](operand)
	for {
		was := atomic.LoadUint32(p)
		now, put := f(op, *(*T)(unsafe.Pointer(&was)), from, with)
		if !put || atomic.CompareAndSwapUint32(p, was, *(*uint32)(unsafe.Pointer(&now))) {
			store(old, was)
			return
		}
	}
}

func swap64[T word64](op uint8, target, origin, operand, old []byte, f decide[T]) {
	if !aligned(&target[0], 8) {
		swapPlain(op, target, origin, operand, old, f)
		return
	}
	p, from, with := (*uint64)(unsafe.Pointer(&target[0])), load[T](origin), load[T](operand)
	for {
		was := atomic.LoadUint64(p)
		now, put := f(op, *(*T)(unsafe.Pointer(&was)), from, with)
		if !put || atomic.CompareAndSwapUint64(p, was, *(*uint64)(unsafe.Pointer(&now))) {
			store(old, was)
			return
		}
	}
}

func numberDecide[T number](op uint8, target, origin, operand T) (T, bool) {
	return origin, (op == CSwap && operand == target) || (op == CSwapNE && operand != target)
}

func orderedDecide[T ordered](op uint8, target, origin, operand T) (T, bool) {
	switch op {
	case CSwapLE:
		return origin, operand <= target
	case CSwapLT:
		return origin, operand < target
	case CSwapGE:
		return origin, operand >= target
	case CSwapGT:
		return origin, operand > target
	}
	return numberDecide(op, target, origin, operand)
}

func integerDecide[T integer](op uint8, target, origin, operand T) (T, bool) {
	if op == MSwap {
		return operand&origin | ^operand&target, true
	}
	return orderedDecide(op, target, origin, operand)
}

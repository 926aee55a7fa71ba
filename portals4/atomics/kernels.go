package atomics

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

type (
	integer interface {
		int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64
	}
	ordered interface{ integer | float32 | float64 }
	number  interface {
		ordered | complex64 | complex128
	}
	word32 interface{ int32 | uint32 | float32 }
	word64 interface {
		int64 | uint64 | float64 | complex64
	}
)

func illegal(op, typ uint8) {
	panic(fmt.Sprintf("atomics: operation %d is not defined on type %d", op, typ))
}

// aligned reports whether data of that size, a power of two, may be loaded from p in one piece.
func aligned(p *byte, size uintptr) bool { return uintptr(unsafe.Pointer(p))&(size-1) == 0 }

// load takes a datum from the beginning of b: in one piece if it is aligned.
func load[T number](b []byte) (x T) {
	n := unsafe.Sizeof(x)
	b = b[:n]
	if aligned(&b[0], unsafe.Alignof(x)) {
		return *(*T)(unsafe.Pointer(&b[0]))
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&x)), n), b)
	return x
}

// store puts a datum at the beginning of b: in one piece if it is aligned.
func store[T number](b []byte, x T) {
	n := unsafe.Sizeof(x)
	b = b[:n]
	if aligned(&b[0], unsafe.Alignof(x)) {
		*(*T)(unsafe.Pointer(&b[0])) = x
		return
	}
	copy(b, unsafe.Slice((*byte)(unsafe.Pointer(&x)), n))
}

// each carries out an operation element by element, by loads and stores. The functions that do so take an element's step as a function of
// values: memory goes to no function that the compiler does not know, and so a caller's buffers need not be on the heap.
func each[T number](op uint8, target, operand, old []byte, step func(op uint8, t, o T) T) {
	for size := int(unsafe.Sizeof(*new(T))); len(target) > 0; {
		was, with := load[T](target), load[T](operand)
		store(target, step(op, was, with))
		if old != nil {
			store(old, was)
			old = old[size:]
		}
		target, operand = target[size:], operand[size:]
	}
}

// each32 is each by compare-and-swap where the target is aligned.
func each32[T word32](op uint8, target, operand, old []byte, step func(op uint8, t, o T) T) {
	if len(target) == 0 || !aligned(&target[0], 4) {
		each(op, target, operand, old, step)
		return
	}
	for i := 0; i < len(target); i += 4 {
		p, with := (*uint32)(unsafe.Pointer(&target[i : i+4][0])), load[T](operand[i:])
		for {
			was := atomic.LoadUint32(p)
			now := step(op, *(*T)(unsafe.Pointer(&was)), with)
			if atomic.CompareAndSwapUint32(p, was, *(*uint32)(unsafe.Pointer(&now))) {
				if old != nil {
					store(old[i:], was)
				}
				break
			}
		}
	}
}

// each64 is each by compare-and-swap where the target is aligned.
func each64[T word64](op uint8, target, operand, old []byte, step func(op uint8, t, o T) T) {
	if len(target) == 0 || !aligned(&target[0], 8) {
		each(op, target, operand, old, step)
		return
	}
	for i := 0; i < len(target); i += 8 {
		p, with := (*uint64)(unsafe.Pointer(&target[i : i+8][0])), load[T](operand[i:])
		for {
			was := atomic.LoadUint64(p)
			now := step(op, *(*T)(unsafe.Pointer(&was)), with)
			if atomic.CompareAndSwapUint64(p, was, *(*uint64)(unsafe.Pointer(&now))) {
				if old != nil {
					store(old[i:], was)
				}
				break
			}
		}
	}
}

// The steps of one element.

func numberStep[T number](op uint8, t, o T) T {
	switch op {
	case Sum:
		return t + o
	case Prod:
		return t * o
	}
	panic("atomics: an operation that is not defined on the type")
}

func orderedStep[T ordered](op uint8, t, o T) T {
	switch op {
	case Sum:
		return t + o
	case Prod:
		return t * o
	case Min:
		if o < t {
			return o
		}
		return t
	case Max:
		if o > t {
			return o
		}
		return t
	}
	panic("atomics: an operation that is not defined on the type")
}

func integerStep[T integer](op uint8, t, o T) T {
	switch op {
	case Lor:
		return truth[T](t != 0 || o != 0)
	case Land:
		return truth[T](t != 0 && o != 0)
	case Lxor:
		return truth[T]((t != 0) != (o != 0))
	case Bor:
		return t | o
	case Band:
		return t & o
	case Bxor:
		return t ^ o
	}
	return orderedStep(op, t, o)
}

func truth[T integer](v bool) T {
	if v {
		return 1
	}
	return 0
}

package elem

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// The operations as loops over memory that nobody else touches, as in package core. They are here once more because a call through core's tables would move the
// words on our stack to the heap.

type (
	integer interface {
		int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
	}
	ordered interface{ integer | float32 | float64 }
	number  interface {
		ordered | complex64 | complex128
	}
)

func indexOf(k datatype.Kind) int64 { return core.PairIndex(k) }

// calc does inout[i] = in[i] op inout[i] for n elements. Both are aligned.
func (c Code) calc(in, inout unsafe.Pointer, n int64) {
	op := c.op()
	switch {
	case op == opNoOp:
		return
	case op == opReplace:
		move(inout, in, n*c.Size())
		return
	case c.Pair():
		c.calcPairs(in, inout, n)
		return
	}
	switch c.kind() {
	case datatype.KindInt8:
		integers[int8](op, in, inout, n)
	case datatype.KindInt16:
		integers[int16](op, in, inout, n)
	case datatype.KindInt32:
		integers[int32](op, in, inout, n)
	case datatype.KindInt64:
		integers[int64](op, in, inout, n)
	case datatype.KindUint8, datatype.KindByte, datatype.KindBool:
		integers[uint8](op, in, inout, n)
	case datatype.KindUint16:
		integers[uint16](op, in, inout, n)
	case datatype.KindUint32:
		integers[uint32](op, in, inout, n)
	case datatype.KindUint64:
		integers[uint64](op, in, inout, n)
	case datatype.KindFloat32:
		ordereds[float32](op, in, inout, n)
	case datatype.KindFloat64:
		ordereds[float64](op, in, inout, n)
	case datatype.KindComplex64:
		numbers[complex64](op, in, inout, n)
	case datatype.KindComplex128:
		numbers[complex128](op, in, inout, n)
	}
}

func (c Code) calcPairs(in, inout unsafe.Pointer, n int64) {
	op := c.op()
	switch c.kind() {
	case datatype.KindInt8:
		locs[int8](op, in, inout, n)
	case datatype.KindInt16:
		locs[int16](op, in, inout, n)
	case datatype.KindInt32:
		locs[int32](op, in, inout, n)
	case datatype.KindInt64:
		locs[int64](op, in, inout, n)
	case datatype.KindUint8:
		locs[uint8](op, in, inout, n)
	case datatype.KindUint16:
		locs[uint16](op, in, inout, n)
	case datatype.KindUint32:
		locs[uint32](op, in, inout, n)
	case datatype.KindUint64:
		locs[uint64](op, in, inout, n)
	case datatype.KindFloat32:
		locs[float32](op, in, inout, n)
	case datatype.KindFloat64:
		locs[float64](op, in, inout, n)
	}
}

// operands gives both sides as slices of one length, which the compiler then knows.
func operands[T any](in, inout unsafe.Pointer, n int64) (a, b []T) {
	a = unsafe.Slice((*T)(in), n)
	return a, unsafe.Slice((*T)(inout), n)[:len(a)]
}

func numbers[T number](op int, in, inout unsafe.Pointer, n int64) {
	a, b := operands[T](in, inout, n)
	switch op {
	case opSum:
		for i, x := range a {
			b[i] = x + b[i]
		}
	case opProd:
		for i, x := range a {
			b[i] = x * b[i]
		}
	}
}

func ordereds[T ordered](op int, in, inout unsafe.Pointer, n int64) {
	a, b := operands[T](in, inout, n)
	switch op {
	case opMax:
		for i, x := range a {
			if x > b[i] {
				b[i] = x
			}
		}
	case opMin:
		for i, x := range a {
			if x < b[i] {
				b[i] = x
			}
		}
	default:
		numbers[T](op, in, inout, n)
	}
}

func integers[T integer](op int, in, inout unsafe.Pointer, n int64) {
	a, b := operands[T](in, inout, n)
	switch op {
	case opLAnd:
		for i, x := range a {
			b[i] = truth[T](x != 0 && b[i] != 0)
		}
	case opLOr:
		for i, x := range a {
			b[i] = truth[T](x != 0 || b[i] != 0)
		}
	case opLXor:
		for i, x := range a {
			b[i] = truth[T]((x != 0) != (b[i] != 0))
		}
	case opBAnd:
		for i, x := range a {
			b[i] &= x
		}
	case opBOr:
		for i, x := range a {
			b[i] |= x
		}
	case opBXor:
		for i, x := range a {
			b[i] ^= x
		}
	default:
		ordereds[T](op, in, inout, n)
	}
}

func truth[T integer](v bool) T {
	if v {
		return 1
	}
	return 0
}

// locs keeps the larger, or smaller, value with its index; of equal values, the smaller index.
func locs[T ordered](op int, in, inout unsafe.Pointer, n int64) {
	a, b := operands[core.Loc[T]](in, inout, n)
	for i := range a {
		x, y := &a[i], &b[i]
		switch {
		case x.Value == y.Value:
			y.Index = min(x.Index, y.Index)
		case op == opMaxLoc && x.Value > y.Value, op == opMinLoc && x.Value < y.Value:
			y.Value, y.Index = x.Value, x.Index
		}
	}
}

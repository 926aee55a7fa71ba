package core

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/datatype"
)

// kernel is the loop of one operation over n elements of one kind: inout[i] = in[i] op inout[i].
type kernel = func(in, inout unsafe.Pointer, n int64)

// kernelTable is indexed by datatype.Kind; nil where the operation is not defined.
type kernelTable [int(datatype.KindBool) + 1]kernel

type (
	signed   interface{ int8 | int16 | int32 | int64 }
	unsigned interface {
		uint8 | uint16 | uint32 | uint64
	}
	integer  interface{ signed | unsigned }
	floating interface{ float32 | float64 }
	ordered  interface{ integer | floating }
	number   interface {
		ordered | complex64 | complex128
	}
)

// operands gives both sides as slices of one length, which the compiler then knows.
func operands[T any](in, inout unsafe.Pointer, n int64) (a, b []T) {
	a = unsafe.Slice((*T)(in), n)
	return a, unsafe.Slice((*T)(inout), n)[:len(a)]
}

func sum[T number](in, inout unsafe.Pointer, n int64) {
	a, b := operands[T](in, inout, n)
	for i, x := range a {
		b[i] = x + b[i]
	}
}

func prod[T number](in, inout unsafe.Pointer, n int64) {
	a, b := operands[T](in, inout, n)
	for i, x := range a {
		b[i] = x * b[i]
	}
}

// Comparisons are Go's own: a NaN on the left stays out, one on the right stays in.
func maximum[T ordered](in, inout unsafe.Pointer, n int64) {
	a, b := operands[T](in, inout, n)
	for i, x := range a {
		if x > b[i] {
			b[i] = x
		}
	}
}

func minimum[T ordered](in, inout unsafe.Pointer, n int64) {
	a, b := operands[T](in, inout, n)
	for i, x := range a {
		if x < b[i] {
			b[i] = x
		}
	}
}

// Logical operations take anything but 0 for true and give 1 or 0.
func truth[T integer](v bool) T {
	if v {
		return 1
	}
	return 0
}

func logicalAnd[T integer](in, inout unsafe.Pointer, n int64) {
	a, b := operands[T](in, inout, n)
	for i, x := range a {
		b[i] = truth[T](x != 0 && b[i] != 0)
	}
}

func logicalOr[T integer](in, inout unsafe.Pointer, n int64) {
	a, b := operands[T](in, inout, n)
	for i, x := range a {
		b[i] = truth[T](x != 0 || b[i] != 0)
	}
}

func logicalXor[T integer](in, inout unsafe.Pointer, n int64) {
	a, b := operands[T](in, inout, n)
	for i, x := range a {
		b[i] = truth[T]((x != 0) != (b[i] != 0))
	}
}

func bitAnd[T integer](in, inout unsafe.Pointer, n int64) {
	a, b := operands[T](in, inout, n)
	for i, x := range a {
		b[i] &= x
	}
}

func bitOr[T integer](in, inout unsafe.Pointer, n int64) {
	a, b := operands[T](in, inout, n)
	for i, x := range a {
		b[i] |= x
	}
}

func bitXor[T integer](in, inout unsafe.Pointer, n int64) {
	a, b := operands[T](in, inout, n)
	for i, x := range a {
		b[i] ^= x
	}
}

func replace[T any](in, inout unsafe.Pointer, n int64) {
	a, b := operands[T](in, inout, n)
	copy(b, a)
}

func leave(in, inout unsafe.Pointer, n int64) {}

// maxLoc keeps the larger value with its index; of equal values, the smaller index.
func maxLoc[T ordered](in, inout unsafe.Pointer, n int64) {
	a, b := operands[Loc[T]](in, inout, n)
	for i := range a {
		x, y := &a[i], &b[i]
		switch {
		case x.Value > y.Value:
			y.Value, y.Index = x.Value, x.Index
		case x.Value == y.Value:
			y.Index = min(x.Index, y.Index)
		}
	}
}

// minLoc keeps the smaller value with its index; of equal values, the smaller index.
func minLoc[T ordered](in, inout unsafe.Pointer, n int64) {
	a, b := operands[Loc[T]](in, inout, n)
	for i := range a {
		x, y := &a[i], &b[i]
		switch {
		case x.Value < y.Value:
			y.Value, y.Index = x.Value, x.Index
		case x.Value == y.Value:
			y.Index = min(x.Index, y.Index)
		}
	}
}

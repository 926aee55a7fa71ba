package osctest

import (
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// shape is a datatype and, found by other means, where its elements lie: what the models go by.
type shape struct {
	name   string
	typ    *datatype.Type
	elem   int64   // size of an element in bytes
	offs   []int64 // of the elements of one item, in the order of its type map
	extent int64
}

// span is the range of bytes that count items touch.
func (s *shape) span(count int) (lo, hi int64) {
	for i := range count {
		for _, o := range s.offs {
			o += int64(i) * s.extent
			lo, hi = min(lo, o), max(hi, o+s.elem)
		}
	}
	return lo, hi
}

// gather packs count items that begin at mem[at].
func (s *shape) gather(mem []byte, at int64, count int) []byte {
	var out []byte
	for i := range count {
		for _, o := range s.offs {
			o += at + int64(i)*s.extent
			out = append(out, mem[o:o+s.elem]...)
		}
	}
	return out
}

// scatter is its reverse.
func (s *shape) scatter(mem []byte, at int64, count int, packed []byte) {
	for i := range count {
		for _, o := range s.offs {
			o += at + int64(i)*s.extent
			copy(mem[o:o+s.elem], packed)
			packed = packed[s.elem:]
		}
	}
}

// shapes are layouts of elements of type e, of size n. The number of elements of each divides 12.
func shapes(e *datatype.Type, n int64) []*shape {
	mk := func(t *datatype.Type, err error) *datatype.Type {
		ok(err)
		ok(t.Commit())
		return t
	}
	mul := func(offs ...int64) []int64 {
		for k := range offs {
			offs[k] *= n
		}
		return offs
	}
	return []*shape{
		{"single", e, n, mul(0), n},
		{"contiguous", mk(datatype.Contiguous(3, e)), n, mul(0, 1, 2), 3 * n},
		{"vector", mk(datatype.Vector(2, 3, 5, e)), n, mul(0, 1, 2, 5, 6, 7), 8 * n},
		{"indexed backwards", mk(datatype.Indexed([]int{2, 1, 1}, []int{5, 0, 2}, e)), n, mul(5, 6, 0, 2), 7 * n},
		{"negative", mk(datatype.HIndexed([]int{1, 2}, []int64{-3 * n, n}, e)), n, mul(-3, 1, 2), 6 * n},
		{"resized", mk(datatype.Resized(mk(datatype.Vector(2, 1, 2, e)), -n, 5*n)), n, mul(0, 2), 5 * n},
		{"nested", mk(datatype.Vector(2, 1, 2, mk(datatype.Contiguous(3, e)))), n, mul(0, 1, 2, 6, 7, 8), 9 * n},
		{"downwards", mk(datatype.HVector(3, 1, -2*n, e)), n, mul(0, -2, -4), 5 * n},
		{"struct", mk(datatype.Struct([]int{1, 2}, []int64{2 * n, 4 * n}, []*datatype.Type{e, e})), n, mul(2, 4, 5), 4 * n},
	}
}

// again is an item that begins where the one before began: for buffers that are only read.
func again(e *datatype.Type, n int64) *shape {
	t, err := datatype.Resized(e, 0, 0)
	ok(err)
	ok(t.Commit())
	return &shape{"over and over", t, n, []int64{0}, 0}
}

func typeOf[T any]() *datatype.Type {
	t, err := datatype.For[T]()
	ok(err)
	return t
}

// reduce does window[i] = operand[i] op window[i] for packed elements of type e.
func reduce(op *ompi.Op, window, operand []byte, e *datatype.Type) {
	switch op {
	case ompi.NoOp:
	case ompi.Replace:
		copy(window, operand)
	default:
		n := len(window) / int(e.Size())
		ok(ompi.ReduceLocal(ompi.Typed(operand, n, e), ompi.Typed(window, n, e), op))
	}
}

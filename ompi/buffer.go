package ompi

import (
	"fmt"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// Slice is the elements of s, of type datatype.For[T]. A nil slice is a typed zero count.
func Slice[T any](s []T) Buffer {
	t, err := datatype.For[T]()
	if err != nil {
		return core.BadBuffer(err)
	}
	return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(s)), int64(len(s)), t)
}

// Value is the one element that p points to.
func Value[T any](p *T) Buffer {
	t, err := datatype.For[T]()
	if err != nil {
		return core.BadBuffer(err)
	}
	if p == nil {
		return core.BadBuffer(core.NewError(ErrBuffer, "Value of a nil pointer"))
	}
	return core.MakeBuffer(unsafe.Pointer(p), 1, t)
}

// Typed is count elements of type t laid over s; what they touch must lie inside s, else the call that uses the buffer fails with
// ErrArg.
func Typed[T any](s []T, count int, t *datatype.Type) Buffer { return TypedAt(s, 0, count, t) }

// TypedAt is Typed with the elements' displacements counted from s[offset].
func TypedAt[T any](s []T, offset, count int, t *datatype.Type) Buffer {
	if t == nil {
		return core.BadBuffer(core.NewError(ErrType, "the datatype is nil"))
	}
	if count < 0 {
		return core.BadBuffer(core.NewError(ErrCount, "count %d is negative", count))
	}
	if offset < 0 || offset > len(s) {
		return core.BadBuffer(core.NewError(ErrArg, "offset %d outside a slice of %d elements", offset, len(s)))
	}
	if _, err := datatype.For[T](); err != nil {
		return core.BadBuffer(err)
	}
	lo, hi, err := t.Span(int64(count))
	if err != nil {
		return core.BadBuffer(err)
	}
	size := int64(unsafe.Sizeof(*new(T)))
	start := int64(offset) * size
	if hi > lo && (start+lo < 0 || start+hi > int64(len(s))*size) {
		return core.BadBuffer(core.NewError(ErrArg, "%d elements of %s touch bytes [%d,%d) of a slice of %d bytes", count, typeName(t), start+lo, start+hi, int64(len(s))*size))
	}
	if offset == len(s) {
		// An address behind the end of the memory is one into other memory, for the garbage collector.
		if hi <= lo {
			start = 0
		} else if t, err = shifted(t, size); err != nil {
			return core.BadBuffer(err)
		} else {
			start -= size
		}
	}
	return core.MakeBuffer(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), start), int64(count), t)
}

// shifted is t with all its displacements larger by some bytes.
func shifted(t *datatype.Type, by int64) (*datatype.Type, error) {
	s, err := datatype.HIndexed([]int{1}, []int64{by}, t)
	if err != nil {
		return nil, err
	}
	lb, extent := t.Extent()
	return datatype.Resized(s, lb+by, extent)
}

func typeName(t *datatype.Type) string {
	if n := t.Name(); n != "" {
		return n
	}
	return fmt.Sprintf("a type of %d bytes", t.Size())
}

// Raw is count elements of type t at a foreign address, such as C memory; a nil address means that the type holds absolute
// displacements. The memory must not be on a goroutine's stack, and stays the caller's to keep alive and unmoved.
func Raw(addr unsafe.Pointer, count int64, t *datatype.Type) Buffer {
	if t == nil {
		return core.BadBuffer(core.NewError(ErrType, "the datatype is nil"))
	}
	if count < 0 {
		return core.BadBuffer(core.NewError(ErrCount, "count %d is negative", count))
	}
	if _, _, err := t.Span(count); err != nil {
		return core.BadBuffer(err)
	}
	return core.MakeBuffer(addr, count, t)
}

// InPlace is MPI_IN_PLACE: the other buffer of a collective holds the input, too.
func InPlace() Buffer { return core.InPlaceBuffer() }

// NewOp makes a reduction operation of T from f, which combines in into inout element by element: inout[i] = in[i] op inout[i]. It
// must be associative; commutative says whether operands may be swapped (MPI-3.1 §5.9.5).
func NewOp[T any](commutative bool, f func(in, inout []T)) *Op { return core.NewOp(commutative, f) }

// NewRawOp makes a reduction operation over n elements of any type at two addresses. f may run on any goroutine, while one is
// inside an MPI call of this instance.
func NewRawOp(commutative bool, f func(in, inout unsafe.Pointer, n int, t *datatype.Type)) *Op {
	return core.NewRawOp(commutative, f)
}

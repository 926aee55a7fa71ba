package datatype

import (
	"sync"
	"sync/atomic"

	"github.com/ompi-go/ompi-go/internal/attr"
)

// Type is an MPI datatype. The zero value is not a type: use [For], a predefined type or a constructor.
type Type struct {
	layout
	kind     Kind // of a predefined type
	combiner Combiner
	goArray  bool  // derived by For from a Go array
	of       *Type // of a type made by Stream: what is packed in the bytes

	// How the type was made, in the standard's order (MPI-3.1 section 4.1.13). Commit compiles from these, too, so they
	// cannot disagree with what is sent.
	integers  []int
	addresses []int64
	types     []*Type

	// made: the same type spelled with simpler constructors (subarrays, distributed arrays), what Commit compiles.
	made *Type

	name  atomic.Pointer[string]
	attrs attr.Set
	fault error // a copy callback refused when t was duplicated; set before anybody else knows t

	// What Commit compiles; nil until then. mu lets one of several committing goroutines do the work.
	mu   sync.Mutex
	prog atomic.Pointer[program]
	// As prog's body, but with runs that never join elements of different kinds; compiled when first needed.
	typed atomic.Pointer[body]
	// What Stream made.
	stream atomic.Pointer[Type]
}

// Commit prepares t for communication. It may be called again and from several goroutines; communication commits a type that
// was not.
func (t *Type) Commit() error {
	if t == nil {
		return errType("commit: the type is nil")
	}
	if t.fault != nil {
		return t.fault
	}
	t.program()
	return nil
}

// Committed tells whether Commit, or a use that includes it, has happened.
func (t *Type) Committed() bool { return t.prog.Load() != nil }

// Size is the number of bytes of data in one item, gaps not counted (MPI_Type_size).
func (t *Type) Size() int64 { return t.size }

// Extent gives the lower bound and the extent in bytes (MPI_Type_get_extent): items follow each other one extent apart.
func (t *Type) Extent() (lb, extent int64) { return t.lb, t.extent() }

// TrueExtent is Extent of the data alone, whatever Resized says (MPI_Type_get_true_extent).
func (t *Type) TrueExtent() (lb, extent int64) { return t.trueLB, t.trueUB - t.trueLB }

// Kind is the predefined element that t is, KindNone for a derived type, a duplicate included.
func (t *Type) Kind() Kind { return t.kind }

// GoArray tells a type that For has derived from a Go array, which in Go is as plain a type as its elements'.
func (t *Type) GoArray() bool { return t.goArray }

// Homogeneous gives the kind of all elements of t, false when they differ or when there are none. An item then has
// Size()/kind.Size() elements.
func (t *Type) Homogeneous() (Kind, bool) { return t.uniform, t.uniform != KindNone }

// Elements is the number of predefined elements in one item.
func (t *Type) Elements() int64 { return t.elems }

// Contiguous tells whether count items at an address are the count*Size() bytes from that address on, in order, without gaps,
// for every count. It commits t.
func (t *Type) Contiguous() bool { return t.program().contiguous }

// Name is MPI's name of a predefined type, the Go type's for one made by For, else what SetName gave (MPI_Type_get_name).
func (t *Type) Name() string {
	if p := t.name.Load(); p != nil {
		return *p
	}
	return ""
}

// SetName names t in messages and traces (MPI_Type_set_name). It touches all holders of t; For gives every caller the same one.
func (t *Type) SetName(name string) { t.name.Store(&name) }

// PackedSize is the size in bytes of count packed items. The error is of class MPI_ERR_COUNT: count is negative or the size
// exceeds 64 bits.
func (t *Type) PackedSize(count int64) (int64, error) {
	if t.fault != nil {
		return 0, t.fault
	}
	if count < 0 {
		return 0, errCount("count %d is negative", count)
	}
	var c calc
	n := c.mul(count, t.size)
	if c.overflow {
		return 0, errCount("%d items of %d bytes exceed 64 bits", count, t.size)
	}
	return n, nil
}

// Span gives the bytes that count items touch: from lo up to, not including, hi, relative to the buffer's address; 0, 0 when
// they have no data. Errors are as those of PackedSize.
func (t *Type) Span(count int64) (lo, hi int64, err error) {
	if _, err := t.PackedSize(count); err != nil {
		return 0, 0, err
	}
	if count == 0 || t.elems == 0 {
		return 0, 0, nil
	}
	var c calc
	reach := c.mul(count-1, t.extent())
	lo, hi = c.add(t.trueLB, min(reach, 0)), c.add(t.trueUB, max(reach, 0))
	if c.overflow {
		return 0, 0, errCount("%d items %d bytes apart exceed 64 bits", count, t.extent())
	}
	return lo, hi, nil
}

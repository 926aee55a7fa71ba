package core

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/datatype"
)

// Op is a reduction operation (MPI-3.1 §5.9). It never changes once made, so one value serves every communicator and
// goroutine.
type Op struct {
	name        string
	commutative bool
	rma         bool         // only for accumulates: no reduction (Replace, NoOp)
	table       *kernelTable // predefined operations on predefined types, by kind; nil for user operations
	pairs       *kernelTable // MaxLoc and MinLoc, by the kind of the value
	user        *userOp
}

// Name is MPI's name of a predefined operation.
func (o *Op) Name() string { return o.name }

// Commutative reports whether operands may change places. All predefined reductions are; Replace and
// NoOp are not.
func (o *Op) Commutative() bool { return o.commutative }

// Predefined reports whether o is one of the operations of this package.
func (o *Op) Predefined() bool { return o.user == nil }

// Check says whether o may reduce elements of type t: ErrOp for a predefined operation on a type for which the standard does not
// list it (MPI-3.1 §5.9.2), derived types included, and for a user operation on elements of another size or kind than its own;
// ErrType when t is nil or a user operation's own type cannot be sent at all.
//
// Two things count as predefined types that MPI in C does not have: the type of a Go array, which is its elements, and the pair
// types made from Loc.
func (o *Op) Check(t *datatype.Type) error {
	switch {
	case o == nil:
		return NewError(ErrOp, "the operation is nil")
	case t == nil:
		return NewError(ErrType, "%s needs a datatype", o.name)
	case o.user != nil:
		return o.user.check(t)
	case o.rma:
		return NewError(ErrOp, "%s is for accumulating into windows; it cannot reduce", o.name)
	}
	if f, _ := o.resolve(t); f == nil {
		return o.illegal(t)
	}
	return nil
}

// CheckAccumulate says whether o may be applied to a window's elements of type t: ErrOp unless o is predefined and t is a
// predefined type, or one derived from a single predefined type, for which o is legal (MPI-3.1 §11.3.4). Apply serves only what
// Check allows; other types are walked by the caller, who applies Kernel to each run of elements.
func (o *Op) CheckAccumulate(t *datatype.Type) error {
	switch {
	case o == nil:
		return NewError(ErrOp, "the operation is nil")
	case t == nil:
		return NewError(ErrType, "%s needs a datatype", o.name)
	case o.user != nil:
		return NewError(ErrOp, "%s cannot accumulate; use a predefined operation", o.name)
	}
	if o.pairs != nil {
		if f, _ := o.resolve(t); f == nil {
			return o.undefined(t)
		}
		return nil
	}
	if o.rma {
		return nil // moves or leaves data, whatever it is
	}
	if k, ok := t.Homogeneous(); !ok || o.table[k] == nil {
		return o.undefined(t)
	}
	return nil
}

func (o *Op) illegal(t *datatype.Type) error {
	return NewError(ErrOp, "%s is not defined on %s; make an operation of your own for it", o.name, titleOf(t))
}

// undefined is illegal for accumulates, which take no operation of the program's own.
func (o *Op) undefined(t *datatype.Type) error {
	return NewError(ErrOp, "%s is not defined on %s", o.name, titleOf(t))
}

func titleOf(t *datatype.Type) string {
	if name := t.Name(); name != "" {
		return name
	}
	return "a derived type"
}

// Kernel is the loop of a predefined operation over elements of kind k: inout[i] = in[i] op inout[i] for n elements. It is nil
// where the operation is not defined and for user operations.
func (o *Op) Kernel(k datatype.Kind) func(in, inout unsafe.Pointer, n int64) {
	if o.table == nil || int(k) >= len(o.table) {
		return nil
	}
	return o.table[k]
}

// Apply computes inout[i] = in[i] op inout[i] for n elements of type t, of which Check has approved. The two do not overlap; in
// holds the operands of the lower ranks. It panics on a type that Check refuses.
func (o *Op) Apply(in, inout unsafe.Pointer, n int64, t *datatype.Type) {
	if n <= 0 {
		return
	}
	if o.user != nil {
		o.user.call(in, inout, int(n), t)
		return
	}
	f, per := o.resolve(t)
	if f == nil {
		panic("core: " + o.name + " applied to a type on which it is not defined")
	}
	f(in, inout, n*per)
}

// resolve gives the loop for t and how many of the loop's elements one element of t has; nil where o is not defined.
func (o *Op) resolve(t *datatype.Type) (f kernel, per int64) {
	if k := t.Kind(); k != datatype.KindNone {
		if o.table == nil {
			return nil, 0
		}
		return o.table[k], 1
	}
	if o.pairs != nil {
		return o.pairs[pairKind(t)], 1
	}
	if o.table != nil && isGoArray(t) {
		k, _ := t.Homogeneous()
		return o.table[k], t.Elements()
	}
	return nil, 0
}

// isGoArray tells the type that datatype.For derives from a Go array, such as [3]float64, from one made by hand. Its elements have
// one kind and leave no gaps.
func isGoArray(t *datatype.Type) bool {
	_, ok := t.Homogeneous()
	return ok && t.GoArray() && t.Contiguous()
}

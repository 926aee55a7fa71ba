package core

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/datatype"
)

// userOp is what a program's own operation does (MPI_Op_create, MPI-3.1 §5.9.5).
type userOp struct {
	call func(in, inout unsafe.Pointer, n int, t *datatype.Type)

	// Typed operations only: the type of the Go elements f works on, or why there is none, and its size in memory.
	typed bool
	elem  *datatype.Type
	err   error
	size  int64
}

const (
	typedName = "a user operation"
	rawName   = "a raw user operation"
)

// NewOp makes an operation from a function that computes inout[i] = in[i] op inout[i]. It must be associative; unless it is
// declared commutative, it is applied in the order of the ranks. It is legal on the datatype of T and on others with the same
// memory; the first use on another type, or with a T that holds pointers, returns an error. f may run on several goroutines at
// a time and must not communicate.
func NewOp[T any](commutative bool, f func(in, inout []T)) *Op {
	var v T
	u := &userOp{typed: true, size: int64(unsafe.Sizeof(v))}
	u.elem, u.err = datatype.For[T]()
	if f == nil {
		u.err = NewError(ErrArg, "the operation's function is nil")
	} else if u.err != nil {
		u.err = &Error{Class: ErrType, Peer: Undefined, Index: -1, Err: u.err}
	}
	u.call = func(in, inout unsafe.Pointer, n int, _ *datatype.Type) {
		f(unsafe.Slice((*T)(in), n), unsafe.Slice((*T)(inout), n))
	}
	return &Op{name: typedName, commutative: commutative, user: u}
}

// NewRawOp makes an operation from a function over memory: for each of n elements of t, one extent apart, inout = in op inout.
// It is legal on every type. The rules of NewOp hold.
func NewRawOp(commutative bool, f func(in, inout unsafe.Pointer, n int, t *datatype.Type)) *Op {
	u := &userOp{call: f}
	if f == nil {
		u.err = NewError(ErrArg, "the operation's function is nil")
	}
	return &Op{name: rawName, commutative: commutative, user: u}
}

func (u *userOp) check(t *datatype.Type) error {
	if u.err != nil {
		return u.err
	}
	if !u.typed || t == u.elem {
		return nil
	}
	// Another type will do when an element of it is a T in memory, as far as one can tell: it begins where a T begins, is as
	// large, holds as much data, and where one is all of a kind the other is of that kind.
	lb, extent := t.Extent()
	have, want := kindOf(t), kindOf(u.elem)
	if lb != 0 || extent != u.size || t.Size() != u.elem.Size() || have != want {
		return NewError(ErrOp, "the operation works on elements of %s (%d bytes), the buffer's are %s (%d bytes)",
			u.elem.Name(), u.size, displayName(t), extent)
	}
	return nil
}

// kindOf is the kind of all elements of t, with the two names for a byte made one.
func kindOf(t *datatype.Type) datatype.Kind {
	k, _ := t.Homogeneous()
	if k == datatype.KindByte {
		return datatype.KindUint8
	}
	return k
}

func displayName(t *datatype.Type) string {
	if s := t.Name(); s != "" {
		return s
	}
	return "of a derived type"
}

package ompi

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/osc"
)

// The checks of one-sided operations' arguments: what can be said without a look at epochs and windows.

// check looks at an operation's arguments and gives the target as the floor below wants it. An origin that has no meaning is made empty.
func (w *Win) check(name string, kind osc.OpKind, origin *Buffer, compare, result Buffer, at Target, op *Op) (osc.At, error) {
	if at.Rank != ProcNull && uint(at.Rank) >= uint(w.c.size) {
		return osc.At{}, w.c.noRank(at.Rank)
	}
	if kind == osc.GetAccumulate && op == NoOp {
		*origin = Buffer{}
	}
	for _, b := range [...]Buffer{*origin, compare, result} {
		if err := checkBuffer(b); err != nil {
			return osc.At{}, err
		}
	}
	local := *origin // what decides about type and count
	if kind == osc.GetAccumulate {
		local = result
	}
	t, err := target(local, at)
	if err != nil {
		return osc.At{}, err
	}
	if err := checkSides(*origin, compare, result, kind, op, t); err != nil {
		return osc.At{}, err
	}
	switch name {
	case "Fetch_and_op":
		err = checkOne(t, "Fetch_and_op", t.Type == nil || t.Type.Kind() != datatype.KindNone || core.MaxLoc.CheckAccumulate(t.Type) == nil)
	case "Compare_and_swap":
		err = checkOne(t, "Compare_and_swap", t.Type == nil || swappable(t.Type.Kind()))
	}
	return t, err
}

// target completes a target by what the local buffer says.
func target(local Buffer, at Target) (osc.At, error) {
	t := osc.At{Rank: at.Rank, Disp: at.Disp, Count: int64(at.Count), Type: at.Type}
	if at.Count < 0 {
		return t, core.NewError(ErrCount, "the target count is %d", at.Count)
	}
	if t.Type == nil {
		t.Type = local.Type()
		if at.Count == 0 {
			t.Count = local.Count()
		}
	}
	if t.Type == nil {
		if t.Count != 0 {
			return t, core.NewError(ErrType, "neither the buffer nor the target has a datatype")
		}
		t.Type = datatype.Byte // nothing, of whatever type
	}
	if err := t.Type.Commit(); err != nil {
		return t, err
	}
	return t, nil
}

// checkSides compares the buffers here with what is touched at the target: as many bytes, of the same kind.
func checkSides(origin, compare, result Buffer, kind osc.OpKind, op *Op, t osc.At) error {
	if kind == osc.Accumulate || kind == osc.GetAccumulate {
		if err := op.CheckAccumulate(t.Type); err != nil {
			return err
		}
		if op == NoOp && kind == osc.Accumulate {
			return core.NewError(ErrOp, "MPI_NO_OP is for operations that fetch")
		}
		if _, ok := t.Type.Homogeneous(); !ok && t.Type.Elements() > 0 && core.MaxLoc.CheckAccumulate(t.Type) != nil {
			return core.NewError(ErrType, "the target's type has elements of different kinds; accumulates take one predefined type")
		}
	}
	if op != NoOp || kind != osc.GetAccumulate {
		if err := fits("origin", origin, t); err != nil {
			return err
		}
	}
	if kind == osc.GetAccumulate || kind == osc.CompareAndSwap {
		if err := fits("result", result, t); err != nil {
			return err
		}
	}
	switch op {
	case MaxLoc, MinLoc, Replace, NoOp:
		if err := pairs("origin", origin, t); err != nil {
			return err
		}
		if err := pairs("result", result, t); err != nil {
			return err
		}
	}
	if kind == osc.CompareAndSwap {
		return fits("compare", compare, t)
	}
	return nil
}

// fits compares a buffer with the target.
func fits(which string, b Buffer, t osc.At) error {
	if b.Type() == t.Type && b.Count() == t.Count {
		return noNil(which, b)
	}
	n, err := t.Type.PackedSize(t.Count)
	if err != nil {
		return err
	}
	if b.Bytes() != n {
		return core.NewError(ErrType, "the %s buffer has %d bytes, the target %d", which, b.Bytes(), n)
	}
	if n == 0 {
		return nil
	}
	mine, one := b.Type().Homogeneous()
	theirs, other := t.Type.Homogeneous()
	if one && other && opaque(mine) != opaque(theirs) {
		return core.NewError(ErrType, "the %s buffer has elements of %v, the target of %v", which, mine, theirs)
	}
	return noNil(which, b)
}

// pairs compares a buffer with pairs at the target, which are taken from where Loc has its parts: the buffer has them there, too.
func pairs(which string, b Buffer, t osc.At) error {
	k := core.PairKind(t.Type)
	if k == datatype.KindNone || b.Bytes() == 0 || b.Type() == t.Type || core.PairKind(b.Type()) == k || b.Type().Contiguous() && t.Type.Contiguous() {
		return nil
	}
	return core.NewError(ErrType, "the target has pairs of a value and an index, the %s buffer has none", which)
}

// opaque takes the two names of single bytes for one.
func opaque(k datatype.Kind) datatype.Kind {
	if k == datatype.KindByte {
		return datatype.KindUint8
	}
	return k
}

// noNil refuses memory that is not: nil, for a type whose displacements begin there.
func noNil(which string, b Buffer) error {
	if b.Addr() == nil && b.Bytes() > 0 {
		if lo, _ := b.Type().TrueExtent(); lo <= 0 {
			return core.NewError(ErrBuffer, "the %s buffer's address is nil", which)
		}
	}
	return nil
}

// checkOne checks operations on one element of certain types.
func checkOne(t osc.At, name string, legal bool) error {
	if !legal {
		return core.NewError(ErrType, "%s is not defined on %s", name, typeName(t.Type))
	}
	if t.Count != 1 {
		return core.NewError(ErrCount, "%s takes one element, not %d", name, t.Count)
	}
	return nil
}

// swappable tells the types of MPI_Compare_and_swap: integers, logicals and bytes (MPI-3.1 §11.3.4).
func swappable(k datatype.Kind) bool {
	switch k {
	case datatype.KindNone, datatype.KindFloat32, datatype.KindFloat64, datatype.KindComplex64, datatype.KindComplex128:
		return false
	}
	return true
}

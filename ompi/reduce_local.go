package ompi

import "github.com/ompi-go/ompi-go/core"

// ReduceLocal combines in into inout: inout[i] = in[i] op inout[i].
func ReduceLocal(in, inout Buffer, op *Op) error {
	for _, b := range []Buffer{in, inout} {
		if err := b.Err(); err != nil {
			return &core.Error{Class: core.ClassOf(err), Op: "Reduce_local", Peer: Undefined, Index: -1, Err: err}
		}
	}
	switch {
	case op == nil:
		return core.NewError(ErrOp, "the operation is nil")
	case in.Count() != inout.Count():
		return core.NewError(ErrCount, "%d elements into %d", in.Count(), inout.Count())
	case in.Count() == 0:
		return nil
	}
	if err := op.Check(in.Type()); err != nil {
		return err
	}
	op.Apply(in.Addr(), inout.Addr(), in.Count(), in.Type())
	return nil
}

package portals4

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	p4 "github.com/ompi-go/ompi-go/portals4"
)

// largestElement is the size of the largest predefined type that the interface combines. Segments are multiples of it.
const largestElement = 16

// atomicOf gives the interface's operation for one of MPI's on elements of a type. MaxLoc and MinLoc, operations of the program and types that
// are not elements of one kind without gaps have none. Ranks agree about the answer, since they call a reduction with the same operation and type
// (MPI-3.1 §5.9).
func atomicOf(op *core.Op, t *datatype.Type) (p4.AtomicOp, p4.Type, bool) {
	if op == nil || t == nil || !op.Predefined() || !t.Contiguous() {
		return 0, 0, false
	}
	k, ok := t.Homogeneous()
	if !ok || op.Kernel(k) == nil {
		return 0, 0, false
	}
	typ, ok := typeOf(k)
	if !ok {
		return 0, 0, false
	}
	a, ok := opOf(op)
	return a, typ, ok
}

func opOf(op *core.Op) (p4.AtomicOp, bool) {
	switch op {
	case core.Sum:
		return p4.Sum, true
	case core.Prod:
		return p4.Prod, true
	case core.Max:
		return p4.Max, true
	case core.Min:
		return p4.Min, true
	case core.LAnd:
		return p4.Land, true
	case core.LOr:
		return p4.Lor, true
	case core.LXor:
		return p4.Lxor, true
	case core.BAnd:
		return p4.Band, true
	case core.BOr:
		return p4.Bor, true
	case core.BXor:
		return p4.Bxor, true
	}
	return 0, false
}

// typeOf maps kinds. Byte and bool are unsigned bytes: of the first only the bits matter, of the second MPI wants logical operations alone, whose
// results are 0 or 1.
func typeOf(k datatype.Kind) (p4.Type, bool) {
	switch k {
	case datatype.KindInt8:
		return p4.Int8, true
	case datatype.KindUint8, datatype.KindByte, datatype.KindBool:
		return p4.Uint8, true
	case datatype.KindInt16:
		return p4.Int16, true
	case datatype.KindUint16:
		return p4.Uint16, true
	case datatype.KindInt32:
		return p4.Int32, true
	case datatype.KindUint32:
		return p4.Uint32, true
	case datatype.KindInt64:
		return p4.Int64, true
	case datatype.KindUint64:
		return p4.Uint64, true
	case datatype.KindFloat32:
		return p4.Float, true
	case datatype.KindFloat64:
		return p4.Double, true
	case datatype.KindComplex64:
		return p4.FloatComplex, true
	case datatype.KindComplex128:
		return p4.DoubleComplex, true
	}
	return 0, false
}

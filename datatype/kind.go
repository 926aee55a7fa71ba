package datatype

import "unsafe"

// Kind names a predefined element.
type Kind uint8

// KindNone is the kind of a derived type. Byte and Uint8 have the same memory, but Byte is opaque: no arithmetic.
const (
	KindNone Kind = iota
	KindInt8
	KindInt16
	KindInt32
	KindInt64
	KindUint8
	KindUint16
	KindUint32
	KindUint64
	KindFloat32
	KindFloat64
	KindComplex64
	KindComplex128
	KindByte
	KindBool
	numKinds
)

type kindInfo struct {
	name        string
	size, align int64
}

func infoOf[T any](name string) kindInfo {
	var v T
	return kindInfo{name, int64(unsafe.Sizeof(v)), int64(unsafe.Alignof(v))}
}

var kinds = [numKinds]kindInfo{
	KindNone:       {"none", 0, 1},
	KindInt8:       infoOf[int8]("MPI_INT8_T"),
	KindInt16:      infoOf[int16]("MPI_INT16_T"),
	KindInt32:      infoOf[int32]("MPI_INT32_T"),
	KindInt64:      infoOf[int64]("MPI_INT64_T"),
	KindUint8:      infoOf[uint8]("MPI_UINT8_T"),
	KindUint16:     infoOf[uint16]("MPI_UINT16_T"),
	KindUint32:     infoOf[uint32]("MPI_UINT32_T"),
	KindUint64:     infoOf[uint64]("MPI_UINT64_T"),
	KindFloat32:    infoOf[float32]("MPI_FLOAT"),
	KindFloat64:    infoOf[float64]("MPI_DOUBLE"),
	KindComplex64:  infoOf[complex64]("MPI_C_FLOAT_COMPLEX"),
	KindComplex128: infoOf[complex128]("MPI_C_DOUBLE_COMPLEX"),
	KindByte:       infoOf[byte]("MPI_BYTE"),
	KindBool:       infoOf[bool]("MPI_C_BOOL"),
}

// Size is the size of one element in bytes, 0 for KindNone.
func (k Kind) Size() int {
	if k >= numKinds {
		return 0
	}
	return int(kinds[k].size)
}

// String gives the standard's name of the predefined type.
func (k Kind) String() string {
	if k >= numKinds {
		return "invalid"
	}
	return kinds[k].name
}

// The predefined types. They are committed.
var (
	Int8       = predefined(KindInt8)
	Int16      = predefined(KindInt16)
	Int32      = predefined(KindInt32)
	Int64      = predefined(KindInt64)
	Uint8      = predefined(KindUint8)
	Uint16     = predefined(KindUint16)
	Uint32     = predefined(KindUint32)
	Uint64     = predefined(KindUint64)
	Float32    = predefined(KindFloat32)
	Float64    = predefined(KindFloat64)
	Complex64  = predefined(KindComplex64)
	Complex128 = predefined(KindComplex128)
	Byte       = predefined(KindByte)
	Bool       = predefined(KindBool)
)

func predefined(k Kind) *Type {
	i := kinds[k]
	t := &Type{
		kind:     k,
		combiner: CombinerNamed,
		layout: layout{
			size: i.size, elems: 1, align: i.align, uniform: k,
			ub: i.size, trueUB: i.size,
		},
	}
	t.SetName(i.name)
	t.program()
	return t
}

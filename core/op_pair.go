package core

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/datatype"
)

// Loc is the pair type of MaxLoc and MinLoc (MPI-3.1 §5.9.4): a value and where it is, usually a rank. Its datatype is
// datatype.For[Loc[T]], for T any integer or floating-point type.
type Loc[T any] struct {
	Value T
	Index int32
}

// pairTypes are the types of Loc over Go's own types, which For hands to all callers, so that the common pairs are known by
// their pointer. Others (a named T, a struct made by hand with the same fields) are looked into each time.
var pairTypes = [...]struct {
	t *datatype.Type
	k datatype.Kind
}{
	{pairType[float64](), datatype.KindFloat64},
	{pairType[float32](), datatype.KindFloat32},
	{pairType[int32](), datatype.KindInt32},
	{pairType[int64](), datatype.KindInt64},
	{pairType[int](), wordKind(datatype.KindInt64, datatype.KindInt32)},
	{pairType[int16](), datatype.KindInt16},
	{pairType[int8](), datatype.KindInt8},
	{pairType[uint32](), datatype.KindUint32},
	{pairType[uint64](), datatype.KindUint64},
	{pairType[uint](), wordKind(datatype.KindUint64, datatype.KindUint32)},
	{pairType[uint16](), datatype.KindUint16},
	{pairType[uint8](), datatype.KindUint8},
}

func pairType[T any]() *datatype.Type {
	t, err := datatype.For[Loc[T]]()
	if err != nil {
		panic(err) // numbers hold no pointers
	}
	return t
}

// wordKind is the kind of Go's int or uint.
func wordKind(wide, narrow datatype.Kind) datatype.Kind {
	if unsafe.Sizeof(int(0)) == 8 {
		return wide
	}
	return narrow
}

// pairKind is the kind of the values of a pair type, KindNone when t is no pair of a value and a 32-bit index at the places
// where Loc has them.
func pairKind(t *datatype.Type) datatype.Kind {
	for i := range pairTypes {
		if pairTypes[i].t == t {
			return pairTypes[i].k
		}
	}
	if t.Elements() != 2 {
		return datatype.KindNone
	}
	return lookIntoPair(t)
}

func lookIntoPair(t *datatype.Type) datatype.Kind {
	lb, extent := t.Extent()
	s := t
	for c := s.Envelope().Combiner; c == datatype.CombinerResized || c == datatype.CombinerDup; c = s.Envelope().Combiner {
		_, _, inner := s.Contents()
		s = inner[0]
	}
	if s.Envelope().Combiner != datatype.CombinerStruct {
		return datatype.KindNone
	}
	lens, at, types := s.Contents() // lens[0] is the number of blocks
	if len(types) != 2 || lens[1] != 1 || lens[2] != 1 || types[1].Kind() != datatype.KindInt32 {
		return datatype.KindNone
	}
	k := types[0].Kind()
	for i := range pairTypes {
		p := &pairTypes[i]
		if p.k != k {
			continue
		}
		_, want := p.t.Extent()
		if lb == 0 && extent == want && at[0] == 0 && at[1] == indexOffset(k) {
			return k
		}
		break
	}
	return datatype.KindNone
}

// indexOffset is where Loc has its index behind a value of kind k.
func indexOffset(k datatype.Kind) int64 {
	const align = int64(unsafe.Alignof(int32(0)))
	return (int64(k.Size()) + align - 1) / align * align
}

// PairKind is the kind of the values of a pair type, which has them and 32-bit indices where Loc has; KindNone when t is none.
func PairKind(t *datatype.Type) datatype.Kind { return pairKind(t) }

// PairIndex is where a pair of values of kind k has its 32-bit index, in bytes.
func PairIndex(k datatype.Kind) int64 { return indexOffset(k) }

package datatype

import "slices"

// Envelope says how a type was made; Contents has as many entries as its three numbers, in the standard's order, with Order and
// Distribution as their Go values (MPI_Type_get_envelope).
type Envelope struct {
	Combiner                   Combiner
	Integers, Addresses, Types int
}

// Combiner names the constructor of a type.
type Combiner int

// A type made by For from a struct shows as CombinerStruct, within CombinerResized where its natural extent is not the Go
// type's.
const (
	CombinerNamed Combiner = iota
	CombinerDup
	CombinerContiguous
	CombinerVector
	CombinerHVector
	CombinerIndexed
	CombinerHIndexed
	CombinerIndexedBlock
	CombinerHIndexedBlock
	CombinerStruct
	CombinerSubarray
	CombinerDarray
	CombinerResized
)

// Envelope describes the call that made t.
func (t *Type) Envelope() Envelope {
	return Envelope{t.combiner, len(t.integers), len(t.addresses), len(t.types)}
}

// Contents gives the arguments of the call that made t, all empty for a predefined type (MPI_Type_get_contents). The slices are
// copies; the types are the originals, which never change.
func (t *Type) Contents() (integers []int, addresses []int64, types []*Type) {
	return slices.Clone(t.integers), slices.Clone(t.addresses), slices.Clone(t.types)
}

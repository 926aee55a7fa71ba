package colltest

import (
	"testing"

	"github.com/ompi-go/ompi-go/datatype"
)

// typePair is a type to send and one to receive with: the same elements, maybe elsewhere in memory.
type typePair struct {
	name       string
	send, recv *datatype.Type
	long       int64 // a count above small eager limits; 0: not tried
	huge       int64 // a count above all of them, for few ranks; 0: not tried
	sample     bool  // of the short suite, too
}

// padded is a Go struct with holes inside and behind.
type padded struct {
	A int8
	B float64
	C int16
	D [3]uint8
}

func must(t *testing.T) func(ty *datatype.Type, err error) *datatype.Type {
	return func(ty *datatype.Type, err error) *datatype.Type {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return ty
	}
}

func makeTypes(t *testing.T) []typePair {
	ok := must(t)
	row := ok(datatype.Contiguous(6, datatype.Float64))
	column := ok(datatype.Vector(3, 2, 4, datatype.Float64))
	structure := ok(datatype.For[padded]())
	// Data on both sides of the buffer's address.
	around := ok(datatype.HIndexed([]int{1, 1}, []int64{-8, 4}, datatype.Int32))
	around = ok(datatype.Resized(around, -8, 16))
	// Data far from the buffer's address, backwards in memory.
	behind := ok(datatype.HIndexed([]int{1, 1}, []int64{36, 24}, datatype.Int32))
	pairs := []typePair{
		{"byte", datatype.Byte, datatype.Byte, 4501, 70001, true},
		{"int32", datatype.Int32, datatype.Int32, 1030, 0, false},
		{"padded struct", structure, structure, 0, 0, false},
		{"row to vector", row, column, 90, 0, true},
		{"vector to row", column, row, 0, 0, true},
		{"around its address", around, around, 0, 0, true},
		{"behind its address", around, behind, 0, 0, true},
		{"empty", ok(datatype.Contiguous(0, datatype.Int32)), ok(datatype.Contiguous(0, datatype.Int32)), 0, 0, false},
	}
	for _, p := range pairs {
		if p.send.Size() != p.recv.Size() {
			t.Fatalf("%s: sizes differ", p.name)
		}
	}
	return pairs
}

package core

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/datatype"
)

// Buffer is memory, a count and a datatype. It is a value of four words, so that it travels in registers; it keeps its
// memory alive and carries an error of its construction, returned by the call that uses it. The zero Buffer is "nothing".
type Buffer struct {
	addr  unsafe.Pointer
	count int64
	typ   *datatype.Type
	note  *bufferNote // nil for an ordinary buffer
}

type bufferNote struct {
	err     error
	inPlace bool
}

var inPlaceNote = &bufferNote{inPlace: true}

// MakeBuffer describes count elements of type t at addr.
func MakeBuffer(addr unsafe.Pointer, count int64, t *datatype.Type) Buffer {
	return Buffer{addr: addr, count: count, typ: t}
}

// BadBuffer carries a construction error to the call that uses it.
func BadBuffer(err error) Buffer { return Buffer{note: &bufferNote{err: err}} }

// InPlaceBuffer is MPI_IN_PLACE.
func InPlaceBuffer() Buffer { return Buffer{note: inPlaceNote} }

// Count is the number of elements of Type.
func (b Buffer) Count() int64 { return b.count }

// Type is the datatype of one element; nil for the zero Buffer and for InPlace.
func (b Buffer) Type() *datatype.Type { return b.typ }

// Err is the error of the buffer's construction.
func (b Buffer) Err() error {
	if b.note != nil {
		return b.note.err
	}
	return nil
}

// Addr is the buffer's first address (displacement 0 of the first element).
func (b Buffer) Addr() unsafe.Pointer { return b.addr }

// IsInPlace reports whether this is MPI_IN_PLACE.
func (b Buffer) IsInPlace() bool { return b.note != nil && b.note.inPlace }

// Plain reports whether the buffer is neither MPI_IN_PLACE nor faulty: the one test of the hot path.
func (b Buffer) Plain() bool { return b.note == nil }

// Bytes is the packed size of the buffer.
func (b Buffer) Bytes() int64 {
	if b.typ == nil {
		return 0
	}
	return b.count * b.typ.Size()
}

// At is the buffer of count elements that starts elements behind b's first; it does not check b's bounds.
func (b Buffer) At(element, count int64) Buffer {
	if b.typ == nil || element == 0 {
		return Buffer{addr: b.addr, count: count, typ: b.typ, note: b.note}
	}
	_, extent := b.typ.Extent()
	return Buffer{addr: unsafe.Add(b.addr, element*extent), count: count, typ: b.typ, note: b.note}
}

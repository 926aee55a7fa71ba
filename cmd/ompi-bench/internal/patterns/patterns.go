// Package patterns describes how applications lay out in memory what they send: faces of grids and lattices, halos of several fields,
// particles and mesh points picked by index. They follow what has been published about the codes (Schneider, Gerstenberger, Hoefler:
// Micro-applications for communication data access patterns and MPI datatypes, EuroMPI 2012); nothing here is taken from them.
//
// Each layout is told twice, as a derived datatype and as plain loops, so that one can check the other. The C program for the peers
// (bench/peers) has the same ones in layout.c; Checksum tells whether both still agree.
//
// It is called by ompi-bench's main package and knows datatypes, but nothing of messages.
package patterns

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/ompi-go/ompi-go/datatype"
)

// Layout is one access pattern at one size.
type Layout struct {
	Name string
	// Span is how many bytes of memory the arrays fill.
	Span  int
	base  int // where in it the datatype begins
	parts []part
	build func(m *maker) *datatype.Type
}

// All lists the layouts by name, then by size.
func All() []Layout {
	all := slices.Concat(lammps(), milc(), nasLU(), nasMG(), specfem(), wrf())
	slices.SortStableFunc(all, func(a, b Layout) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Type makes the datatype; one of it, at At in the memory, is the whole message.
func (l Layout) Type() (*datatype.Type, error) {
	m := &maker{}
	t := l.build(m)
	if m.err == nil {
		m.err = t.Commit()
	}
	if m.err == nil && t.Size() != int64(l.Bytes()) {
		m.err = fmt.Errorf("the datatype has %d bytes, the loops move %d", t.Size(), l.Bytes())
	}
	if m.err != nil {
		return nil, fmt.Errorf("layout %s: %w", l, m.err)
	}
	return t, nil
}

// At is the memory that the datatype is laid over.
func (l Layout) At(mem []byte) []byte { return mem[l.base:] }

// Bytes is the size of the packed message.
func (l Layout) Bytes() int {
	n := 0
	for _, p := range l.parts {
		n += p.bytes()
	}
	return n
}

// String names the layout as the results do.
func (l Layout) String() string { return fmt.Sprintf("%s:%d", l.Name, l.Bytes()) }

// Pack copies what the layout describes to the front of out, as an application without datatypes does.
func (l Layout) Pack(mem, out []byte) { l.move(mem, out, false) }

// Unpack copies the front of in to where the layout says.
func (l Layout) Unpack(in, mem []byte) { l.move(mem, in, true) }

func (l Layout) move(mem, packed []byte, back bool) {
	mem = l.At(mem)
	for _, p := range l.parts {
		n := p.bytes()
		p.move(mem, packed[:n], back)
		packed = packed[n:]
	}
}

// Fill gives every byte of a memory a value that follows from its place.
func Fill(mem []byte) {
	for i := range mem {
		mem[i] = byte(uint32(i) * 2654435761 >> 24)
	}
}

// Checksum is that of the packed message out of a memory made by Fill: it follows from the layout alone.
func (l Layout) Checksum() uint64 {
	mem, packed := make([]byte, l.Span), make([]byte, l.Bytes())
	Fill(mem)
	l.Pack(mem, packed)
	h := fnv.New64a()
	h.Write(packed)
	return h.Sum64()
}

// Check says whether got, which was empty, has after a message out of a filled memory what it should have, and nothing else.
func (l Layout) Check(got []byte) error {
	sent, packed, want := make([]byte, l.Span), make([]byte, l.Bytes()), make([]byte, l.Span)
	Fill(sent)
	l.Pack(sent, packed)
	l.Unpack(packed, want)
	if bytes.Equal(got, want) {
		return nil
	}
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("layout %s: byte %d of %d is %#x after the message, want %#x", l, i, l.Span, got[i], want[i])
		}
	}
	return fmt.Errorf("layout %s: the memory has %d bytes, want %d", l, len(got), l.Span)
}

// maker makes datatypes one from another and keeps the first error.
type maker struct{ err error }

func (m *maker) ok(t *datatype.Type, err error) *datatype.Type {
	if m.err == nil {
		m.err = err
	}
	return t
}

// once makes a struct of one element of each type.
func (m *maker) once(at []int, types []*datatype.Type) *datatype.Type {
	ones, displs := make([]int, len(at)), make([]int64, len(at))
	for i := range at {
		ones[i], displs[i] = 1, int64(at[i])
	}
	return m.ok(datatype.Struct(ones, displs, types))
}

package portals4

import (
	"fmt"
	"slices"
	"unsafe"
)

// Space is memory named by its addresses: pieces that come and go while entries stand for them. It is an extension of ours to the specification, whose
// entries of all memory trust the initiator: here an operation whose range does not lie inside one piece ends with SegV, and touches nothing. Its remote
// offset is the address. Memory of an operation under way stays alive though its piece be removed.
//
// Its methods are called with the engine's token held, as those of the interface's components are; a program's own interface has no use for it.
type Space struct{ pieces []spacePiece } // by address

type spacePiece struct {
	from uint64
	mem  []byte
}

func (p *spacePiece) end() uint64 { return p.from + uint64(len(p.mem)) }

// Add makes a piece of memory part of the space. It may not overlap another, nor be empty.
func (s *Space) Add(mem []byte) error {
	if len(mem) == 0 {
		return fmt.Errorf("the piece is empty")
	}
	p := spacePiece{from: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))), mem: mem}
	at := s.after(p.from)
	if at > 0 && s.pieces[at-1].end() > p.from || at < len(s.pieces) && s.pieces[at].from < p.end() {
		return fmt.Errorf("[%#x,+%d) overlaps another piece", p.from, len(mem))
	}
	s.pieces = slices.Insert(s.pieces, at, p)
	return nil
}

// Remove takes out the piece that begins at base, and reports whether there was one.
func (s *Space) Remove(base unsafe.Pointer) bool {
	from := uint64(uintptr(base))
	at := s.after(from) - 1
	if at < 0 || s.pieces[at].from != from {
		return false
	}
	s.pieces = slices.Delete(s.pieces, at, at+1)
	return true
}

// Len is the number of pieces.
func (s *Space) Len() int { return len(s.pieces) }

// after is the number of pieces that begin at or before addr.
func (s *Space) after(addr uint64) int {
	lo, hi := 0, len(s.pieces)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if s.pieces[mid].from <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// find gives the memory of the piece in which [addr, addr+n) lies.
func (s *Space) find(addr, n uint64) (m memory, ok bool) {
	at := s.after(addr) - 1
	if at < 0 {
		return memory{}, false
	}
	p := &s.pieces[at]
	if off := addr - p.from; off > uint64(len(p.mem)) || n > uint64(len(p.mem))-off {
		return memory{}, false
	}
	return memory{base: p.mem, origin: p.from, size: p.end()}, true
}

// holds prepares the memory of an operation in e, and reports whether e has it.
func (e *entry) holds(a *arrival) bool {
	if e.space == nil {
		a.at = &e.mem
		return true
	}
	m, ok := e.space.find(a.offset, a.length)
	if !ok {
		return false
	}
	a.own, a.at = m, &a.own
	return true
}

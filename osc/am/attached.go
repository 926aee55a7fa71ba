package am

import (
	"sort"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
)

// Attached is the memory of a dynamic window at one member (MPI-3.1 §11.2.4): pieces that do not overlap, found by address. It keeps them alive while they are
// in it. Its user guards it.
type Attached struct {
	pieces []*core.Region // by address
}

// at is the place of the first piece that begins behind address a.
func (s *Attached) at(a uintptr) int {
	return sort.Search(len(s.pieces), func(i int) bool { return uintptr(s.pieces[i].Base()) > a })
}

// Add takes a piece in: ErrRMAAttach when it overlaps one that is attached, or begins where one does. Pieces without bytes are at their address, too.
func (s *Attached) Add(r *core.Region) error {
	base, size := uintptr(r.Base()), uintptr(r.Size())
	i := s.at(base)
	if i > 0 {
		if p := s.pieces[i-1]; uintptr(p.Base()) == base || base-uintptr(p.Base()) < uintptr(p.Size()) {
			return core.NewError(core.ErrRMAAttach, "the memory at %#x overlaps the piece of %d bytes that is attached at %#x; detach that first", base, p.Size(), uintptr(p.Base()))
		}
	}
	if i < len(s.pieces) {
		if p := s.pieces[i]; uintptr(p.Base())-base < size {
			return core.NewError(core.ErrRMAAttach, "the %d bytes at %#x overlap the piece that is attached at %#x; detach that first", size, base, uintptr(p.Base()))
		}
	}
	s.pieces = append(s.pieces, nil)
	copy(s.pieces[i+1:], s.pieces[i:])
	s.pieces[i] = r
	return nil
}

// Remove takes out the piece that begins at base, and gives it back: ErrBase when there is none.
func (s *Attached) Remove(base unsafe.Pointer) (*core.Region, error) {
	i := s.at(uintptr(base)) - 1
	if i < 0 || s.pieces[i].Base() != base {
		return nil, core.NewError(core.ErrBase, "nothing is attached at %#x", uintptr(base))
	}
	r := s.pieces[i]
	s.pieces = append(s.pieces[:i], s.pieces[i+1:]...)
	s.pieces[:len(s.pieces)+1][len(s.pieces)] = nil
	return r, nil
}

// Find gives the memory at address addr, if n bytes from there on lie in one piece.
func (s *Attached) Find(addr, n int64) (unsafe.Pointer, bool) {
	if n < 0 {
		return nil, false
	}
	i := s.at(uintptr(addr)) - 1
	if i < 0 {
		return nil, false
	}
	p := s.pieces[i]
	in := uintptr(addr) - uintptr(p.Base())
	if in > uintptr(p.Size()) || uintptr(n) > uintptr(p.Size())-in {
		return nil, false
	}
	return unsafe.Add(p.Base(), in), true
}

// Len is the number of pieces.
func (s *Attached) Len() int { return len(s.pieces) }

// Each calls f for every piece, in the order of their addresses.
func (s *Attached) Each(f func(*core.Region)) {
	for _, p := range s.pieces {
		f(p)
	}
}

package differ

import (
	"fmt"
	"slices"
	"strings"
)

// A model of datatypes, made with the program: it keeps the generator from types whose elements overlap, which nobody may receive
// into. It is not what results are compared with.

// elem is one basic element at a displacement.
type elem struct {
	kind byte // i, l, b, d: int32, int64, uint8, double
	at   int64
}

var kindSize = map[byte]int64{'i': 4, 'l': 8, 'b': 1, 'd': 8}

// shape is a type: its words in a program, its type map, its bounds.
type shape struct {
	text   string
	elems  []elem
	lb, ub int64
	marked bool // the bounds were set by Resized or an array constructor
	odd    bool // libraries disagree on its bounds
}

func basic(kind byte) *shape {
	return &shape{text: string(kind), elems: []elem{{kind, 0}}, ub: kindSize[kind]}
}

func (s *shape) extent() int64 { return s.ub - s.lb }

// align is the alignment of the most demanding element.
func (s *shape) align() int64 {
	a := int64(1)
	for _, e := range s.elems {
		a = max(a, kindSize[e.kind])
	}
	return a
}

func (s *shape) trueBounds() (lo, hi int64) {
	for i, e := range s.elems {
		if i == 0 {
			lo, hi = e.at, e.at
		}
		lo, hi = min(lo, e.at), max(hi, e.at+kindSize[e.kind])
	}
	return lo, hi
}

// piece is n elements of a type at a displacement.
type piece struct {
	of *shape
	n  int
	at int64
}

// compose is the type of pieces, in this order (MPI-3.1 section 4.1).
func compose(text string, pieces ...piece) *shape {
	s := &shape{text: text}
	marks, plain := false, false
	for _, p := range pieces {
		if p.n > 0 && len(p.of.elems) > 0 {
			marks, plain = marks || p.of.marked, plain || !p.of.marked
			s.odd = s.odd || p.of.odd
		}
		for k := range p.n {
			at := p.at + int64(k)*p.of.extent()
			for _, e := range p.of.elems {
				s.elems = append(s.elems, elem{e.kind, e.at + at})
			}
			if p.of.marked {
				lb, ub := p.of.lb+at, p.of.ub+at
				if !s.marked {
					s.lb, s.ub, s.marked = lb, ub, true
				}
				s.lb, s.ub = min(s.lb, lb), max(s.ub, ub)
			}
		}
	}
	if !s.marked {
		s.lb, s.ub = s.trueBounds()
		a := s.align()
		s.odd = s.odd || s.lb%a != 0 // Open MPI rounds the upper bound instead of the extent
		s.ub += (a - s.extent()%a) % a
	}
	s.odd = s.odd || marks && s.extent()%s.align() != 0 // MPICH rounds the extent of a struct, whatever says so
	s.odd = s.odd || marks && plain                     // MPICH does not let the bounds of the one hide the elements of the other
	return s
}

// withBounds gives a composed type explicit bounds.
func (s *shape) withBounds(lb, extent int64) *shape {
	s.lb, s.ub, s.marked = lb, lb+extent, true
	return s
}

// receivable reports whether no byte of any number of elements in a row is there twice.
func (s *shape) receivable() bool {
	lo, hi := s.trueBounds()
	ext := s.extent()
	if ext <= 0 || hi-lo > 1<<16 {
		return false
	}
	rows := (hi-lo)/ext + 2
	if rows*int64(len(s.elems)) > 20_000 {
		return false
	}
	var all []elem
	for r := range rows {
		for _, e := range s.elems {
			all = append(all, elem{e.kind, e.at + r*ext})
		}
	}
	slices.SortFunc(all, func(a, b elem) int { return int(a.at - b.at) })
	for i := 1; i < len(all); i++ {
		if all[i-1].at+kindSize[all[i-1].kind] > all[i].at {
			return false
		}
	}
	return true
}

// words joins parts with blanks.
func words(parts ...any) string {
	var b strings.Builder
	for _, p := range parts {
		var s string
		switch p := p.(type) {
		case []int:
			s = strings.Trim(fmt.Sprint(p), "[]")
		case []int64:
			s = strings.Trim(fmt.Sprint(p), "[]")
		case bool:
			s = map[bool]string{false: "0", true: "1"}[p]
		default:
			s = fmt.Sprint(p)
		}
		if s != "" && b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s)
	}
	return b.String()
}

package datatype

import "math/bits"

// layout is what can be said of a type without listing its elements. All figures are bytes, but for elems.
type layout struct {
	size   int64 // bytes of data in one item
	elems  int64 // predefined elements in one item
	align  int64 // strictest alignment among the elements, at least 1
	lb, ub int64 // extent = ub - lb

	trueLB, trueUB int64 // bounds of the data alone; both 0 without elements

	// explicit: lb and ub were set by Resized (or a constructor that does the same) somewhere below. Such bounds then decide
	// alone: natural bounds of other parts and alignment padding no longer count (MPI-3.1 section 4.1.6).
	explicit bool

	uniform Kind // the kind of all elements, KindNone when they differ or there are none
}

func (l *layout) extent() int64 { return l.ub - l.lb }

// calc is arithmetic that remembers whether anything overflowed: a constructor computes to the end and asks once.
type calc struct{ overflow bool }

func (c *calc) add(a, b int64) int64 {
	s := a + b
	if (s > a) != (b > 0) && b != 0 {
		c.overflow = true
	}
	return s
}

func (c *calc) sub(a, b int64) int64 {
	d := a - b
	if (d < a) != (b > 0) && b != 0 {
		c.overflow = true
	}
	return d
}

func (c *calc) mul(a, b int64) int64 {
	p := a * b
	hi, _ := bits.Mul64(magnitude(a), magnitude(b))
	// The smallest int64 is refused as a product, too: no displacement needs it and its negation would overflow.
	if hi != 0 || magnitude(a)*magnitude(b) > 1<<63-1 {
		c.overflow = true
	}
	return p
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// sum collects the layout of a type under construction, block by block.
type sum struct {
	calc
	layout
	mixed bool // elements of more than one kind were seen
}

func newSum() *sum { return &sum{layout: layout{align: 1}} }

// blocks adds count blocks of n consecutive items of t each; the first block begins at disp, the others follow stride bytes
// apart. Blocks without items are no part of a type map and move no bound.
func (s *sum) blocks(disp, count, stride, n int64, t *layout) {
	if count == 0 || n == 0 || (t.elems == 0 && !t.explicit) {
		return
	}
	reach := s.mul(n-1, t.extent())
	span := s.mul(count-1, stride)
	lo := s.add(disp, s.add(min(reach, 0), min(span, 0)))
	hi := s.add(disp, s.add(max(reach, 0), max(span, 0)))
	if t.explicit {
		lb, ub := s.add(lo, t.lb), s.add(hi, t.ub)
		if s.explicit {
			lb, ub = min(lb, s.lb), max(ub, s.ub)
		}
		s.lb, s.ub, s.explicit = lb, ub, true
	}
	if t.elems == 0 {
		return
	}
	lb, ub := s.add(lo, t.trueLB), s.add(hi, t.trueUB)
	if s.elems != 0 {
		lb, ub = min(lb, s.trueLB), max(ub, s.trueUB)
	}
	s.trueLB, s.trueUB = lb, ub
	items := s.mul(count, n)
	s.size = s.add(s.size, s.mul(items, t.size))
	s.mixed = s.mixed || t.uniform == KindNone || (s.elems != 0 && s.uniform != t.uniform)
	s.uniform = t.uniform
	s.elems = s.add(s.elems, s.mul(items, t.elems))
	s.align = max(s.align, t.align)
}

// finish closes the sum: natural bounds are those of the data, rounded up so that consecutive items stay aligned (the epsilon
// of MPI-3.1 section 4.1, definition of extent).
func (s *sum) finish(what string) (layout, error) {
	if s.mixed {
		s.uniform = KindNone
	}
	if !s.explicit {
		s.lb, s.ub = s.trueLB, s.trueUB
		if odd := s.sub(s.ub, s.lb) % s.align; odd > 0 {
			s.ub = s.add(s.ub, s.align-odd)
		}
	}
	s.sub(s.ub, s.lb)
	s.sub(s.trueUB, s.trueLB)
	if s.overflow {
		return layout{}, errCount("%s: size or bounds of the type exceed 64 bits; use smaller counts or displacements", what)
	}
	return s.layout, nil
}

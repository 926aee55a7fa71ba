package alg

import "github.com/ompi-go/ompi-go/core"

// Operations that only move data cut it by bytes: ranks may describe the same data by elements of different sizes (MPI-3.1 §3.3.1), so
// the elements of one are no measure for another's.

// flat is b as bytes one behind the other: b itself where it has no gaps, else scratch buffer i, filled from b if load is set.
func (c *Call) flat(i int, b core.Buffer, load bool) core.Buffer {
	switch {
	case c.traffic != nil:
		return Weightless(b.Bytes())
	case b.Type().Contiguous():
		return bytesOf(b)
	}
	all := c.packed(i, b.Bytes())
	if load {
		c.copy(all, b)
	}
	return all
}

// unflat puts what flat gave, and messages have filled, into b.
func (c *Call) unflat(b, all core.Buffer) {
	if c.traffic == nil && !b.Type().Contiguous() {
		c.copy(b, all)
	}
}

// share is where part i of n nearly equal parts of a total begins; the first are longer by one.
func share(total int64, i, n int) int64 {
	k := int64(n)
	return total/k*int64(i) + min(int64(i), total%k)
}

// between is the elements of b from one on up to, not including, another.
func between(b core.Buffer, from, to int64) core.Buffer { return part(b, from, to-from) }

// shares is parts i up to, not including, j of n nearly equal ones.
func shares(b core.Buffer, i, j, n int) core.Buffer {
	return between(b, share(b.Count(), i, n), share(b.Count(), j, n))
}

// defaultSegment is the size of the pieces in which pipelines send: large enough that a message's own cost hardly counts, small enough
// for the nearer caches.
const defaultSegment = 32 << 10

// segment is the elements of one piece of b: all at most, lest sums with it overflow.
func (a *Args) segment(b core.Buffer) int64 {
	size := a.Segment
	if size <= 0 {
		size = defaultSegment
	}
	return max(1, min(size/max(1, b.Type().Size()), b.Count()))
}

// pieces is how many pieces of the given elements b has.
func pieces(b core.Buffer, segment int64) int64 { return (b.Count() + segment - 1) / segment }

// piece is the k-th of them.
func piece(b core.Buffer, k, segment int64) core.Buffer {
	return between(b, k*segment, min((k+1)*segment, b.Count()))
}

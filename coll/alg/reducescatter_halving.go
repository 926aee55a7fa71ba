package alg

import (
	"math/bits"

	"github.com/ompi-go/ompi-go/core"
)

// reduceScatterHalving: halving (halving.go) on a copy in which blocks lie in the order in which the halving deals parts out: part i
// goes to the member with the number i, its bits reversed. Where a member acts for two ranks, its part is their two blocks, of which it
// passes one on.
func reduceScatterHalving(c *Call, a *Args) {
	own := a.own()
	if own.Bytes() == 0 {
		return
	}
	b := c.blocksOf(a)
	mine := c.result(a, &b)
	h := halves{team: newTeam(c.size, none)}
	var acts bool
	if h.me, acts = h.team.member(c.rank); !acts {
		c.send(own, c.rank^1)
		if mine.Bytes() > 0 {
			c.recv(mine, c.rank^1)
		}
		return
	}
	c.dealOut(&h, &b)
	h.work = c.typed(1, own.Type(), own.Count())
	c.eachPart(&h, &b, own, func(_ *core.Op, part, theirs core.Buffer) { c.copy(part, theirs) }, nil)
	if h.team.paired(h.me) {
		in := c.typed(0, own.Type(), own.Count())
		c.recv(in, c.rank^1) // the partner's rank is lower
		c.eachPart(&h, &b, in, func(op *core.Op, part, theirs core.Buffer) { c.merge(op, theirs, part, true) }, a.Op)
	}
	lo := c.reduceHalves(&h, a.Op)
	sum := h.parts(lo, lo+1)
	if h.team.paired(h.me) {
		first := b.count(c.rank ^ 1)
		if first > 0 {
			c.send(part(sum, 0, first), c.rank^1)
		}
		sum = part(sum, first, mine.Count())
	}
	c.copy(mine, sum)
}

// dealOut sets the beginnings of the parts.
func (c *Call) dealOut(h *halves, b *blocks) {
	at := len(c.ints)
	sum := 0
	for i := range h.team.size {
		c.ints = append(c.ints, sum)
		_, n := h.blocksOf(i, b)
		sum += int(n)
	}
	c.ints = append(c.ints, sum)
	h.offs = c.ints[at:]
}

// blocksOf is where the blocks that make part i lie in the operand, and how many elements they have.
func (h *halves) blocksOf(i int, b *blocks) (begin, n int64) {
	member := reversed(i, h.team.size)
	last := h.team.rank(member)
	first := last
	if h.team.paired(member) {
		first = last - 1
	}
	for r := first; r <= last; r++ {
		n += b.count(r)
	}
	return b.begin(first), n
}

// eachPart does something with each part of the copy and where it comes from in an operand.
func (c *Call) eachPart(h *halves, b *blocks, operand core.Buffer, do func(op *core.Op, part, theirs core.Buffer), op *core.Op) {
	for i := range h.team.size {
		begin, n := h.blocksOf(i, b)
		do(op, h.parts(i, i+1), part(operand, begin, n))
	}
}

// reversed is i < n with its bits reversed, n = 2^k.
func reversed(i, n int) int {
	if n == 1 {
		return 0
	}
	return int(bits.Reverse64(uint64(i)) >> (65 - bits.Len(uint(n))))
}

// reduceScatterRing: block i starts at rank i+1 and goes around the ring to rank i, each adding its operand; so the operation must
// commute.
func reduceScatterRing(c *Call, a *Args) {
	own := a.own()
	if own.Bytes() == 0 {
		return
	}
	b := c.blocksOf(a)
	n, rank := c.size, c.rank
	next, prev := (rank+1)%n, (rank-1+n)%n
	most := int64(0)
	for i := range n {
		most = max(most, b.count(i))
	}
	double := c.typed(0, own.Type(), 2*most)
	out := b.of(own, prev)
	for s := 2; s <= n; s++ {
		i := (rank - s + n) % n
		in := part(double, int64(s%2)*most, b.count(i))
		if s == n && !a.Send.IsInPlace() {
			in = c.result(a, &b)
		}
		c.ringStep(out, next, in, prev)
		if in.Bytes() > 0 {
			c.apply(a.Op, b.of(own, i), in)
		}
		out = in
	}
	if n == 1 || a.Send.IsInPlace() {
		c.copyUnlessSame(c.result(a, &b), out)
	}
}

// reduceScatterDoubling: an allreduce by recursive doubling, of which each keeps its block: the fewest rounds, the most data.
func reduceScatterDoubling(c *Call, a *Args) {
	own := a.own()
	if own.Bytes() == 0 {
		return
	}
	b := c.blocksOf(a)
	sum := c.typed(1, own.Type(), own.Count())
	c.doubling(own, sum, a.Op)
	c.copy(c.result(a, &b), b.of(sum, c.rank))
}

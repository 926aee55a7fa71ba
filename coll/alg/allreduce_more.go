package alg

import "github.com/ompi-go/ompi-go/core"

// allreduceLinear: rank 0 combines everybody's operands and tells everybody.
func allreduceLinear(c *Call, a *Args) {
	own, recv := a.own(), a.sum()
	if own.Bytes() == 0 {
		return
	}
	c.reduceLinear(own, recv, a.Op, 0)
	if c.rank != 0 {
		c.recv(recv, 0)
		return
	}
	for i := 1; i < c.size; i++ {
		c.isend(recv, i)
	}
	c.wait()
}

// allreduceSegmentedRing is the ring with each block exchanged in segments: one is combined, and still in the cache, while the next
// is on its way.
func allreduceSegmentedRing(c *Call, a *Args) {
	own, recv := a.own(), a.sum()
	switch {
	case own.Bytes() == 0:
	case c.size > 1:
		c.segmentedRing(own, recv, a.Op, a.segment(own))
	case !a.Send.IsInPlace():
		c.copy(recv, own)
	}
}

func (c *Call) segmentedRing(own, recv core.Buffer, op *core.Op, segment int64) {
	n, rank := c.size, c.rank
	next, prev := (rank+1)%n, (rank-1+n)%n
	segment = min(segment, share(own.Count(), 1, n))
	if segment == 0 {
		segment = 1 // fewer elements than ranks: the first block has one, if any
	}
	in := c.typed(0, own.Type(), 2*segment)
	out := c.segment(own, rank)
	for s := 1; s < n; s++ {
		b := (rank - s + n) % n
		mine, result := c.segment(own, b), c.segment(recv, b)
		steps := max(pieces(out, segment), pieces(result, segment))
		c.beginPiece(out, result, in, 0, segment, next, prev)
		c.wait()
		for k := range steps {
			if k+1 < steps {
				c.beginPiece(out, result, in, k+1, segment, next, prev)
			}
			if k*segment < result.Count() {
				sum := piece(result, k, segment)
				c.copyUnlessSame(sum, piece(mine, k, segment))
				c.apply(op, part(in, k%2*segment, sum.Count()), sum)
			}
			c.wait()
		}
		out = result
	}
	for s := 0; s < n-1; s++ {
		c.ringStep(c.segment(recv, (rank+1-s+n)%n), next, c.segment(recv, (rank-s+n)%n), prev)
	}
}

// beginPiece starts to send piece k of out and to receive that of a block like result into the double buffer in.
func (c *Call) beginPiece(out, result, in core.Buffer, k, segment int64, next, prev int) {
	if k*segment < result.Count() {
		c.irecv(part(in, k%2*segment, piece(result, k, segment).Count()), prev)
	}
	if k*segment < out.Count() {
		c.isend(piece(out, k, segment), next)
	}
}

// copyUnlessSame is for in-place operations, in which own and result are one.
func (c *Call) copyUnlessSame(dst, src core.Buffer) {
	if dst.Addr() != src.Addr() {
		c.copy(dst, src)
	}
}

package alg

import "github.com/ompi-go/ompi-go/core"

// Every algorithm gives the same bits on every rank: each combines the operands of an element in one way only.

// allreduceDoubling is recursive doubling.
func allreduceDoubling(c *Call, a *Args) {
	if own := a.own(); own.Bytes() > 0 {
		c.doubling(own, a.sum(), a.Op)
	}
}

// allreduceRing is a ring of reduce-scatter and one of allgather.
func allreduceRing(c *Call, a *Args) {
	own, recv := a.own(), a.sum()
	switch {
	case own.Bytes() == 0:
	case c.size > 1:
		c.ring(own, recv, a.Op)
	case !a.Send.IsInPlace():
		c.copy(recv, own)
	}
}

// allreduceReduceBcast reduces to rank 0, which tells all.
func allreduceReduceBcast(c *Call, a *Args) {
	if own, recv := a.own(), a.sum(); own.Bytes() > 0 {
		c.reduce(own, recv, a.Op, 0)
		c.bcast(recv, 0)
	}
}

// doubling is recursive doubling: 2^k groups of neighbouring ranks merge in pairs, each rank exchanging what its group has with
// its counterpart in the other. What is above a power of two first joins a neighbour, which later hands it the result; so groups
// are always ranges of ranks. The order of operands is kept even when the operation commutes, because Max and Min do not quite:
// NaN and the two zeros would otherwise give different results on different ranks.
func (c *Call) doubling(own, recv core.Buffer, op *core.Op) {
	n, rank := c.size, c.rank
	groups := floorPow2(n)
	extra := n - groups // pairs of ranks (0,1), (2,3), ... that begin as one group
	if rank < 2*extra && rank%2 == 0 {
		c.send(own, rank+1)
		c.recv(recv, rank+1)
		return
	}
	f := fold{c: c, op: op, own: own, acc: own, a: recv, b: c.typed(0, recv.Type(), recv.Count())}
	me := rank - extra
	if rank < 2*extra {
		me = rank / 2
		in := f.free()
		c.recv(in, rank-1)
		f.left(in)
	}
	for mask := 1; mask < groups; mask <<= 1 {
		other := me ^ mask
		peer := other + extra
		if other < extra {
			peer = 2*other + 1
		}
		in := f.free()
		c.exchange(f.acc, peer, in, peer)
		if other < me {
			f.left(in)
		} else {
			f.right(in)
		}
	}
	if f.acc.Addr() != recv.Addr() {
		c.copy(recv, f.acc)
	}
	if rank < 2*extra {
		c.send(recv, rank-1)
	}
}

// fold combines operands that arrive from either side. acc is what has been combined: in own, which is the caller's and not
// written, or in a or b. It may be that own is a.
type fold struct {
	c        *Call
	op       *core.Op
	own, acc core.Buffer
	a, b     core.Buffer
}

// free is the buffer for the next operand.
func (f *fold) free() core.Buffer {
	if f.acc.Addr() == f.a.Addr() {
		return f.b
	}
	return f.a
}

// left combines in op acc; in is what free gave.
func (f *fold) left(in core.Buffer) {
	if f.acc.Addr() == f.own.Addr() && f.own.Addr() != f.a.Addr() {
		f.c.copy(f.b, f.own) // in is a
		f.acc = f.b
	}
	f.c.apply(f.op, in, f.acc)
}

// right combines acc op in; in is what free gave.
func (f *fold) right(in core.Buffer) {
	f.c.apply(f.op, f.acc, in)
	f.acc = in
}

// ring reduces and distributes in 2(n-1) steps between neighbours, each of one n-th of the data; every byte crosses each link
// twice and no rank is a bottleneck. Operands are combined in the order of the ring, so the operation must commute.
//
// Step s of the first half: send the block that was completed last (at first the own one), receive the block before it, and
// combine it with the own operand. After it, rank r has all of block r+1, and in the second half blocks travel on as they are.
func (c *Call) ring(own, recv core.Buffer, op *core.Op) {
	n, rank := c.size, c.rank
	next, prev := (rank+1)%n, (rank-1+n)%n
	inPlace := own.Addr() == recv.Addr()
	out := c.segment(own, rank)
	for s := 1; s < n; s++ {
		b := (rank - s + n) % n
		mine, result := c.segment(own, b), c.segment(recv, b)
		if inPlace {
			in := c.typed(0, recv.Type(), result.Count())
			c.ringStep(out, next, in, prev)
			if result.Count() > 0 {
				c.apply(op, in, result)
			}
		} else {
			c.ringStep(out, next, result, prev)
			if result.Count() > 0 {
				c.apply(op, mine, result)
			}
		}
		out = result
	}
	for s := 0; s < n-1; s++ {
		c.ringStep(c.segment(recv, (rank+1-s+n)%n), next, c.segment(recv, (rank-s+n)%n), prev)
	}
}

// segment is the i-th of n nearly equal parts of b.
func (c *Call) segment(b core.Buffer, i int) core.Buffer { return shares(b, i, i+1, c.size) }

// ringStep is an exchange that leaves out empty messages; both ends know which are.
func (c *Call) ringStep(out core.Buffer, next int, in core.Buffer, prev int) {
	switch {
	case in.Bytes() > 0 && out.Bytes() > 0:
		c.exchange(out, next, in, prev)
	case in.Bytes() > 0:
		c.recv(in, prev)
	case out.Bytes() > 0:
		c.send(out, next)
	}
}

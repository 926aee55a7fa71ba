package alg

import "github.com/ompi-go/ompi-go/core"

// Reduce-scatter: block i of the sum of all operands goes to rank i. In place, the operand is in recv and the block comes to its
// beginning.

// blocks are the elements of the blocks of a reduce-scatter: where block i begins and how many elements it has.
type blocks struct {
	displs, counts []int
	each           int // elements of every block, when counts is nil
}

func (b *blocks) begin(i int) int64 {
	if b.counts == nil {
		return int64(i * b.each)
	}
	return int64(b.displs[i])
}

func (b *blocks) count(i int) int64 {
	if b.counts == nil {
		return int64(b.each)
	}
	return int64(b.counts[i])
}

func (b *blocks) of(buf core.Buffer, i int) core.Buffer { return part(buf, b.begin(i), b.count(i)) }

func (c *Call) blocksOf(a *Args) blocks {
	if a.Kind == ReduceScatterBlock {
		return blocks{each: int(a.own().Count()) / c.size}
	}
	return blocks{displs: c.displacements(a.RecvCounts, nil), counts: a.RecvCounts}
}

// result is where the rank's block belongs.
func (c *Call) result(a *Args, b *blocks) core.Buffer { return part(a.Recv, 0, b.count(c.rank)) }

// reduceScatterBasic reduces to rank 0, which deals the blocks out.
func reduceScatterBasic(c *Call, a *Args) {
	own := a.own()
	if own.Bytes() == 0 {
		return
	}
	b := c.blocksOf(a)
	sum := own
	if c.rank == 0 {
		sum = c.typed(2, own.Type(), own.Count())
	}
	c.reduce(own, sum, a.Op, 0)
	if c.rank != 0 {
		if in := c.result(a, &b); in.Bytes() > 0 {
			c.recv(in, 0)
		}
		return
	}
	for i := 1; i < c.size; i++ {
		if out := b.of(sum, i); out.Bytes() > 0 {
			c.isend(out, i)
		}
	}
	c.copy(c.result(a, &b), b.of(sum, 0))
	c.wait()
}

// reduceScatterPairwise: in step s everybody sends the block of the rank s further on and combines what the rank s before sends for
// its own. Each byte travels once; operands of an element are combined in an order that depends on its rank, so the operation must
// commute.
func reduceScatterPairwise(c *Call, a *Args) {
	own := a.own()
	if own.Bytes() == 0 {
		return
	}
	b := c.blocksOf(a)
	mine := b.count(c.rank)
	// The result is put together apart when it would overwrite blocks still to be sent.
	acc := c.result(a, &b)
	if a.Send.IsInPlace() {
		acc = c.typed(1, own.Type(), mine)
	}
	c.copy(acc, b.of(own, c.rank))
	for s := 1; s < c.size; s++ {
		to, from := (c.rank+s)%c.size, (c.rank-s+c.size)%c.size
		in := c.typed(0, own.Type(), mine)
		c.ringStep(b.of(own, to), to, in, from)
		if in.Bytes() > 0 {
			c.apply(a.Op, in, acc)
		}
	}
	if a.Send.IsInPlace() {
		c.copy(c.result(a, &b), acc)
	}
}

package alg

import "github.com/ompi-go/ompi-go/core"

// alltoallPairwise: in step s everybody sends to the rank s further on and receives from the rank s before. In place, ranks swap
// their blocks in pairs.
func alltoallPairwise(c *Call, a *Args) {
	if a.Recv.Bytes() == 0 {
		return
	}
	n := int64(c.size)
	in, out := a.Recv.Count()/n, a.Send.Count()/n
	if a.Send.IsInPlace() {
		for s := range c.size {
			if peer := c.swapPeer(s); peer != c.rank {
				c.swap(part(a.Recv, int64(peer)*in, in), peer)
			}
		}
		return
	}
	c.copy(part(a.Recv, int64(c.rank)*in, in), part(a.Send, int64(c.rank)*out, out))
	for s := 1; s < c.size; s++ {
		to, from := (c.rank+s)%c.size, (c.rank-s+c.size)%c.size
		c.exchange(part(a.Send, int64(to)*out, out), to, part(a.Recv, int64(from)*in, in), from)
	}
}

// alltoallvPairwise is the same with blocks of different sizes. In place the counts and displacements of the receiving side hold for
// both, and any two ranks agree about the size of what they exchange (MPI-3.1 §5.8). Empty blocks send no message.
func alltoallvPairwise(c *Call, a *Args) {
	recvDispls := c.displacements(a.RecvCounts, a.RecvDispls)
	in := func(i int) core.Buffer { return part(a.Recv, int64(recvDispls[i]), int64(a.RecvCounts[i])) }
	if a.Send.IsInPlace() {
		c.swapAll(in)
		return
	}
	sendDispls := c.displacements(a.SendCounts, a.SendDispls)
	c.pairwise(func(i int) core.Buffer { return part(a.Send, int64(sendDispls[i]), int64(a.SendCounts[i])) }, in)
}

// alltoallwPairwise is the same with a buffer a peer.
func alltoallwPairwise(c *Call, a *Args) {
	in := func(i int) core.Buffer { return a.Recvs[i] }
	if len(a.Sends) == 1 && a.Sends[0].IsInPlace() {
		c.swapAll(in)
		return
	}
	c.pairwise(func(i int) core.Buffer { return a.Sends[i] }, in)
}

// swapAll swaps block i with rank i.
func (c *Call) swapAll(block func(i int) core.Buffer) {
	for s := range c.size {
		if peer := c.swapPeer(s); peer != c.rank {
			c.swap(block(peer), peer)
		}
	}
}

// pairwise sends block out(i) to rank i and receives in(i) from it, leaving out what is empty.
func (c *Call) pairwise(out, in func(i int) core.Buffer) {
	c.copy(in(c.rank), out(c.rank))
	for s := 1; s < c.size; s++ {
		to, from := (c.rank+s)%c.size, (c.rank-s+c.size)%c.size
		c.ringStep(out(to), to, in(from), from)
	}
}

// swapPeer is whom this rank meets in step s of n: every two ranks meet in exactly one step, some rank itself.
func (c *Call) swapPeer(s int) int { return (s - c.rank + c.size) % c.size }

// swap exchanges a block with peer's of the same size. It travels packed, so that gaps cost nothing.
func (c *Call) swap(block core.Buffer, peer int) {
	if block.Bytes() == 0 {
		return
	}
	out := c.packedLike(0, block.Bytes(), block)
	c.copy(out, block)
	c.exchange(out, peer, block, peer)
}

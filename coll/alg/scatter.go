package alg

import "github.com/ompi-go/ompi-go/core"

// scatterBlock is the size of a block in bytes, equal on all ranks.
func (c *Call) scatterBlock(a *Args) int64 {
	if c.rank == a.Root {
		return a.Send.Bytes() / int64(c.size)
	}
	return a.Recv.Bytes()
}

// scatterOwn takes the root's own block.
func (c *Call) scatterOwn(a *Args) {
	if c.rank == a.Root && !a.Recv.IsInPlace() {
		count := a.Send.Count() / int64(c.size)
		c.copy(a.Recv, part(a.Send, int64(a.Root)*count, count))
	}
	c.wait()
}

// scatterLinear: the root sends to everybody at once, each block from where it lies.
func scatterLinear(c *Call, a *Args) {
	if c.scatterBlock(a) > 0 {
		c.scatterAll(a.Send, a.Recv, a.Root)
		c.scatterOwn(a)
	}
}

// scatterBinomial deals out down a binomial tree.
func scatterBinomial(c *Call, a *Args) {
	if block := c.scatterBlock(a); block > 0 {
		c.scatterTree(a.Send, a.Recv, a.Root, block)
		c.scatterOwn(a)
	}
}

// scattervLinear deals out blocks of different sizes; counts and displacements matter at the root only. Empty blocks send no message.
func scattervLinear(c *Call, a *Args) {
	if c.rank != a.Root {
		if a.Recv.Bytes() > 0 {
			c.recv(a.Recv, a.Root)
		}
		return
	}
	displs := c.displacements(a.SendCounts, a.SendDispls)
	for i, n := range a.SendCounts {
		block := part(a.Send, int64(displs[i]), int64(n))
		switch {
		case i != a.Root && block.Bytes() > 0:
			c.isend(block, i)
		case i == a.Root && !a.Recv.IsInPlace():
			c.copy(a.Recv, block)
		}
	}
	c.wait()
}

// scatterAll sends to everybody at once, each block from where it lies.
func (c *Call) scatterAll(send, recv core.Buffer, root int) {
	if c.rank != root {
		c.recv(recv, root)
		return
	}
	count := send.Count() / int64(c.size)
	for i := range c.size {
		if i != root {
			c.isend(part(send, int64(i)*count, count), i)
		}
	}
}

// scatterTree deals out down a binomial tree: with ranks counted from the root, rank v hears from v without its lowest bit and
// gets the packed blocks of v..v+2^k-1, of which it passes halves on. The root sends blocks from where they lie, unless they wrap
// around the last rank.
func (c *Call) scatterTree(send, recv core.Buffer, root int, block int64) {
	n := c.size
	v := (c.rank - root + n) % n
	full := subtree(v, n)
	have := min(full, n-v)
	if v != 0 && have == 1 {
		c.recv(recv, (v&^full+root)%n)
		return
	}
	var all core.Buffer
	var count int64
	if v == 0 {
		count = send.Count() / int64(n)
	} else {
		all = c.packedLike(0, int64(have)*block, recv)
		c.recv(all, (v&^full+root)%n)
	}
	for mask := full >> 1; mask > 0; mask >>= 1 {
		child := v | mask
		if child >= n {
			continue
		}
		blocks := min(mask, n-child)
		to := (child + root) % n
		switch {
		case v != 0:
			c.isend(part(all, int64(child-v)*block, int64(blocks)*block), to)
		case to+blocks <= n:
			c.isend(part(send, int64(to)*count, int64(blocks)*count), to)
		default: // at most one child's blocks wrap around
			out := c.packedLike(0, int64(blocks)*block, send)
			head := int64(n - to)
			c.copy(part(out, 0, head*block), part(send, int64(to)*count, head*count))
			tail := int64(blocks) - head
			c.copy(part(out, head*block, tail*block), part(send, 0, tail*count))
			c.isend(out, to)
		}
	}
	if v != 0 {
		c.copy(recv, part(all, 0, block))
	}
	c.wait()
}

package alg

import "github.com/ompi-go/ompi-go/core"

// gatherOwn puts the root's own block into its place, and gives the size of a block in bytes, which is equal on all ranks.
func (c *Call) gatherOwn(a *Args) int64 {
	if c.rank != a.Root {
		return a.Send.Bytes()
	}
	count := a.Recv.Count() / int64(c.size)
	if !a.Send.IsInPlace() {
		c.copy(part(a.Recv, int64(a.Root)*count, count), a.Send)
	}
	return a.Recv.Bytes() / int64(c.size)
}

// gatherLinear: the root receives from everybody at once, each block where it belongs.
func gatherLinear(c *Call, a *Args) {
	if c.gatherOwn(a) > 0 {
		c.gatherAll(a.Send, a.Recv, a.Root)
		c.wait()
	}
}

// gatherBinomial collects up a binomial tree.
func gatherBinomial(c *Call, a *Args) {
	if block := c.gatherOwn(a); block > 0 {
		c.gatherTree(a.Send, a.Recv, a.Root, block)
	}
}

// gathervLinear collects blocks of different sizes; counts and displacements matter at the root only. Empty blocks send no message.
func gathervLinear(c *Call, a *Args) {
	if c.rank != a.Root {
		if a.Send.Bytes() > 0 {
			c.send(a.Send, a.Root)
		}
		return
	}
	displs := c.displacements(a.RecvCounts, a.RecvDispls)
	for i, n := range a.RecvCounts {
		block := part(a.Recv, int64(displs[i]), int64(n))
		switch {
		case i != a.Root && block.Bytes() > 0:
			c.irecv(block, i)
		case i == a.Root && !a.Send.IsInPlace():
			c.copy(block, a.Send)
		}
	}
	c.wait()
}

// gatherAll receives from everybody at once, each block where it belongs.
func (c *Call) gatherAll(send, recv core.Buffer, root int) {
	if c.rank != root {
		c.send(send, root)
		return
	}
	count := recv.Count() / int64(c.size)
	for i := range c.size {
		if i != root {
			c.irecv(part(recv, int64(i)*count, count), i)
		}
	}
}

// gatherTree collects up a binomial tree: with ranks counted from the root, rank v collects the packed blocks of v..v+2^k-1 and
// sends them on to v without its lowest bit. At the root they go straight to their place, unless they wrap around the last rank.
func (c *Call) gatherTree(send, recv core.Buffer, root int, block int64) {
	n := c.size
	v := (c.rank - root + n) % n
	have := min(subtree(v, n), n-v) // blocks this rank will have
	if v != 0 && have == 1 {
		c.send(send, (v&^(v&-v)+root)%n)
		return
	}
	var all core.Buffer
	var count int64
	if v == 0 {
		count = recv.Count() / int64(n)
	} else {
		all = c.packedLike(0, int64(have)*block, send)
		c.copy(part(all, 0, block), send)
	}
	for mask := 1; v|mask < n && v&mask == 0; mask <<= 1 {
		child := v | mask
		blocks := min(mask, n-child)
		from := (child + root) % n
		switch {
		case v != 0:
			c.irecv(part(all, int64(child-v)*block, int64(blocks)*block), from)
		case from+blocks <= n:
			c.irecv(part(recv, int64(from)*count, int64(blocks)*count), from)
		default:
			in := c.packedLike(0, int64(blocks)*block, recv)
			c.recv(in, from)
			head := int64(n - from)
			c.copy(part(recv, int64(from)*count, head*count), part(in, 0, head*block))
			tail := int64(blocks) - head
			c.copy(part(recv, 0, tail*count), part(in, head*block, tail*block))
		}
	}
	c.wait()
	if v != 0 {
		c.send(all, (v&^(v&-v)+root)%n)
	}
}

// subtree is how many ranks the tree below v (v included) has in a full tree of at least n ranks.
func subtree(v, n int) int {
	if v == 0 {
		return ceilPow2(n)
	}
	return v & -v
}

package basic

import "github.com/ompi-go/ompi-go/core"

// Gather collects one block of each rank in rank order. recv, at the root, is the whole buffer.
func (m *module) Gather(send, recv core.Buffer, root int) error {
	n := int64(m.size)
	block := send.Bytes() // of equal size everywhere; at the root the send buffer may be in place
	if m.rank == root {
		block = recv.Bytes() / n
	}
	if block == 0 {
		return nil
	}
	c := m.begin(tagGather)
	if m.rank == root {
		count := recv.Count() / n
		if !send.IsInPlace() {
			c.copy(part(recv, int64(root)*count, count), send)
		}
	}
	if m.size > 2 && block <= m.opts.GatherShort {
		c.gatherTree(send, recv, root, block)
	} else {
		c.gatherAll(send, recv, root)
	}
	return c.end()
}

// gatherAll receives from everybody at once, each block where it belongs.
func (c *call) gatherAll(send, recv core.Buffer, root int) {
	if c.m.rank != root {
		c.send(send, root)
		return
	}
	count := recv.Count() / int64(c.m.size)
	for i := range c.m.size {
		if i != root {
			c.irecv(part(recv, int64(i)*count, count), i)
		}
	}
}

// gatherTree collects up a binomial tree: with ranks counted from the root, rank v collects the packed blocks of v..v+2^k-1 and
// sends them on to v without its lowest bit. At the root they go straight to their place, unless they wrap around the last rank.
func (c *call) gatherTree(send, recv core.Buffer, root int, block int64) {
	n := c.m.size
	v := (c.m.rank - root + n) % n
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
		all = c.packed(0, int64(have)*block)
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
			in := c.packed(0, int64(blocks)*block)
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

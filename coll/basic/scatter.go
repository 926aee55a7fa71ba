package basic

import "github.com/ompi-go/ompi-go/core"

// Scatter deals out the root's buffer, one block to each rank in rank order. send, at the root, is the whole buffer.
func (m *module) Scatter(send, recv core.Buffer, root int) error {
	n := int64(m.size)
	block := recv.Bytes() // of equal size everywhere; at the root the receive buffer may be in place
	if m.rank == root {
		block = send.Bytes() / n
	}
	if block == 0 {
		return nil
	}
	c := m.begin(tagScatter)
	if m.size > 2 && block <= m.opts.GatherShort {
		c.scatterTree(send, recv, root, block)
	} else {
		c.scatterAll(send, recv, root)
	}
	if m.rank == root && !recv.IsInPlace() {
		count := send.Count() / n
		c.copy(recv, part(send, int64(root)*count, count))
	}
	return c.end()
}

// scatterAll sends to everybody at once, each block from where it lies.
func (c *call) scatterAll(send, recv core.Buffer, root int) {
	if c.m.rank != root {
		c.recv(recv, root)
		return
	}
	count := send.Count() / int64(c.m.size)
	for i := range c.m.size {
		if i != root {
			c.isend(part(send, int64(i)*count, count), i)
		}
	}
}

// scatterTree deals out down a binomial tree: with ranks counted from the root, rank v hears from v without its lowest bit and
// gets the packed blocks of v..v+2^k-1, of which it passes halves on. The root sends blocks from where they lie, unless they wrap
// around the last rank.
func (c *call) scatterTree(send, recv core.Buffer, root int, block int64) {
	n := c.m.size
	v := (c.m.rank - root + n) % n
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
		all = c.packed(0, int64(have)*block)
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
			out := c.packed(0, int64(blocks)*block)
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

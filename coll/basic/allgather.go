package basic

import "github.com/ompi-go/ompi-go/core"

// Allgather collects one block of each rank everywhere. recv is the whole buffer; a send buffer in place means that the rank's
// block is there already.
func (m *module) Allgather(send, recv core.Buffer) error {
	if recv.Bytes() == 0 {
		return nil
	}
	c := m.begin(tagAllgather)
	count := recv.Count() / int64(m.size)
	if !send.IsInPlace() {
		c.copy(part(recv, int64(m.rank)*count, count), send)
	}
	if m.size == floorPow2(m.size) && recv.Bytes() <= m.opts.AllgatherShort {
		c.allgatherDoubling(recv, count)
	} else {
		c.allgatherRing(recv, count)
	}
	return c.end()
}

// allgatherDoubling: in round k ranks that differ in bit k exchange the 2^k blocks that each has.
func (c *call) allgatherDoubling(recv core.Buffer, count int64) {
	for mask := 1; mask < c.m.size; mask <<= 1 {
		peer := c.m.rank ^ mask
		mine, theirs := c.m.rank&^(mask-1), peer&^(mask-1)
		n := int64(mask) * count
		c.exchange(part(recv, int64(mine)*count, n), peer, part(recv, int64(theirs)*count, n), peer)
	}
}

// allgatherRing: everybody passes on to the next rank what came from the one before.
func (c *call) allgatherRing(recv core.Buffer, count int64) {
	n, rank := c.m.size, c.m.rank
	for s := range n - 1 {
		out, in := (rank-s+n)%n, (rank-s-1+n)%n
		c.exchange(part(recv, int64(out)*count, count), (rank+1)%n, part(recv, int64(in)*count, count), (rank-1+n)%n)
	}
}

package basic

import "github.com/ompi-go/ompi-go/core"

// Alltoall gives each rank its block of everybody's buffer. Both are whole buffers.
func (m *module) Alltoall(send, recv core.Buffer) error {
	if recv.Bytes() == 0 {
		return nil
	}
	n := int64(m.size)
	in, out := recv.Count()/n, send.Count()/n
	c := m.begin(tagAlltoall)
	if send.IsInPlace() {
		for s := range m.size {
			if peer := c.swapPeer(s); peer != m.rank {
				c.swap(part(recv, int64(peer)*in, in), peer)
			}
		}
		return c.end()
	}
	c.copy(part(recv, int64(m.rank)*in, in), part(send, int64(m.rank)*out, out))
	for s := 1; s < m.size; s++ {
		to, from := (m.rank+s)%m.size, (m.rank-s+m.size)%m.size
		c.exchange(part(send, int64(to)*out, out), to, part(recv, int64(from)*in, in), from)
	}
	return c.end()
}

// swapPeer is whom this rank meets in step s of n: every two ranks meet in exactly one step, some rank itself.
func (c *call) swapPeer(s int) int { return (s - c.m.rank + c.m.size) % c.m.size }

// swap exchanges a block with peer's of the same size. It travels packed, so that gaps cost nothing.
func (c *call) swap(block core.Buffer, peer int) {
	if block.Bytes() == 0 {
		return
	}
	out := c.packed(0, block.Bytes())
	c.copy(out, block)
	c.exchange(out, peer, block, peer)
}

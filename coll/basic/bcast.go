package basic

import "github.com/ompi-go/ompi-go/core"

// Bcast sends down a binomial tree.
func (m *module) Bcast(buf core.Buffer, root int) error {
	if m.size == 1 || buf.Bytes() == 0 {
		return nil
	}
	c := m.begin(tagBcast)
	c.bcast(buf, root)
	return c.end()
}

// bcast: with ranks counted from the root, rank v hears from v without its lowest bit and tells those that v gives with one lower
// bit set. The rank with the largest tree below it is told first.
func (c *call) bcast(buf core.Buffer, root int) {
	n := c.m.size
	v := (c.m.rank - root + n) % n
	mask := ceilPow2(n)
	if v != 0 {
		mask = v & -v
		c.recv(buf, (v&^mask+root)%n)
	}
	for mask >>= 1; mask > 0; mask >>= 1 {
		if child := v | mask; child < n {
			c.isend(buf, (child+root)%n)
		}
	}
	c.wait()
}

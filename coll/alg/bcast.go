package alg

import "github.com/ompi-go/ompi-go/core"

// bcastBinomial sends down a binomial tree.
func bcastBinomial(c *Call, a *Args) {
	if a.Send.Bytes() > 0 {
		c.bcast(a.Send, a.Root)
	}
}

// bcast: with ranks counted from the root, rank v hears from v without its lowest bit and tells those that v gives with one lower
// bit set. The rank with the largest tree below it is told first.
func (c *Call) bcast(buf core.Buffer, root int) {
	n := c.size
	v := (c.rank - root + n) % n
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

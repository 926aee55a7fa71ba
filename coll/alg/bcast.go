package alg

import "github.com/ompi-go/ompi-go/core"

// bcastBinomial sends down a binomial tree.
func bcastBinomial(c *Call, a *Args) {
	if a.Send.Bytes() > 0 {
		c.bcast(a.Send, a.Root)
	}
}

// bcastLinear: the root sends to everybody at once.
func bcastLinear(c *Call, a *Args) {
	switch {
	case a.Send.Bytes() == 0:
	case c.rank != a.Root:
		c.recv(a.Send, a.Root)
	default:
		for i := 1; i < c.size; i++ {
			c.isend(a.Send, (a.Root+i)%c.size)
		}
		c.wait()
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

// bcastScatterDoubling is van de Geijn's: a binomial scatter of equal parts, which an allgather by recursive doubling then brings to
// everybody; for 2^k ranks.
func bcastScatterDoubling(c *Call, a *Args) {
	if a.Send.Bytes() == 0 {
		return
	}
	n := c.size
	all := c.flat(0, a.Send, c.rank == a.Root)
	v := c.scatterShares(all, a.Root)
	for mask := 1; mask < n; mask <<= 1 {
		peer := v ^ mask
		mine, theirs := v&^(mask-1), peer&^(mask-1)
		to := (peer + a.Root) % n
		c.ringStep(shares(all, mine, mine+mask, n), to, shares(all, theirs, theirs+mask, n), to)
	}
	if c.rank != a.Root {
		c.unflat(a.Send, all)
	}
}

// bcastScatterRing is the same with an allgather around the ring.
func bcastScatterRing(c *Call, a *Args) {
	if a.Send.Bytes() == 0 {
		return
	}
	n := c.size
	all := c.flat(0, a.Send, c.rank == a.Root)
	v := c.scatterShares(all, a.Root)
	next, prev := (c.rank+1)%n, (c.rank-1+n)%n
	for s := range n - 1 {
		out, in := (v-s+n)%n, (v-s-1+n)%n
		c.ringStep(shares(all, out, out+1, n), next, shares(all, in, in+1, n), prev)
	}
	if c.rank != a.Root {
		c.unflat(a.Send, all)
	}
}

// scatterShares leaves part v of n at rank v, counted from the root, and gives v: down a binomial tree, in which each gets the parts of
// all ranks below it, to where they lie in the end.
func (c *Call) scatterShares(all core.Buffer, root int) int {
	n := c.size
	v := (c.rank - root + n) % n
	full := subtree(v, n)
	if v != 0 {
		if mine := shares(all, v, min(v+full, n), n); mine.Bytes() > 0 {
			c.recv(mine, (v&^full+root)%n)
		}
	}
	for mask := full >> 1; mask > 0; mask >>= 1 {
		child := v | mask
		if child >= n {
			continue
		}
		if theirs := shares(all, child, min(child+mask, n), n); theirs.Bytes() > 0 {
			c.isend(theirs, (child+root)%n)
		}
	}
	c.wait()
	return v
}

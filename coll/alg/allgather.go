package alg

import "github.com/ompi-go/ompi-go/core"

// allgatherOwn puts the own block into its place and gives the elements of a block; 0: there is nothing to do.
func (c *Call) allgatherOwn(a *Args) int64 {
	if a.Recv.Bytes() == 0 {
		return 0
	}
	count := a.Recv.Count() / int64(c.size)
	if !a.Send.IsInPlace() {
		c.copy(part(a.Recv, int64(c.rank)*count, count), a.Send)
	}
	return count
}

// allgatherDoubling is recursive doubling, for 2^k ranks.
func allgatherDoubling(c *Call, a *Args) {
	if count := c.allgatherOwn(a); count > 0 {
		c.allgatherDoubling(a.Recv, count)
	}
}

// allgatherRing: everybody passes on to the next rank what came from the one before.
func allgatherRing(c *Call, a *Args) {
	if count := c.allgatherOwn(a); count > 0 {
		c.allgatherRing(a.Recv, count)
	}
}

// allgatherDoubling: in round k ranks that differ in bit k exchange the 2^k blocks that each has.
func (c *Call) allgatherDoubling(recv core.Buffer, count int64) {
	for mask := 1; mask < c.size; mask <<= 1 {
		peer := c.rank ^ mask
		mine, theirs := c.rank&^(mask-1), peer&^(mask-1)
		n := int64(mask) * count
		c.exchange(part(recv, int64(mine)*count, n), peer, part(recv, int64(theirs)*count, n), peer)
	}
}

// allgatherRing: everybody passes on to the next rank what came from the one before.
func (c *Call) allgatherRing(recv core.Buffer, count int64) {
	n, rank := c.size, c.rank
	for s := range n - 1 {
		out, in := (rank-s+n)%n, (rank-s-1+n)%n
		c.exchange(part(recv, int64(out)*count, count), (rank+1)%n, part(recv, int64(in)*count, count), (rank-1+n)%n)
	}
}

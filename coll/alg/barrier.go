package alg

// barrierDissemination: in round k everybody tells the rank 2^k further on. After ceil(log2 n) rounds each rank has heard, directly
// or not, of all.
func barrierDissemination(c *Call, _ *Args) {
	for d := 1; d < c.size; d <<= 1 {
		c.exchange(nothing(), (c.rank+d)%c.size, nothing(), (c.rank-d+c.size)%c.size)
	}
}

// barrierLinear: all tell rank 0, which then tells all.
func barrierLinear(c *Call, _ *Args) {
	if c.rank != 0 {
		c.send(nothing(), 0)
		c.recv(nothing(), 0)
		return
	}
	for i := 1; i < c.size; i++ {
		c.irecv(nothing(), i)
	}
	c.wait()
	for i := 1; i < c.size; i++ {
		c.isend(nothing(), i)
	}
	c.wait()
}

// barrierTree: up a binomial tree and down again.
func barrierTree(c *Call, _ *Args) {
	mask := 1
	for ; mask < c.size && c.rank&mask == 0; mask <<= 1 {
		if child := c.rank | mask; child < c.size {
			c.recv(nothing(), child)
		}
	}
	if c.rank != 0 {
		c.send(nothing(), c.rank&^mask)
		c.recv(nothing(), c.rank&^mask)
	}
	for mask >>= 1; mask > 0; mask >>= 1 {
		if child := c.rank | mask; child < c.size {
			c.isend(nothing(), child)
		}
	}
	c.wait()
}

// barrierDoubling: in round k ranks that differ in bit k tell each other. What is above a power of two first tells a partner and
// hears from it in the end.
func barrierDoubling(c *Call, _ *Args) {
	groups := floorPow2(c.size)
	extra := c.size - groups
	if c.rank >= groups {
		c.send(nothing(), c.rank-groups)
		c.recv(nothing(), c.rank-groups)
		return
	}
	if c.rank < extra {
		c.recv(nothing(), c.rank+groups)
	}
	for mask := 1; mask < groups; mask <<= 1 {
		c.exchange(nothing(), c.rank^mask, nothing(), c.rank^mask)
	}
	if c.rank < extra {
		c.send(nothing(), c.rank+groups)
	}
}

// barrierRing: twice around, so that who hears the second time knows that all have come.
func barrierRing(c *Call, _ *Args) {
	if c.size == 1 {
		return
	}
	next, prev := (c.rank+1)%c.size, (c.rank-1+c.size)%c.size
	for range 2 {
		if c.rank > 0 {
			c.recv(nothing(), prev)
		}
		c.send(nothing(), next)
		if c.rank == 0 {
			c.recv(nothing(), prev)
		}
	}
}

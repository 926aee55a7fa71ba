package alg

// scanLinear: each rank combines what comes from the one before with its own and passes the sum on.
func scanLinear(c *Call, a *Args) {
	own, recv := a.own(), a.sum()
	if own.Bytes() == 0 {
		return
	}
	if !a.Send.IsInPlace() {
		c.copy(recv, own)
	}
	if c.rank > 0 {
		in := c.typed(0, own.Type(), own.Count())
		c.recv(in, c.rank-1)
		c.apply(a.Op, in, recv)
	}
	if c.rank < c.size-1 {
		c.send(recv, c.rank+1)
	}
}

// scanDoubling: in round k each rank hands the sum of its last 2^k ranks to the rank 2^k further on. Operands stay in order.
func scanDoubling(c *Call, a *Args) {
	own, recv := a.own(), a.sum()
	if own.Bytes() == 0 {
		return
	}
	if !a.Send.IsInPlace() {
		c.copy(recv, own)
	}
	for d := 1; d < c.size; d <<= 1 {
		in := c.typed(0, own.Type(), own.Count())
		if c.rank >= d {
			c.irecv(in, c.rank-d)
		}
		if c.rank+d < c.size {
			c.isend(recv, c.rank+d)
		}
		c.wait()
		if c.rank >= d {
			c.apply(a.Op, in, recv)
		}
	}
}

// exscanLinear is scanLinear without the own operand; rank 0's recv stays as it is.
func exscanLinear(c *Call, a *Args) {
	own, recv := a.own(), a.sum()
	if own.Bytes() == 0 {
		return
	}
	last := c.rank == c.size-1
	sum := own
	if c.rank > 0 && !last {
		sum = c.typed(0, own.Type(), own.Count())
		c.copy(sum, own)
	}
	if c.rank > 0 {
		c.recv(recv, c.rank-1)
		if !last {
			c.apply(a.Op, recv, sum)
		}
	}
	if !last {
		c.send(sum, c.rank+1)
	}
}

// exscanDoubling: as scanDoubling, but what came is kept apart from the own operand.
func exscanDoubling(c *Call, a *Args) {
	own, recv := a.own(), a.sum()
	if own.Bytes() == 0 {
		return
	}
	sum := c.typed(1, own.Type(), own.Count()) // of the last 2^k ranks
	c.copy(sum, own)
	for d := 1; d < c.size; d <<= 1 {
		in := c.typed(0, own.Type(), own.Count())
		if c.rank >= d {
			c.irecv(in, c.rank-d)
		}
		if c.rank+d < c.size {
			c.isend(sum, c.rank+d)
		}
		c.wait()
		if c.rank < d {
			continue
		}
		if d == 1 {
			c.copy(recv, in)
		} else {
			c.apply(a.Op, in, recv)
		}
		if c.rank+2*d < c.size {
			c.apply(a.Op, in, sum)
		}
	}
}

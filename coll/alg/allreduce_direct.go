package alg

// allreduceDirect: everybody gets from each rank the part of the data of which it takes care, combines those in the order of ranks,
// and sends the result to all. Two rounds of n-1 messages each way: on a host with more ranks than cores what counts is how
// often a rank must wait to be run, not how many messages it sends.
func allreduceDirect(c *Call, a *Args) {
	own := a.own()
	if a.Recv.Bytes() == 0 {
		return
	}
	n, rank := c.size, c.rank
	recv := part(a.Recv, 0, own.Count())
	mine := c.segment(own, rank).Count()
	parts := c.typed(0, own.Type(), mine*int64(n))
	if mine > 0 {
		for i := range n {
			if i != rank {
				c.irecv(part(parts, int64(i)*mine, mine), i)
			}
		}
	}
	for s := 1; s < n; s++ { // everybody begins with another one
		to := (rank + s) % n
		if out := c.segment(own, to); out.Count() > 0 {
			c.isend(out, to)
		}
	}
	result := c.segment(recv, rank)
	if mine > 0 {
		c.copy(part(parts, int64(rank)*mine, mine), c.segment(own, rank))
	}
	c.wait()
	if mine > 0 {
		acc := part(parts, 0, mine)
		for i := 1; i < n; i++ {
			next := part(parts, int64(i)*mine, mine)
			c.apply(a.Op, acc, next)
			acc = next
		}
		c.copy(result, acc)
	}
	for i := range n {
		if in := c.segment(recv, i); i != rank && in.Count() > 0 {
			c.irecv(in, i)
		}
	}
	if mine > 0 {
		for s := 1; s < n; s++ {
			c.isend(result, (rank+s)%n)
		}
	}
	c.wait()
}

package alg

import "github.com/ompi-go/ompi-go/core"

// window is the number of exchanges that alltoall's linear_sync has under way at a time.
const window = 8

// alltoallLinear: all messages at once.
func alltoallLinear(c *Call, a *Args) { alltoallWindow(c, a, c.size) }

// alltoallLinearSync: a few messages at a time.
func alltoallLinearSync(c *Call, a *Args) { alltoallWindow(c, a, window) }

func alltoallWindow(c *Call, a *Args, width int) {
	if a.Recv.Bytes() == 0 {
		return
	}
	n := int64(c.size)
	from, in, out := a.Send, a.Recv.Count()/n, a.Send.Count()/n
	if a.Send.IsInPlace() {
		// What is received comes to where the blocks to be sent are.
		from = c.packed(0, a.Recv.Bytes())
		out = from.Count() / n
		c.copy(from, a.Recv)
	} else {
		c.copy(part(a.Recv, int64(c.rank)*in, in), part(from, int64(c.rank)*out, out))
	}
	c.inWindows(width, func(i int) core.Buffer { return part(from, int64(i)*out, out) },
		func(i int) core.Buffer { return part(a.Recv, int64(i)*in, in) })
}

// inWindows sends out(i) to each other rank and receives in(i), a number of exchanges at a time; empty blocks send no message.
func (c *Call) inWindows(width int, out, in func(i int) core.Buffer) {
	n := c.size
	for first := 1; first < n; first += width {
		end := min(first+width, n)
		for s := first; s < end; s++ {
			from := (c.rank - s + n) % n
			if b := in(from); b.Bytes() > 0 {
				c.irecv(b, from)
			}
		}
		for s := first; s < end; s++ {
			to := (c.rank + s) % n
			if b := out(to); b.Bytes() > 0 {
				c.isend(b, to)
			}
		}
		c.wait()
	}
}

// alltoallvLinear: all messages at once.
func alltoallvLinear(c *Call, a *Args) {
	recvDispls := c.displacements(a.RecvCounts, a.RecvDispls)
	in := func(i int) core.Buffer { return part(a.Recv, int64(recvDispls[i]), int64(a.RecvCounts[i])) }
	if a.Send.IsInPlace() {
		c.linearInPlace(in)
		return
	}
	sendDispls := c.displacements(a.SendCounts, a.SendDispls)
	out := func(i int) core.Buffer { return part(a.Send, int64(sendDispls[i]), int64(a.SendCounts[i])) }
	c.copy(in(c.rank), out(c.rank))
	c.inWindows(c.size, out, in)
}

// alltoallwLinear: all messages at once.
func alltoallwLinear(c *Call, a *Args) {
	in := func(i int) core.Buffer { return a.Recvs[i] }
	if len(a.Sends) == 1 && a.Sends[0].IsInPlace() {
		c.linearInPlace(in)
		return
	}
	out := func(i int) core.Buffer { return a.Sends[i] }
	c.copy(in(c.rank), out(c.rank))
	c.inWindows(c.size, out, in)
}

// linearInPlace sends copies of the blocks, since what is received comes to where they are.
func (c *Call) linearInPlace(block func(i int) core.Buffer) {
	at := len(c.ints)
	sum := 0
	for i := range c.size {
		c.ints = append(c.ints, sum)
		sum += int(block(i).Bytes())
	}
	c.ints = append(c.ints, sum)
	offs := c.ints[at:]
	all := c.packed(0, int64(sum))
	out := func(i int) core.Buffer { return between(all, int64(offs[i]), int64(offs[i+1])) }
	for i := range c.size {
		if i != c.rank {
			c.copy(out(i), block(i))
		}
	}
	c.inWindows(c.size, out, block)
}

// alltoallBruck: in round k everybody sends all blocks that have bit k in the distance they have to go to the rank 2^k further on, in
// one message. Blocks travel in several steps, so it is for small ones.
func alltoallBruck(c *Call, a *Args) {
	if a.Recv.Bytes() == 0 {
		return
	}
	n, rank := int64(c.size), int64(c.rank)
	block := a.Recv.Bytes() / n
	from := a.Send
	if from.IsInPlace() {
		from = a.Recv
	}
	count, in := from.Count()/n, a.Recv.Count()/n
	all := c.packed(0, n*block) // by distance
	c.copy(part(all, 0, (n-rank)*block), part(from, rank*count, (n-rank)*count))
	c.copy(part(all, (n-rank)*block, rank*block), part(from, 0, rank*count))
	most := n / 2 * block // of blocks that have one bit set: 2^(k-1) of 2^k, never more than half
	out, got := c.packed(1, most), c.packed(2, most)
	for d := int64(1); d < n; d <<= 1 {
		size := c.bruckPick(all, out, d, block, true)
		c.exchange(part(out, 0, size), int((rank+d)%n), part(got, 0, size), int((rank-d+n)%n))
		c.bruckPick(all, got, d, block, false)
	}
	for i := range n {
		c.copy(part(a.Recv, (rank-i+n)%n*in, in), part(all, i*block, block))
	}
}

// bruckPick moves the blocks whose number has bit d from all to some, or back, and gives how many bytes they have. They come in runs of
// d blocks.
func (c *Call) bruckPick(all, some core.Buffer, d, block int64, out bool) int64 {
	n := int64(c.size)
	at := int64(0)
	for first := d; first < n; first += 2 * d {
		run := min(d, n-first) * block
		there, here := part(some, at, run), part(all, first*block, run)
		if out {
			c.copy(there, here)
		} else {
			c.copy(here, there)
		}
		at += run
	}
	return at
}

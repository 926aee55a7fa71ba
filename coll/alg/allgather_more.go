package alg

import "github.com/ompi-go/ompi-go/core"

// allgatherLinear: everybody sends to everybody at once.
func allgatherLinear(c *Call, a *Args) {
	count := c.allgatherOwn(a)
	if count == 0 {
		return
	}
	for s := 1; s < c.size; s++ {
		from := (c.rank - s + c.size) % c.size
		c.irecv(part(a.Recv, int64(from)*count, count), from)
	}
	for s := 1; s < c.size; s++ {
		c.isend(part(a.Recv, int64(c.rank)*count, count), (c.rank+s)%c.size)
	}
	c.wait()
}

// allgatherGatherBcast: to rank 0, which tells all: the fewest messages.
func allgatherGatherBcast(c *Call, a *Args) {
	count := c.allgatherOwn(a)
	if count == 0 {
		return
	}
	if c.rank == 0 {
		c.gatherAll(core.Buffer{}, a.Recv, 0)
		c.wait()
	} else {
		c.send(part(a.Recv, int64(c.rank)*count, count), 0)
	}
	c.bcast(a.Recv, 0)
}

// allgatherBruck: in round k everybody sends what it has, 2^k blocks at most, to the rank 2^k before. What it has begins with its own
// block and goes up in ranks; at the end it is turned.
func allgatherBruck(c *Call, a *Args) {
	count := c.allgatherOwn(a)
	if count == 0 {
		return
	}
	n, rank := int64(c.size), int64(c.rank)
	block := a.Recv.Bytes() / n
	all := c.packed(0, n*block)
	c.copy(part(all, 0, block), part(a.Recv, rank*count, count))
	for d := 1; d < c.size; d <<= 1 {
		blocks := int64(min(d, c.size-d))
		c.exchange(part(all, 0, blocks*block), (c.rank-d+c.size)%c.size, part(all, int64(d)*block, blocks*block), (c.rank+d)%c.size)
	}
	c.copy(part(a.Recv, rank*count, (n-rank)*count), part(all, 0, (n-rank)*block))
	c.copy(part(a.Recv, 0, rank*count), part(all, (n-rank)*block, rank*block))
}

// allgatherNeighbor is Chen's neighbour exchange, for an even number of ranks: pairs of neighbours exchange their blocks, and from then
// on everybody exchanges in turn with the neighbour on either side the two blocks that came last.
func allgatherNeighbor(c *Call, a *Args) {
	count := c.allgatherOwn(a)
	if count == 0 {
		return
	}
	w := newNeighborWalk(c.rank, c.size)
	block := func(i, n int) core.Buffer { return part(a.Recv, int64(i)*count, int64(n)*count) }
	c.exchange(block(c.rank, 1), w.peers[0], block(w.peers[0], 1), w.peers[0])
	for s := 1; s < c.size/2; s++ {
		peer, out, in := w.step(s)
		c.exchange(block(out, 2), peer, block(in, 2), peer)
	}
}

// neighborWalk is the course of a neighbour exchange at one rank.
type neighborWalk struct {
	n     int
	peers [2]int
	next  [2]int // the first of the two blocks that came last from each peer
	shift [2]int
	out   int // the first of the two blocks to send
}

func newNeighborWalk(rank, n int) neighborWalk {
	up, down := (rank+1)%n, (rank-1+n)%n
	if rank%2 == 0 {
		return neighborWalk{n, [2]int{up, down}, [2]int{rank, rank}, [2]int{2, n - 2}, rank}
	}
	return neighborWalk{n, [2]int{down, up}, [2]int{down, down}, [2]int{n - 2, 2}, down}
}

// step is whom to exchange with in step s from 1 on, and which two blocks.
func (w *neighborWalk) step(s int) (peer, out, in int) {
	side := s % 2
	w.next[side] = (w.next[side] + w.shift[side]) % w.n
	out, w.out = w.out, w.next[side]
	return w.peers[side], out, w.out
}

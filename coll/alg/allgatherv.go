package alg

import "github.com/ompi-go/ompi-go/core"

// spread are the blocks of an allgatherv in the receive buffer.
type spread struct {
	buf            core.Buffer
	counts, displs []int
}

func (s *spread) block(i int) core.Buffer {
	return part(s.buf, int64(s.displs[i]), int64(s.counts[i]))
}

// allgathervOwn puts the own block into its place.
func (c *Call) allgathervOwn(a *Args) spread {
	s := spread{a.Recv, a.RecvCounts, c.displacements(a.RecvCounts, a.RecvDispls)}
	if !a.Send.IsInPlace() {
		c.copy(s.block(c.rank), a.Send)
	}
	return s
}

// allgathervRing collects blocks of different sizes around the ring.
func allgathervRing(c *Call, a *Args) {
	all := c.allgathervOwn(a)
	n, rank := c.size, c.rank
	for s := range n - 1 {
		c.ringStep(all.block((rank-s+n)%n), (rank+1)%n, all.block((rank-s-1+n)%n), (rank-1+n)%n)
	}
}

// allgathervLinear: everybody sends to everybody at once. Empty blocks send no message.
func allgathervLinear(c *Call, a *Args) {
	all := c.allgathervOwn(a)
	for s := 1; s < c.size; s++ {
		from := (c.rank - s + c.size) % c.size
		if in := all.block(from); in.Bytes() > 0 {
			c.irecv(in, from)
		}
	}
	if own := all.block(c.rank); own.Bytes() > 0 {
		for s := 1; s < c.size; s++ {
			c.isend(own, (c.rank+s)%c.size)
		}
	}
	c.wait()
}

// packedBlocks is scratch memory for all blocks one behind the other, from that of rank first on and around.
type packedBlocks struct {
	spread
	first int
	mem   core.Buffer
	offs  []int // where each begins; the end
}

// packBlocks makes it. Only the blocks' own ranks say how many elements of which size they send: what all agree about is bytes.
func (c *Call) packBlocks(s spread, first int) packedBlocks {
	p := packedBlocks{spread: s, first: first}
	at := len(c.ints)
	sum := 0
	for i := range c.size {
		c.ints = append(c.ints, sum)
		sum += int(s.block((first + i) % c.size).Bytes())
	}
	c.ints = append(c.ints, sum)
	p.offs = c.ints[at:]
	p.mem = c.packed(0, int64(sum))
	return p
}

// parts is the memory of blocks i up to, not including, j, counted from first.
func (p *packedBlocks) parts(i, j int) core.Buffer {
	return between(p.mem, int64(p.offs[i]), int64(p.offs[j]))
}

// load and store move blocks i up to, not including, j between their place and the packed memory.
func (c *Call) load(p *packedBlocks, i, j int) {
	for ; i < j; i++ {
		c.copy(p.parts(i, i+1), p.block((p.first+i)%c.size))
	}
}

func (c *Call) store(p *packedBlocks, i, j int) {
	for ; i < j; i++ {
		c.copy(p.block((p.first+i)%c.size), p.parts(i, i+1))
	}
}

// allgathervGatherBcast: to rank 0, which tells all: the fewest messages.
func allgathervGatherBcast(c *Call, a *Args) {
	p := c.packBlocks(c.allgathervOwn(a), 0)
	if p.mem.Bytes() == 0 {
		return
	}
	if own := p.block(c.rank); c.rank != 0 && own.Bytes() > 0 {
		c.send(own, 0)
	}
	if c.rank == 0 {
		c.load(&p, 0, 1)
		for i := 1; i < c.size; i++ {
			if in := p.parts(i, i+1); in.Bytes() > 0 {
				c.irecv(in, i)
			}
		}
		c.wait()
	}
	c.bcast(p.mem, 0)
	for i := range c.size {
		if i != c.rank {
			c.store(&p, i, i+1)
		}
	}
}

// allgathervBruck is allgatherBruck with blocks of different sizes.
func allgathervBruck(c *Call, a *Args) {
	p := c.packBlocks(c.allgathervOwn(a), c.rank)
	if p.mem.Bytes() == 0 {
		return
	}
	c.load(&p, 0, 1)
	for d := 1; d < c.size; d <<= 1 {
		blocks := min(d, c.size-d)
		c.ringStep(p.parts(0, blocks), (c.rank-d+c.size)%c.size, p.parts(d, d+blocks), (c.rank+d)%c.size)
	}
	c.store(&p, 1, c.size)
}

// allgathervNeighbor is allgatherNeighbor with blocks of different sizes.
func allgathervNeighbor(c *Call, a *Args) {
	p := c.packBlocks(c.allgathervOwn(a), 0)
	if p.mem.Bytes() == 0 {
		return
	}
	w := newNeighborWalk(c.rank, c.size)
	c.load(&p, c.rank, c.rank+1)
	c.ringStep(p.parts(c.rank, c.rank+1), w.peers[0], p.parts(w.peers[0], w.peers[0]+1), w.peers[0])
	for s := 1; s < c.size/2; s++ {
		peer, out, in := w.step(s)
		c.ringStep(p.parts(out, out+2), peer, p.parts(in, in+2), peer)
	}
	for i := range c.size {
		if i != c.rank {
			c.store(&p, i, i+1)
		}
	}
}

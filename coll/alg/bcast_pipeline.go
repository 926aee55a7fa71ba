package alg

import "github.com/ompi-go/ompi-go/core"

// Pipelined broadcasts: the data goes through a tree in segments, each handed on while the next is coming.

// bcastPipeline: one chain from the root through all ranks.
func bcastPipeline(c *Call, a *Args) { bcastChains(c, a, 1) }

// bcastChain: several chains.
func bcastChain(c *Call, a *Args) { bcastChains(c, a, chainFanout) }

// chainFanout is the number of chains, Open MPI's.
const chainFanout = 4

// bcastChains: the ranks after the root, in its order, are dealt out to chains of nearly equal length.
func bcastChains(c *Call, a *Args, chains int) {
	n := c.size
	if a.Send.Bytes() == 0 || n == 1 {
		return
	}
	chains = min(chains, n-1)
	first := func(i int) int { return 1 + int(share(int64(n-1), i, chains)) } // of chain i, counted from the root
	v := (c.rank - a.Root + n) % n
	var down [chainFanout]int
	children := 0
	up := none
	if v == 0 {
		for i := range chains {
			down[children] = (first(i) + a.Root) % n
			children++
		}
	} else {
		chain := 0
		for v >= first(chain+1) {
			chain++
		}
		up = a.Root
		if v > first(chain) {
			up = (c.rank - 1 + n) % n
		}
		if v+1 < first(chain+1) {
			down[0] = (c.rank + 1) % n
			children = 1
		}
	}
	c.bcastTree(a, up, down[:children])
}

// bcastBinary: a balanced binary tree.
func bcastBinary(c *Call, a *Args) {
	if a.Send.Bytes() == 0 {
		return
	}
	nd := turned(inOrder, c.size, c.size/2, a.Root, c.rank)
	var down [2]int
	children := 0
	for _, child := range [...]int{nd.left, nd.right} {
		if child != none {
			down[children] = child
			children++
		}
	}
	c.bcastTree(a, nd.parent, down[:children])
}

func (c *Call) bcastTree(a *Args, up int, down []int) {
	all := c.flat(0, a.Send, up == none)
	c.stream(all, a.segment(all), up, down)
	if up != none {
		c.unflat(a.Send, all)
	}
}

// ahead is how many segments a root starts before it waits: enough to keep the way to its children busy.
const ahead = 4

// stream receives b in segments from up, and hands each on to everybody in down while the next is coming.
func (c *Call) stream(b core.Buffer, segment int64, up int, down []int) {
	n := pieces(b, segment)
	if up != none {
		c.recv(piece(b, 0, segment), up)
	}
	for k := range n {
		if up != none && k+1 < n {
			c.irecv(piece(b, k+1, segment), up)
		}
		for _, child := range down {
			c.isend(piece(b, k, segment), child)
		}
		if up != none || k%ahead == ahead-1 {
			c.wait()
		}
	}
	c.wait()
}

// bcastSplitBinary: the root's left subtree gets one half of the data and the right one the other; then each rank of the left one
// exchanges its half with its counterpart in the right one. Counted from the root, the left subtree has the ranks 1 to l, the right
// one l+1 to n-1; where the left one has one more, its last rank has the other half from the root.
func bcastSplitBinary(c *Call, a *Args) {
	n := c.size
	if a.Send.Bytes() == 0 || n == 1 {
		return
	}
	all := c.flat(0, a.Send, c.rank == a.Root)
	segment := a.segment(all)
	halves := [2]core.Buffer{shares(all, 0, 1, 2), shares(all, 1, 2, 2)}
	l := n / 2
	r := n - 1 - l
	rank := func(v int) int { return (v + a.Root) % n }
	v := (c.rank - a.Root + n) % n
	if v == 0 {
		c.splitRoot(halves, segment, rank(1), rank(l+1), r > 0)
		if l > r && halves[1].Bytes() > 0 {
			c.send(halves[1], rank(l))
		}
		return
	}
	side, first, many := 0, 1, l
	if v > l {
		side, first, many = 1, l+1, r
	}
	i := v - first // place in its subtree, a heap
	up := a.Root
	if i > 0 {
		up = rank(first + (i-1)/2)
	}
	var down [2]int
	children := 0
	for child := 2*i + 1; child <= 2*i+2 && child < many; child++ {
		down[children] = rank(first + child)
		children++
	}
	mine, other := halves[side], halves[1-side]
	if mine.Bytes() > 0 {
		c.stream(mine, segment, up, down[:children])
	}
	switch {
	case side == 1:
		c.ringStep(mine, rank(1+i), other, rank(1+i))
	case i < r:
		c.ringStep(mine, rank(l+1+i), other, rank(l+1+i))
	case other.Bytes() > 0:
		c.recv(other, a.Root)
	}
	c.unflat(a.Send, all)
}

// splitRoot sends the first half to left and the second to right, if there is one, a segment of each in turn.
func (c *Call) splitRoot(halves [2]core.Buffer, segment int64, left, right int, both bool) {
	n := pieces(halves[0], segment) // the first half is not the shorter one
	for k := range n {
		c.isend(piece(halves[0], k, segment), left)
		if both && k < pieces(halves[1], segment) {
			c.isend(piece(halves[1], k, segment), right)
		}
		if k%ahead == ahead-1 {
			c.wait()
		}
	}
	c.wait()
}

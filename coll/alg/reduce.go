package alg

import "github.com/ompi-go/ompi-go/core"

// reduceBinomial combines up a binomial tree.
func reduceBinomial(c *Call, a *Args) {
	if own := a.own(); own.Bytes() > 0 {
		c.reduce(own, a.sum(), a.Op, a.Root)
	}
}

// reduce leaves the result in recv at the root. own is the rank's operand, at the root it may be recv itself.
func (c *Call) reduce(own, recv core.Buffer, op *core.Op, root int) {
	if op.Commutative() {
		if result := c.combine(own, recv, op, root, c.rank == root); c.rank == root && result.Addr() != recv.Addr() {
			c.copy(recv, result)
		}
		return
	}
	// The tree keeps operands in order only when rank 0 is its root; the result then moves on to where it is wanted.
	result := c.combine(own, recv, op, 0, c.rank == 0 && root == 0)
	switch {
	case c.rank == root && root != 0:
		c.recv(recv, 0)
	case c.rank == 0 && root != 0:
		c.send(result, root)
	case c.rank == 0 && result.Addr() != recv.Addr():
		c.copy(recv, result)
	}
}

// combine runs the tree whose root is top and gives, at top, the buffer with the result. With ranks counted from top, rank v
// combines v..v+2^k-1 by taking over what the ranks v+1, v+2, v+4, ... have combined, then hands on to v without its lowest bit.
//
// The operands of lower ranks are in the left buffer of each application, and the result is in the right one: a fresh message is
// received into the buffer that is not in use and becomes the result. own is never written, but for being recv. If into is set,
// the last message is received into recv unless that still holds the left operand.
func (c *Call) combine(own, recv core.Buffer, op *core.Op, top int, into bool) core.Buffer {
	n := c.size
	v := (c.rank - top + n) % n
	acc, next := own, 0
	mask := 1
	for ; mask < n && v&mask == 0; mask <<= 1 {
		child := v | mask
		if child >= n {
			continue
		}
		last := v == 0 && child<<1 >= n
		from := (child + top) % n
		if into && last && acc.Addr() != recv.Addr() {
			c.recv(recv, from)
			c.apply(op, acc, recv)
			acc = recv
			continue
		}
		in := c.typed(next, own.Type(), own.Count())
		c.recv(in, from)
		if op.Commutative() && acc.Addr() == recv.Addr() && into {
			c.apply(op, in, acc) // recv, where the result belongs, is the left operand: sides may change
			continue
		}
		c.apply(op, acc, in)
		acc, next = in, 1-next
	}
	if v != 0 {
		c.send(acc, (v&^mask+top)%n)
	}
	return acc
}

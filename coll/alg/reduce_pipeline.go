package alg

import "github.com/ompi-go/ompi-go/core"

// Pipelined reductions: up a tree in segments, each combined while the next is coming. In the trees used here lower ranks are on
// the left and higher ones on the right, so operands stay in order.

// reducePipeline: a chain that ends at the root. When order matters it is two, from either end.
func reducePipeline(c *Call, a *Args) {
	if a.own().Bytes() == 0 {
		return
	}
	if a.Op.Commutative() {
		c.reduceTree(a, turned(inLine, c.size, 0, a.Root, c.rank))
	} else {
		c.reduceTree(a, inLine(c.size, a.Root, c.rank))
	}
}

// reduceBinary: a balanced binary tree.
func reduceBinary(c *Call, a *Args) {
	if a.own().Bytes() == 0 {
		return
	}
	if a.Op.Commutative() {
		c.reduceTree(a, turned(inOrder, c.size, c.size/2, a.Root, c.rank))
	} else {
		c.reduceTree(a, inOrder(c.size, a.Root, c.rank))
	}
}

// upward is one rank's part of a pipelined reduction.
type upward struct {
	c         *Call
	op        *core.Op
	nd        node
	own, recv core.Buffer // recv at the root only
	root      bool
	inPlace   bool // own is recv
	segment   int64
	left      core.Buffer // two segments each: one is combined while the other is received
	right     core.Buffer
	kept      core.Buffer // of own, where it must not be written
}

func (c *Call) reduceTree(a *Args, nd node) {
	own := a.own()
	u := upward{c: c, op: a.Op, nd: nd, own: own, root: nd.parent == none, inPlace: a.Send.IsInPlace(), segment: a.segment(own)}
	if u.root {
		u.recv = a.sum()
	}
	if nd.left != none {
		u.left = c.typed(0, own.Type(), 2*u.segment)
		if nd.right == none && !u.root {
			u.kept = c.typed(2, own.Type(), 2*u.segment)
		}
	}
	if nd.right != none {
		u.right = c.typed(1, own.Type(), 2*u.segment)
	}
	n := pieces(own, u.segment)
	u.begin(0)
	c.wait()
	for k := range n {
		if k+1 < n {
			u.begin(k + 1)
		}
		sum := u.combine(k)
		if !u.root {
			c.isend(sum, nd.parent)
		}
		c.wait()
	}
}

// slot is where segment k of a double buffer is.
func (u *upward) slot(b core.Buffer, k int64) core.Buffer {
	return part(b, k%2*u.segment, piece(u.own, k, u.segment).Count())
}

// fromRight is where segment k comes from the right: at the root to its place, unless the own operand is there.
func (u *upward) fromRight(k int64) core.Buffer {
	if u.root && !u.inPlace {
		return piece(u.recv, k, u.segment)
	}
	return u.slot(u.right, k)
}

// begin starts to receive segment k.
func (u *upward) begin(k int64) {
	if u.nd.left != none {
		u.c.irecv(u.slot(u.left, k), u.nd.left)
	}
	if u.nd.right != none {
		u.c.irecv(u.fromRight(k), u.nd.right)
	}
}

// combine gives left op own op right of segment k; at the root it comes to its place in recv.
func (u *upward) combine(k int64) core.Buffer {
	c := u.c
	own := piece(u.own, k, u.segment)
	sum := own
	switch {
	case u.nd.right != none:
		sum = u.fromRight(k)
		c.apply(u.op, own, sum)
	case u.root && !u.inPlace:
		sum = piece(u.recv, k, u.segment)
		c.copy(sum, own)
	case u.nd.left != none && !u.root:
		sum = u.slot(u.kept, k)
		c.copy(sum, own)
	}
	if u.nd.left != none {
		c.apply(u.op, u.slot(u.left, k), sum)
	}
	if u.root && u.inPlace && u.nd.right != none {
		c.copy(own, sum)
	}
	return sum
}

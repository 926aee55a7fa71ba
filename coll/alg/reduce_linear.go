package alg

import "github.com/ompi-go/ompi-go/core"

// reduceLinear: everybody sends to the root, which combines the operands from the last rank to the first.
func reduceLinear(c *Call, a *Args) {
	if own := a.own(); own.Bytes() > 0 {
		c.reduceLinear(own, a.sum(), a.Op, a.Root)
	}
}

// reduceLinear leaves the result in recv at the root. own may be recv there.
func (c *Call) reduceLinear(own, recv core.Buffer, op *core.Op, root int) {
	last := c.size - 1
	switch {
	case c.rank != root:
		c.send(own, root)
		return
	case root != last && own.Addr() == recv.Addr():
		// The last operand comes to where the result is put together.
		kept := c.typed(1, own.Type(), own.Count())
		c.copy(kept, own)
		own = kept
		c.recv(recv, last)
	case root != last:
		c.recv(recv, last)
	case own.Addr() != recv.Addr():
		c.copy(recv, own)
	}
	for i := last - 1; i >= 0; i-- {
		if i == root {
			c.apply(op, own, recv)
			continue
		}
		in := c.typed(0, own.Type(), own.Count())
		c.recv(in, i)
		c.apply(op, in, recv)
	}
}

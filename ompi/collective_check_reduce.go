package ompi

import "github.com/ompi-go/ompi-go/coll/alg"

// checkOp checks an operation against the operand's type.
func (c *Comm) checkOp(op string, b Buffer, o *Op) error {
	if o == nil {
		return c.badArg(op, ErrOp, "the operation is nil")
	}
	if b.Type() == nil {
		if b.Count() == 0 {
			return nil
		}
		return c.badArg(op, ErrType, "the buffer has no datatype")
	}
	if err := o.Check(b.Type()); err != nil {
		return c.fail(op, err)
	}
	return nil
}

// operand is the caller's input to a reduction.
func operand(send, recv Buffer) Buffer {
	if send.IsInPlace() {
		return recv
	}
	return send
}

// fit is the part of a receive buffer that the result of send fills.
func fit(recv, send Buffer) Buffer {
	if send.IsInPlace() || recv.Count() <= send.Count() {
		return recv
	}
	return recv.At(0, send.Count())
}

func (c *Comm) checkAllreduce(op string, send, recv Buffer, o *Op) error {
	if err := c.usable(op); err != nil {
		return err
	}
	if err := c.checkPair(op, send, recv, true, false); err != nil {
		return err
	}
	if err := c.checkOp(op, operand(send, recv), o); err != nil {
		return err
	}
	if !send.IsInPlace() && recv.Count() < send.Count() {
		return c.badArg(op, ErrCount, "the receive buffer has room for %d elements of %d", recv.Count(), send.Count())
	}
	return nil
}

func (c *Comm) checkReduce(op string, a *alg.Args) error {
	if err := c.checkRoot(op, a.Root); err != nil {
		return err
	}
	if aside(a.Root) {
		a.Send, a.Recv = Buffer{}, Buffer{}
		return nil
	}
	atRoot := c.atRoot(a.Root)
	if !atRoot { // what is of no meaning here is not looked at
		a.Recv = Buffer{}
	} else if c.IsInter() {
		a.Send = Buffer{}
		return c.checkOp(op, a.Recv, a.Op)
	}
	if err := c.checkPair(op, a.Send, a.Recv, atRoot, false); err != nil {
		return err
	}
	if err := c.checkOp(op, operand(a.Send, a.Recv), a.Op); err != nil {
		return err
	}
	if atRoot && !a.Send.IsInPlace() && a.Recv.Count() < a.Send.Count() {
		return c.badArg(op, ErrCount, "the receive buffer has room for %d elements of %d", a.Recv.Count(), a.Send.Count())
	}
	if atRoot {
		a.Recv = fit(a.Recv, a.Send)
	}
	return nil
}

func (c *Comm) checkReduceScatter(op string, a *alg.Args) error {
	if err := c.checkPair(op, a.Send, a.Recv, true, false); err != nil {
		return err
	}
	own := operand(a.Send, a.Recv)
	if err := c.checkOp(op, own, a.Op); err != nil {
		return err
	}
	mine := int64(0)
	if a.Kind == alg.ReduceScatterBlock {
		if err := c.checkParts(op, "send", own, nil, nil, c.Size(), false); err != nil {
			return err
		}
		mine = own.Count() / int64(c.Size())
	} else {
		if len(a.RecvCounts) != c.Size() {
			return c.badArg(op, ErrArg, "%d counts for %d ranks", len(a.RecvCounts), c.Size())
		}
		sum := int64(0)
		for r, n := range a.RecvCounts {
			if n < 0 {
				return c.badArg(op, ErrCount, "the count of rank %d is %d", r, n)
			}
			sum += int64(n)
		}
		if sum != own.Count() {
			return c.badArg(op, ErrCount, "the counts add up to %d, the input has %d elements", sum, own.Count())
		}
		mine = int64(a.RecvCounts[c.Rank()])
	}
	if !a.Send.IsInPlace() && a.Recv.Count() < mine {
		return c.badArg(op, ErrCount, "the receive buffer has room for %d elements of %d", a.Recv.Count(), mine)
	}
	return nil
}

package ompi

import (
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/datatype"
)

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
	return c.checkResult(op, send, recv, send.Count(), o)
}

// checkResult checks that recv has room for n elements of a result, and that they are the same in memory as those of send: a reduction
// has one datatype (MPI-3.1 §5.9), and works on either buffer.
func (c *Comm) checkResult(op string, send, recv Buffer, n int64, o *Op) error {
	switch {
	case send.IsInPlace() || n == 0:
		return nil
	case recv.Count() < n:
		return c.badArg(op, ErrCount, "the receive buffer has room for %d elements of %d", recv.Count(), n)
	case recv.Type() == send.Type():
		return nil
	case recv.Type() == nil:
		return c.badArg(op, ErrType, "the receive buffer has no datatype")
	case !alike(send.Type(), recv.Type()):
		return c.badArg(op, ErrType, "elements of %s to send, of %s to receive; a reduction has one datatype", typeName(send.Type()), typeName(recv.Type()))
	}
	return c.checkOp(op, recv, o)
}

// alike tells whether elements of the two types are the same in memory, as far as one can tell without taking them apart.
func alike(t, u *datatype.Type) bool {
	type shape struct {
		size, elements, lb, extent, trueLB, trueExtent int64
		kind                                           datatype.Kind
	}
	of := func(t *datatype.Type) (s shape) {
		s.size, s.elements = t.Size(), t.Elements()
		s.lb, s.extent = t.Extent()
		s.trueLB, s.trueExtent = t.TrueExtent()
		s.kind, _ = t.Homogeneous()
		return s
	}
	return of(t) == of(u)
}

// checkScan checks a Scan or Exscan. Of an Exscan at rank 0 the receive buffer is of no meaning (MPI-3.1 §5.11.2), unless it holds the
// input.
func (c *Comm) checkScan(op string, a *alg.Args) error {
	if err := c.usable(op); err != nil {
		return err
	}
	if c.IsInter() {
		return c.badArg(op, ErrComm, "not defined on an intercommunicator")
	}
	if a.Kind == alg.Exscan && c.Rank() == 0 && !a.Send.IsInPlace() {
		a.Recv = Buffer{}
		if err := c.checkBuf(op, a.Send); err != nil {
			return err
		}
		return c.checkOp(op, a.Send, a.Op)
	}
	if err := c.checkAllreduce(op, a.Send, a.Recv, a.Op); err != nil {
		return err
	}
	a.Recv = fit(a.Recv, a.Send)
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
		if err := c.checkBuf(op, a.Recv); err != nil {
			return err
		}
		return c.checkOp(op, a.Recv, a.Op)
	}
	if err := c.checkPair(op, a.Send, a.Recv, atRoot, false); err != nil {
		return err
	}
	if err := c.checkOp(op, operand(a.Send, a.Recv), a.Op); err != nil || !atRoot {
		return err
	}
	if err := c.checkResult(op, a.Send, a.Recv, a.Send.Count(), a.Op); err != nil {
		return err
	}
	a.Recv = fit(a.Recv, a.Send)
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
	return c.checkResult(op, a.Send, a.Recv, mine, a.Op)
}

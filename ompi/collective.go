package ompi

import "github.com/ompi-go/ompi-go/core"

// Collective operations (MPI-3.1 chapter 5). All ranks of the communicator call them in the same order. Undivided buffers of
// Gather, Scatter, Allgather and Alltoall are the whole buffer, split by Size. In v forms, counts and displacements are in extents
// of the buffer's type; nil displacements mean packed one behind the other.

// Barrier returns when all ranks have called it.
func (c *Comm) Barrier() error {
	const op = "Barrier"
	if err := c.usable(op); err != nil {
		return err
	}
	if c.odd {
		return c.call(op, Undefined, 0, func() error { return c.outcome(op, c.coll.Barrier.Barrier()) })
	}
	return c.outcome(op, c.coll.Barrier.Barrier())
}

// outcome is fail for an error that may be nil.
func (c *Comm) outcome(op string, err error) error {
	if err == nil {
		return nil
	}
	return c.fail(op, err)
}

// run checks the fault state and runs a collective.
func (c *Comm) run(op string, root int, bytes int64, f func() error) error {
	if !c.odd {
		return c.outcome(op, f())
	}
	return c.call(op, root, bytes, func() error { return c.outcome(op, f()) })
}

func (c *Comm) checkRoot(op string, root int) error {
	if err := c.usable(op); err != nil {
		return err
	}
	if uint(root) >= uint(c.size) {
		return c.fail(op, &core.Error{Class: ErrRoot, Peer: root, Index: -1, Err: core.NewError(ErrRoot, "root %d; ranks are 0 to %d", root, c.size-1).Err})
	}
	return nil
}

// checkPair checks the two buffers of an operation; InPlace is allowed in send where inPlace says so.
func (c *Comm) checkPair(op string, send, recv Buffer, sendInPlace, recvInPlace bool) error {
	if err := send.Err(); err != nil {
		return c.fail(op, err)
	}
	if err := recv.Err(); err != nil {
		return c.fail(op, err)
	}
	if send.IsInPlace() && !sendInPlace || recv.IsInPlace() && !recvInPlace {
		return c.badArg(op, ErrBuffer, "InPlace is not allowed for this buffer here")
	}
	return nil
}

// checkDivides: an undivided buffer must split evenly among the ranks.
func (c *Comm) checkDivides(op, which string, b Buffer) error {
	if b.Count()%int64(c.size) != 0 {
		return c.badArg(op, ErrCount, "the %s buffer of %d elements cannot be split evenly among %d ranks", which, b.Count(), c.size)
	}
	return nil
}

// Bcast sends root's buffer to all others.
func (c *Comm) Bcast(buf Buffer, root int) error {
	const op = "Bcast"
	if err := c.checkRoot(op, root); err != nil {
		return err
	}
	if err := c.checkBuf(op, buf); err != nil {
		return err
	}
	return c.run(op, root, buf.Bytes(), func() error { return c.coll.Bcast.Bcast(buf, root) })
}

func (c *Comm) checkReduce(op string, send, recv Buffer, o *Op, recvMatters bool) error {
	if o == nil {
		return c.badArg(op, ErrOp, "the operation is nil")
	}
	b := send
	if send.IsInPlace() {
		b = recv
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
	if recvMatters && !send.IsInPlace() && recv.Count() < send.Count() {
		return c.badArg(op, ErrCount, "the receive buffer has room for %d elements of %d", recv.Count(), send.Count())
	}
	return nil
}

// Reduce combines all ranks' send buffers element by element into root's recv. InPlace as root's send: the input is in recv.
func (c *Comm) Reduce(send, recv Buffer, op *Op, root int) error {
	const name = "Reduce"
	if err := c.checkRoot(name, root); err != nil {
		return err
	}
	atRoot := root == c.Rank()
	if err := c.checkPair(name, send, recv, atRoot, false); err != nil {
		return err
	}
	if err := c.checkReduce(name, send, recv, op, atRoot); err != nil {
		return err
	}
	return c.run(name, root, send.Bytes(), func() error { return c.coll.Reduce.Reduce(send, recv, op, root) })
}

// Allreduce combines all ranks' send buffers into every rank's recv. InPlace as send: the input is in recv.
func (c *Comm) Allreduce(send, recv Buffer, op *Op) error {
	const name = "Allreduce"
	if err := c.usable(name); err != nil {
		return err
	}
	if err := c.checkPair(name, send, recv, true, false); err != nil {
		return err
	}
	if err := c.checkReduce(name, send, recv, op, true); err != nil {
		return err
	}
	if !c.odd {
		return c.outcome(name, c.coll.Allreduce.Allreduce(send, recv, op))
	}
	return c.call(name, Undefined, recv.Bytes(), func() error { return c.outcome(name, c.coll.Allreduce.Allreduce(send, recv, op)) })
}

// Gather collects all ranks' send buffers in root's recv, in rank order. InPlace as root's send: its part is in recv already.
func (c *Comm) Gather(send, recv Buffer, root int) error {
	const op = "Gather"
	if err := c.checkRoot(op, root); err != nil {
		return err
	}
	atRoot := root == c.Rank()
	if err := c.checkPair(op, send, recv, atRoot, false); err != nil {
		return err
	}
	if atRoot {
		if err := c.checkDivides(op, "receive", recv); err != nil {
			return err
		}
	}
	return c.run(op, root, send.Bytes(), func() error { return c.coll.Gather.Gather(send, recv, root) })
}

// Scatter deals root's send buffer out to all ranks' recv, in rank order. InPlace as root's recv: its part stays in send.
func (c *Comm) Scatter(send, recv Buffer, root int) error {
	const op = "Scatter"
	if err := c.checkRoot(op, root); err != nil {
		return err
	}
	atRoot := root == c.Rank()
	if err := c.checkPair(op, send, recv, false, atRoot); err != nil {
		return err
	}
	if atRoot {
		if err := c.checkDivides(op, "send", send); err != nil {
			return err
		}
	}
	return c.run(op, root, recv.Bytes(), func() error { return c.coll.Scatter.Scatter(send, recv, root) })
}

// Allgather collects all ranks' send buffers in every rank's recv. InPlace as send: the caller's part is in recv already.
func (c *Comm) Allgather(send, recv Buffer) error {
	const op = "Allgather"
	if err := c.usable(op); err != nil {
		return err
	}
	if err := c.checkPair(op, send, recv, true, false); err != nil {
		return err
	}
	if err := c.checkDivides(op, "receive", recv); err != nil {
		return err
	}
	return c.run(op, Undefined, recv.Bytes(), func() error { return c.coll.Allgather.Allgather(send, recv) })
}

// Alltoall sends the i-th part of send to rank i, whose parts come into recv in rank order. InPlace as send: recv is both.
func (c *Comm) Alltoall(send, recv Buffer) error {
	const op = "Alltoall"
	if err := c.usable(op); err != nil {
		return err
	}
	if err := c.checkPair(op, send, recv, true, false); err != nil {
		return err
	}
	if err := c.checkDivides(op, "receive", recv); err != nil {
		return err
	}
	if !send.IsInPlace() {
		if err := c.checkDivides(op, "send", send); err != nil {
			return err
		}
	}
	return c.run(op, Undefined, recv.Bytes(), func() error { return c.coll.Alltoall.Alltoall(send, recv) })
}

// checkBlocks checks the counts and displacements of a v form against the buffer.
func (c *Comm) checkBlocks(op, which string, b Buffer, counts, displs []int) error {
	if len(counts) != c.size {
		return c.badArg(op, ErrArg, "%d %s counts for %d ranks", len(counts), which, c.size)
	}
	if displs != nil && len(displs) != c.size {
		return c.badArg(op, ErrArg, "%d %s displacements for %d ranks", len(displs), which, c.size)
	}
	at := 0
	for r, n := range counts {
		if n < 0 {
			return c.badArg(op, ErrCount, "the %s count of rank %d is %d", which, r, n)
		}
		d := at
		if displs != nil {
			d = displs[r]
		}
		if n > 0 && (d < 0 || int64(d)+int64(n) > b.Count()) {
			return c.badArg(op, ErrArg, "the %s block of rank %d, elements [%d,%d), is outside the buffer of %d", which, r, d, d+n, b.Count())
		}
		at += n
	}
	return nil
}

// Gatherv is Gather with a count and a displacement for each rank.
func (c *Comm) Gatherv(send, recv Buffer, counts, displs []int, root int) error {
	const op = "Gatherv"
	if err := c.checkRoot(op, root); err != nil {
		return err
	}
	atRoot := root == c.Rank()
	if err := c.checkPair(op, send, recv, atRoot, false); err != nil {
		return err
	}
	if atRoot {
		if err := c.checkBlocks(op, "receive", recv, counts, displs); err != nil {
			return err
		}
	}
	return c.run(op, root, send.Bytes(), func() error { return c.coll.Gatherv.Gatherv(send, recv, counts, displs, root) })
}

// Scatterv is Scatter with a count and a displacement for each rank.
func (c *Comm) Scatterv(send Buffer, counts, displs []int, recv Buffer, root int) error {
	const op = "Scatterv"
	if err := c.checkRoot(op, root); err != nil {
		return err
	}
	atRoot := root == c.Rank()
	if err := c.checkPair(op, send, recv, false, atRoot); err != nil {
		return err
	}
	if atRoot {
		if err := c.checkBlocks(op, "send", send, counts, displs); err != nil {
			return err
		}
	}
	return c.run(op, root, recv.Bytes(), func() error { return c.coll.Scatterv.Scatterv(send, counts, displs, recv, root) })
}

// Allgatherv is Allgather with a count and a displacement for each rank.
func (c *Comm) Allgatherv(send, recv Buffer, counts, displs []int) error {
	const op = "Allgatherv"
	if err := c.usable(op); err != nil {
		return err
	}
	if err := c.checkPair(op, send, recv, true, false); err != nil {
		return err
	}
	if err := c.checkBlocks(op, "receive", recv, counts, displs); err != nil {
		return err
	}
	return c.run(op, Undefined, recv.Bytes(), func() error { return c.coll.Allgatherv.Allgatherv(send, recv, counts, displs) })
}

// Alltoallv is Alltoall with counts and displacements for each rank.
func (c *Comm) Alltoallv(send Buffer, sendCounts, sendDispls []int, recv Buffer, recvCounts, recvDispls []int) error {
	const op = "Alltoallv"
	if err := c.usable(op); err != nil {
		return err
	}
	if err := c.checkPair(op, send, recv, true, false); err != nil {
		return err
	}
	if err := c.checkBlocks(op, "receive", recv, recvCounts, recvDispls); err != nil {
		return err
	}
	if !send.IsInPlace() {
		if err := c.checkBlocks(op, "send", send, sendCounts, sendDispls); err != nil {
			return err
		}
	}
	return c.run(op, Undefined, recv.Bytes(), func() error {
		return c.coll.Alltoallv.Alltoallv(send, sendCounts, sendDispls, recv, recvCounts, recvDispls)
	})
}

// ReduceLocal combines in into inout: inout[i] = in[i] op inout[i].
func ReduceLocal(in, inout Buffer, op *Op) error {
	for _, b := range []Buffer{in, inout} {
		if err := b.Err(); err != nil {
			return &core.Error{Class: core.ClassOf(err), Op: "Reduce_local", Peer: Undefined, Index: -1, Err: err}
		}
	}
	switch {
	case op == nil:
		return core.NewError(ErrOp, "the operation is nil")
	case in.Count() != inout.Count():
		return core.NewError(ErrCount, "%d elements into %d", in.Count(), inout.Count())
	case in.Count() == 0:
		return nil
	}
	if err := op.Check(in.Type()); err != nil {
		return err
	}
	op.Apply(in.Addr(), inout.Addr(), in.Count(), in.Type())
	return nil
}

package ompi

import (
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
)

// blocks is how many blocks undivided buffers have, and how many counts v forms: one for each rank that can be sent to.
func (c *Comm) blocks() int { return c.size }

// atRoot reports whether the caller is the root of a rooted operation; on an intercommunicator the root itself says so
// (MPI-3.1 §5.2.3).
func (c *Comm) atRoot(root int) bool {
	if c.IsInter() {
		return root == Root
	}
	return root == c.c.MyRank
}

// aside reports whether the caller belongs to the root's group of an intercommunicator and has no part in the operation.
func aside(root int) bool { return root == ProcNull }

// checkCollective checks what one rank can know to be wrong, before anything is sent. For neighbourhood operations it puts the
// neighbours into a.
func (c *Comm) checkCollective(op string, a *alg.Args) error {
	switch a.Kind {
	case alg.Barrier:
		return c.usable(op)
	case alg.Bcast:
		return c.checkBcast(op, a.Send, a.Root)
	case alg.Allreduce:
		if err := c.checkAllreduce(op, a.Send, a.Recv, a.Op); err != nil {
			return err
		}
		a.Recv = fit(a.Recv, a.Send)
		return nil
	case alg.Scan, alg.Exscan:
		return c.checkScan(op, a)
	case alg.Reduce:
		return c.checkReduce(op, a)
	case alg.Gather, alg.Gatherv:
		return c.checkGather(op, a)
	case alg.Scatter, alg.Scatterv:
		return c.checkScatter(op, a)
	}
	if err := c.usable(op); err != nil {
		return err
	}
	switch a.Kind {
	case alg.Allgather, alg.Allgatherv:
		if err := c.checkPair(op, a.Send, a.Recv, true, false); err != nil {
			return err
		}
		return c.checkParts(op, "receive", a.Recv, a.RecvCounts, a.RecvDispls, c.blocks(), a.Kind == alg.Allgatherv)
	case alg.Alltoall, alg.Alltoallv:
		if err := c.checkPair(op, a.Send, a.Recv, true, false); err != nil {
			return err
		}
		v := a.Kind == alg.Alltoallv
		if err := c.checkParts(op, "receive", a.Recv, a.RecvCounts, a.RecvDispls, c.blocks(), v); err != nil || a.Send.IsInPlace() {
			return err
		}
		return c.checkParts(op, "send", a.Send, a.SendCounts, a.SendDispls, c.blocks(), v)
	case alg.Alltoallw:
		return c.checkW(op, a.Sends, a.Recvs, c.blocks(), c.blocks(), !c.IsInter())
	case alg.ReduceScatter, alg.ReduceScatterBlock:
		return c.checkReduceScatter(op, a)
	}
	return c.checkNeighbor(op, a)
}

func (c *Comm) checkRoot(op string, root int) error {
	if err := c.usable(op); err != nil {
		return err
	}
	if uint(root) >= uint(c.size) && !(c.IsInter() && (root == Root || root == ProcNull)) {
		return c.fail(op, &core.Error{Class: ErrRoot, Peer: root, Index: -1, Err: core.NewError(ErrRoot, "root %d; ranks are 0 to %d", root, c.size-1).Err})
	}
	return nil
}

// checkPair checks the two buffers of an operation; InPlace is allowed where the arguments say so.
func (c *Comm) checkPair(op string, send, recv Buffer, sendInPlace, recvInPlace bool) error {
	if err := send.Err(); err != nil {
		return c.fail(op, err)
	}
	if err := recv.Err(); err != nil {
		return c.fail(op, err)
	}
	if send.IsInPlace() && !(sendInPlace && !c.IsInter()) || recv.IsInPlace() && !(recvInPlace && !c.IsInter()) {
		return c.badArg(op, ErrBuffer, "InPlace is not allowed for this buffer here")
	}
	if send.Addr() != nil && send.Addr() == recv.Addr() && send.Bytes() > 0 && recv.Bytes() > 0 {
		return c.badArg(op, ErrBuffer, "send and receive buffer are the same memory; use InPlace")
	}
	return nil
}

// checkParts checks a buffer that is divided into n equal blocks or, in v forms, as counts and displacements say.
func (c *Comm) checkParts(op, which string, b Buffer, counts, displs []int, n int, v bool) error {
	if v {
		return c.checkBlocks(op, which, b, counts, displs, n)
	}
	if n > 0 && b.Count()%int64(n) != 0 {
		return c.badArg(op, ErrCount, "the %s buffer of %d elements cannot be split evenly among %d ranks", which, b.Count(), n)
	}
	return nil
}

// checkBlocks checks the counts and displacements of a v form against the buffer.
func (c *Comm) checkBlocks(op, which string, b Buffer, counts, displs []int, blocks int) error {
	if len(counts) != blocks {
		return c.badArg(op, ErrArg, "%d %s counts for %d ranks", len(counts), which, blocks)
	}
	if displs != nil && len(displs) != blocks {
		return c.badArg(op, ErrArg, "%d %s displacements for %d ranks", len(displs), which, blocks)
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
		if n > 0 && (d < 0 || int64(d) > b.Count()-int64(n)) { // their sum may be too large for an int
			return c.badArg(op, ErrArg, "the %s block of rank %d, %d elements from element %d on, is outside the buffer of %d", which, r, n, d, b.Count())
		}
		at += n
	}
	return nil
}

// checkW checks the buffers of a w form.
func (c *Comm) checkW(op string, sends, recvs []Buffer, dests, sources int, inPlace bool) error {
	inPlace = inPlace && len(sends) == 1 && sends[0].IsInPlace()
	if len(recvs) != sources || len(sends) != dests && !inPlace {
		return c.badArg(op, ErrArg, "%d send and %d receive buffers for %d and %d ranks", len(sends), len(recvs), dests, sources)
	}
	for _, b := range recvs {
		if err := c.checkBuf(op, b); err != nil {
			return err
		}
	}
	if inPlace {
		return nil
	}
	for _, b := range sends {
		if err := c.checkBuf(op, b); err != nil {
			return err
		}
	}
	return nil
}

func (c *Comm) checkBcast(op string, buf Buffer, root int) error {
	if err := c.checkRoot(op, root); err != nil || aside(root) {
		return err
	}
	return c.checkBuf(op, buf)
}

func (c *Comm) checkGather(op string, a *alg.Args) error {
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
	}
	if err := c.checkPair(op, a.Send, a.Recv, atRoot, false); err != nil || !atRoot {
		return err
	}
	return c.checkParts(op, "receive", a.Recv, a.RecvCounts, a.RecvDispls, c.blocks(), a.Kind == alg.Gatherv)
}

func (c *Comm) checkScatter(op string, a *alg.Args) error {
	if err := c.checkRoot(op, a.Root); err != nil {
		return err
	}
	if aside(a.Root) {
		a.Send, a.Recv = Buffer{}, Buffer{}
		return nil
	}
	atRoot := c.atRoot(a.Root)
	if !atRoot {
		a.Send = Buffer{}
	} else if c.IsInter() {
		a.Recv = Buffer{}
	}
	if err := c.checkPair(op, a.Send, a.Recv, false, atRoot); err != nil || !atRoot {
		return err
	}
	return c.checkParts(op, "send", a.Send, a.SendCounts, a.SendDispls, c.blocks(), a.Kind == alg.Scatterv)
}

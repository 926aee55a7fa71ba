package ompi

import (
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
)

// collective is a blocking operation from the entrance on. What a points to stays with the caller.
func (c *Comm) collective(op string, a *alg.Args) error {
	if err := c.checkCollective(op, a); err != nil {
		return err
	}
	if !c.odd {
		return c.outcome(op, c.carryOut(a))
	}
	own := *a
	return c.call(op, peerOf(&own), localBytes(&own), func() error { return c.outcome(op, c.carryOut(&own)) })
}

// startCollective is the entrance of a non-blocking operation, initCollective that of a persistent one.
func (c *Comm) startCollective(op string, a *alg.Args) Request { return c.launch(op, a, false) }
func (c *Comm) initCollective(op string, a *alg.Args) Request  { return c.launch(op, a, true) }

func (c *Comm) launch(op string, a *alg.Args, persistent bool) Request {
	if err := c.checkCollective(op, a); err != nil {
		return failedRequest(c, op, err)
	}
	if c.coll.Start == nil {
		return failedRequest(c, op, c.badArg(op, ErrUnsupportedOperation, "no collective component has non-blocking operations; check parameter coll (component nbc has them)"))
	}
	own := *a
	if !c.odd {
		return c.begin(op, &own, persistent)
	}
	var r Request
	if err := c.call(op, peerOf(&own), localBytes(&own), func() error { r = c.begin(op, &own, persistent); return nil }); err != nil {
		return failedRequest(c, op, err)
	}
	return r
}

func (c *Comm) begin(op string, a *alg.Args, persistent bool) Request {
	var r *core.Request
	if persistent {
		r = c.coll.Start.Init(a)
	} else {
		r = c.coll.Start.Start(a)
	}
	r.Op = op
	return Request{r.Handle(), c}
}

// outcome is fail for an error that may be nil.
func (c *Comm) outcome(op string, err error) error {
	if err == nil {
		return nil
	}
	return c.fail(op, err)
}

// carryOut calls the component that has the operation.
func (c *Comm) carryOut(a *alg.Args) error {
	t := c.coll
	switch a.Kind {
	case alg.Barrier:
		return t.Barrier.Barrier()
	case alg.Bcast:
		return t.Bcast.Bcast(a.Send, a.Root)
	case alg.Reduce:
		return t.Reduce.Reduce(a.Send, a.Recv, a.Op, a.Root)
	case alg.Allreduce:
		return t.Allreduce.Allreduce(a.Send, a.Recv, a.Op)
	case alg.Gather:
		return t.Gather.Gather(a.Send, a.Recv, a.Root)
	case alg.Gatherv:
		return t.Gatherv.Gatherv(a.Send, a.Recv, a.RecvCounts, a.RecvDispls, a.Root)
	case alg.Scatter:
		return t.Scatter.Scatter(a.Send, a.Recv, a.Root)
	case alg.Scatterv:
		return t.Scatterv.Scatterv(a.Send, a.SendCounts, a.SendDispls, a.Recv, a.Root)
	case alg.Allgather:
		return t.Allgather.Allgather(a.Send, a.Recv)
	case alg.Allgatherv:
		return t.Allgatherv.Allgatherv(a.Send, a.Recv, a.RecvCounts, a.RecvDispls)
	case alg.Alltoall:
		return t.Alltoall.Alltoall(a.Send, a.Recv)
	case alg.Alltoallv:
		return t.Alltoallv.Alltoallv(a.Send, a.SendCounts, a.SendDispls, a.Recv, a.RecvCounts, a.RecvDispls)
	case alg.Alltoallw:
		return t.Alltoallw.Alltoallw(a.Sends, a.Recvs)
	case alg.ReduceScatter:
		return t.ReduceScatter.ReduceScatter(a.Send, a.Recv, a.RecvCounts, a.Op)
	case alg.ReduceScatterBlock:
		return t.ReduceScatterBlock.ReduceScatterBlock(a.Send, a.Recv, a.Op)
	case alg.Scan:
		return t.Scan.Scan(a.Send, a.Recv, a.Op)
	case alg.Exscan:
		return t.Exscan.Exscan(a.Send, a.Recv, a.Op)
	}
	own := *a // the call below would move the caller's to the heap, whichever operation it is
	return t.Neighbor.Neighbor(&own)
}

// peerOf and localBytes are what an interceptor is told.
func peerOf(a *alg.Args) int {
	switch a.Kind {
	case alg.Bcast, alg.Reduce, alg.Gather, alg.Gatherv, alg.Scatter, alg.Scatterv:
		return a.Root
	}
	return Undefined
}

func localBytes(a *alg.Args) int64 {
	n := max(a.Send.Bytes(), 0)
	if a.Send.Type() == nil || a.Send.IsInPlace() {
		n = a.Recv.Bytes()
	}
	parts := a.Sends
	if len(parts) == 1 && parts[0].IsInPlace() {
		parts = a.Recvs
	}
	for _, b := range parts {
		n += b.Bytes()
	}
	return n
}

package ompi

import "github.com/ompi-go/ompi-go/coll/alg"

// Non-blocking collective operations (MPI-3.1 §5.12). Each returns at once; its buffers must not be touched until the request is
// complete, while counts and displacements are the caller's again. All ranks start them in the same order, relative to each other
// and to blocking ones. An operation moves on whenever its rank is inside an MPI call: a long computation may call Test now and
// then.

// Ibarrier starts a Barrier.
func (c *Comm) Ibarrier() Request {
	return c.startCollective("Ibarrier", &alg.Args{Kind: alg.Barrier})
}

// Ibcast starts a Bcast.
func (c *Comm) Ibcast(buf Buffer, root int) Request {
	return c.startCollective("Ibcast", &alg.Args{Kind: alg.Bcast, Send: buf, Root: root})
}

// Igather starts a Gather.
func (c *Comm) Igather(send, recv Buffer, root int) Request {
	return c.startCollective("Igather", &alg.Args{Kind: alg.Gather, Send: send, Recv: recv, Root: root})
}

// Igatherv starts a Gatherv.
func (c *Comm) Igatherv(send, recv Buffer, counts, displs []int, root int) Request {
	return c.startCollective("Igatherv", &alg.Args{Kind: alg.Gatherv, Send: send, Recv: recv, RecvCounts: counts, RecvDispls: displs, Root: root})
}

// Iscatter starts a Scatter.
func (c *Comm) Iscatter(send, recv Buffer, root int) Request {
	return c.startCollective("Iscatter", &alg.Args{Kind: alg.Scatter, Send: send, Recv: recv, Root: root})
}

// Iscatterv starts a Scatterv.
func (c *Comm) Iscatterv(send Buffer, counts, displs []int, recv Buffer, root int) Request {
	return c.startCollective("Iscatterv", &alg.Args{Kind: alg.Scatterv, Send: send, SendCounts: counts, SendDispls: displs, Recv: recv, Root: root})
}

// Iallgather starts an Allgather.
func (c *Comm) Iallgather(send, recv Buffer) Request {
	return c.startCollective("Iallgather", &alg.Args{Kind: alg.Allgather, Send: send, Recv: recv})
}

// Iallgatherv starts an Allgatherv.
func (c *Comm) Iallgatherv(send, recv Buffer, counts, displs []int) Request {
	return c.startCollective("Iallgatherv", &alg.Args{Kind: alg.Allgatherv, Send: send, Recv: recv, RecvCounts: counts, RecvDispls: displs})
}

// Ialltoall starts an Alltoall.
func (c *Comm) Ialltoall(send, recv Buffer) Request {
	return c.startCollective("Ialltoall", &alg.Args{Kind: alg.Alltoall, Send: send, Recv: recv})
}

// Ialltoallv starts an Alltoallv.
func (c *Comm) Ialltoallv(send Buffer, sendCounts, sendDispls []int, recv Buffer, recvCounts, recvDispls []int) Request {
	return c.startCollective("Ialltoallv", &alg.Args{Kind: alg.Alltoallv, Send: send, SendCounts: sendCounts, SendDispls: sendDispls, Recv: recv, RecvCounts: recvCounts, RecvDispls: recvDispls})
}

// Ialltoallw starts an Alltoallw.
func (c *Comm) Ialltoallw(send, recv []Buffer) Request {
	return c.startCollective("Ialltoallw", &alg.Args{Kind: alg.Alltoallw, Sends: send, Recvs: recv})
}

// Ireduce starts a Reduce.
func (c *Comm) Ireduce(send, recv Buffer, op *Op, root int) Request {
	return c.startCollective("Ireduce", &alg.Args{Kind: alg.Reduce, Send: send, Recv: recv, Op: op, Root: root})
}

// Iallreduce starts an Allreduce.
func (c *Comm) Iallreduce(send, recv Buffer, op *Op) Request {
	return c.startCollective("Iallreduce", &alg.Args{Kind: alg.Allreduce, Send: send, Recv: recv, Op: op})
}

// IreduceScatter starts a ReduceScatter.
func (c *Comm) IreduceScatter(send, recv Buffer, counts []int, op *Op) Request {
	return c.startCollective("Ireduce_scatter", &alg.Args{Kind: alg.ReduceScatter, Send: send, Recv: recv, RecvCounts: counts, Op: op})
}

// IreduceScatterBlock starts a ReduceScatterBlock.
func (c *Comm) IreduceScatterBlock(send, recv Buffer, op *Op) Request {
	return c.startCollective("Ireduce_scatter_block", &alg.Args{Kind: alg.ReduceScatterBlock, Send: send, Recv: recv, Op: op})
}

// Iscan starts a Scan.
func (c *Comm) Iscan(send, recv Buffer, op *Op) Request {
	return c.startCollective("Iscan", &alg.Args{Kind: alg.Scan, Send: send, Recv: recv, Op: op})
}

// Iexscan starts an Exscan.
func (c *Comm) Iexscan(send, recv Buffer, op *Op) Request {
	return c.startCollective("Iexscan", &alg.Args{Kind: alg.Exscan, Send: send, Recv: recv, Op: op})
}

// IneighborAllgather starts a NeighborAllgather.
func (c *Comm) IneighborAllgather(send, recv Buffer) Request {
	return c.startCollective("Ineighbor_allgather", &alg.Args{Kind: alg.NeighborAllgather, Send: send, Recv: recv})
}

// IneighborAllgatherv starts a NeighborAllgatherv.
func (c *Comm) IneighborAllgatherv(send, recv Buffer, counts, displs []int) Request {
	return c.startCollective("Ineighbor_allgatherv", &alg.Args{Kind: alg.NeighborAllgatherv, Send: send, Recv: recv, RecvCounts: counts, RecvDispls: displs})
}

// IneighborAlltoall starts a NeighborAlltoall.
func (c *Comm) IneighborAlltoall(send, recv Buffer) Request {
	return c.startCollective("Ineighbor_alltoall", &alg.Args{Kind: alg.NeighborAlltoall, Send: send, Recv: recv})
}

// IneighborAlltoallv starts a NeighborAlltoallv.
func (c *Comm) IneighborAlltoallv(send Buffer, sendCounts, sendDispls []int, recv Buffer, recvCounts, recvDispls []int) Request {
	return c.startCollective("Ineighbor_alltoallv", &alg.Args{Kind: alg.NeighborAlltoallv, Send: send, SendCounts: sendCounts, SendDispls: sendDispls, Recv: recv, RecvCounts: recvCounts, RecvDispls: recvDispls})
}

// IneighborAlltoallw starts a NeighborAlltoallw.
func (c *Comm) IneighborAlltoallw(send, recv []Buffer) Request {
	return c.startCollective("Ineighbor_alltoallw", &alg.Args{Kind: alg.NeighborAlltoallw, Sends: send, Recvs: recv})
}

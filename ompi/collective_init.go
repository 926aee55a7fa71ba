package ompi

import "github.com/ompi-go/ompi-go/coll/alg"

// Persistent collective operations (MPI-4.1 §6.13). All ranks make them in the same order, and start them in the same order. Counts
// and displacements are read when the request is made.

// BarrierInit makes a persistent Barrier.
func (c *Comm) BarrierInit() Request {
	return c.initCollective("Barrier_init", &alg.Args{Kind: alg.Barrier})
}

// BcastInit makes a persistent Bcast.
func (c *Comm) BcastInit(buf Buffer, root int) Request {
	return c.initCollective("Bcast_init", &alg.Args{Kind: alg.Bcast, Send: buf, Root: root})
}

// GatherInit makes a persistent Gather.
func (c *Comm) GatherInit(send, recv Buffer, root int) Request {
	return c.initCollective("Gather_init", &alg.Args{Kind: alg.Gather, Send: send, Recv: recv, Root: root})
}

// GathervInit makes a persistent Gatherv.
func (c *Comm) GathervInit(send, recv Buffer, counts, displs []int, root int) Request {
	return c.initCollective("Gatherv_init", &alg.Args{Kind: alg.Gatherv, Send: send, Recv: recv, RecvCounts: counts, RecvDispls: displs, Root: root})
}

// ScatterInit makes a persistent Scatter.
func (c *Comm) ScatterInit(send, recv Buffer, root int) Request {
	return c.initCollective("Scatter_init", &alg.Args{Kind: alg.Scatter, Send: send, Recv: recv, Root: root})
}

// ScattervInit makes a persistent Scatterv.
func (c *Comm) ScattervInit(send Buffer, counts, displs []int, recv Buffer, root int) Request {
	return c.initCollective("Scatterv_init", &alg.Args{Kind: alg.Scatterv, Send: send, SendCounts: counts, SendDispls: displs, Recv: recv, Root: root})
}

// AllgatherInit makes a persistent Allgather.
func (c *Comm) AllgatherInit(send, recv Buffer) Request {
	return c.initCollective("Allgather_init", &alg.Args{Kind: alg.Allgather, Send: send, Recv: recv})
}

// AllgathervInit makes a persistent Allgatherv.
func (c *Comm) AllgathervInit(send, recv Buffer, counts, displs []int) Request {
	return c.initCollective("Allgatherv_init", &alg.Args{Kind: alg.Allgatherv, Send: send, Recv: recv, RecvCounts: counts, RecvDispls: displs})
}

// AlltoallInit makes a persistent Alltoall.
func (c *Comm) AlltoallInit(send, recv Buffer) Request {
	return c.initCollective("Alltoall_init", &alg.Args{Kind: alg.Alltoall, Send: send, Recv: recv})
}

// AlltoallvInit makes a persistent Alltoallv.
func (c *Comm) AlltoallvInit(send Buffer, sendCounts, sendDispls []int, recv Buffer, recvCounts, recvDispls []int) Request {
	return c.initCollective("Alltoallv_init", &alg.Args{Kind: alg.Alltoallv, Send: send, SendCounts: sendCounts, SendDispls: sendDispls, Recv: recv, RecvCounts: recvCounts, RecvDispls: recvDispls})
}

// AlltoallwInit makes a persistent Alltoallw.
func (c *Comm) AlltoallwInit(send, recv []Buffer) Request {
	return c.initCollective("Alltoallw_init", &alg.Args{Kind: alg.Alltoallw, Sends: send, Recvs: recv})
}

// ReduceInit makes a persistent Reduce.
func (c *Comm) ReduceInit(send, recv Buffer, op *Op, root int) Request {
	return c.initCollective("Reduce_init", &alg.Args{Kind: alg.Reduce, Send: send, Recv: recv, Op: op, Root: root})
}

// AllreduceInit makes a persistent Allreduce.
func (c *Comm) AllreduceInit(send, recv Buffer, op *Op) Request {
	return c.initCollective("Allreduce_init", &alg.Args{Kind: alg.Allreduce, Send: send, Recv: recv, Op: op})
}

// ReduceScatterInit makes a persistent ReduceScatter.
func (c *Comm) ReduceScatterInit(send, recv Buffer, counts []int, op *Op) Request {
	return c.initCollective("Reduce_scatter_init", &alg.Args{Kind: alg.ReduceScatter, Send: send, Recv: recv, RecvCounts: counts, Op: op})
}

// ReduceScatterBlockInit makes a persistent ReduceScatterBlock.
func (c *Comm) ReduceScatterBlockInit(send, recv Buffer, op *Op) Request {
	return c.initCollective("Reduce_scatter_block_init", &alg.Args{Kind: alg.ReduceScatterBlock, Send: send, Recv: recv, Op: op})
}

// ScanInit makes a persistent Scan.
func (c *Comm) ScanInit(send, recv Buffer, op *Op) Request {
	return c.initCollective("Scan_init", &alg.Args{Kind: alg.Scan, Send: send, Recv: recv, Op: op})
}

// ExscanInit makes a persistent Exscan.
func (c *Comm) ExscanInit(send, recv Buffer, op *Op) Request {
	return c.initCollective("Exscan_init", &alg.Args{Kind: alg.Exscan, Send: send, Recv: recv, Op: op})
}

// NeighborAllgatherInit makes a persistent NeighborAllgather.
func (c *Comm) NeighborAllgatherInit(send, recv Buffer) Request {
	return c.initCollective("Neighbor_allgather_init", &alg.Args{Kind: alg.NeighborAllgather, Send: send, Recv: recv})
}

// NeighborAllgathervInit makes a persistent NeighborAllgatherv.
func (c *Comm) NeighborAllgathervInit(send, recv Buffer, counts, displs []int) Request {
	return c.initCollective("Neighbor_allgatherv_init", &alg.Args{Kind: alg.NeighborAllgatherv, Send: send, Recv: recv, RecvCounts: counts, RecvDispls: displs})
}

// NeighborAlltoallInit makes a persistent NeighborAlltoall.
func (c *Comm) NeighborAlltoallInit(send, recv Buffer) Request {
	return c.initCollective("Neighbor_alltoall_init", &alg.Args{Kind: alg.NeighborAlltoall, Send: send, Recv: recv})
}

// NeighborAlltoallvInit makes a persistent NeighborAlltoallv.
func (c *Comm) NeighborAlltoallvInit(send Buffer, sendCounts, sendDispls []int, recv Buffer, recvCounts, recvDispls []int) Request {
	return c.initCollective("Neighbor_alltoallv_init", &alg.Args{Kind: alg.NeighborAlltoallv, Send: send, SendCounts: sendCounts, SendDispls: sendDispls, Recv: recv, RecvCounts: recvCounts, RecvDispls: recvDispls})
}

// NeighborAlltoallwInit makes a persistent NeighborAlltoallw.
func (c *Comm) NeighborAlltoallwInit(send, recv []Buffer) Request {
	return c.initCollective("Neighbor_alltoallw_init", &alg.Args{Kind: alg.NeighborAlltoallw, Sends: send, Recvs: recv})
}

package ompi

import "github.com/ompi-go/ompi-go/coll/alg"

// Collective operations (MPI-3.1 chapter 5, §7.6). All ranks of the communicator call them in the same order. Undivided buffers of
// Gather, Scatter, Allgather and Alltoall are the whole buffer, split by the number of ranks that it serves. In v forms, counts and
// displacements are in extents of the buffer's type; nil displacements mean packed one behind the other.

// Barrier returns when all ranks have called it (MPI-3.1 §5.3).
func (c *Comm) Barrier() error {
	if c == nil || c.odd {
		return c.collective("Barrier", &alg.Args{Kind: alg.Barrier})
	}
	if err := c.usable("Barrier"); err != nil {
		return err
	}
	return c.outcome("Barrier", c.coll.Barrier.Barrier())
}

// Bcast sends root's buffer to all others (MPI-3.1 §5.4).
func (c *Comm) Bcast(buf Buffer, root int) error {
	if c == nil || c.odd {
		return c.collective("Bcast", &alg.Args{Kind: alg.Bcast, Send: buf, Root: root})
	}
	if err := c.checkBcast("Bcast", buf, root); err != nil {
		return err
	}
	return c.outcome("Bcast", c.coll.Bcast.Bcast(buf, root))
}

// Gather collects all ranks' send buffers in root's recv, in rank order (MPI-3.1 §5.5). InPlace as root's send: its part is in
// recv already.
func (c *Comm) Gather(send, recv Buffer, root int) error {
	return c.collective("Gather", &alg.Args{Kind: alg.Gather, Send: send, Recv: recv, Root: root})
}

// Gatherv is Gather with a count and a displacement for each rank.
func (c *Comm) Gatherv(send, recv Buffer, counts, displs []int, root int) error {
	return c.collective("Gatherv", &alg.Args{Kind: alg.Gatherv, Send: send, Recv: recv, RecvCounts: counts, RecvDispls: displs, Root: root})
}

// Scatter deals root's send buffer out to all ranks' recv, in rank order (MPI-3.1 §5.6). InPlace as root's recv: its part stays in
// send.
func (c *Comm) Scatter(send, recv Buffer, root int) error {
	return c.collective("Scatter", &alg.Args{Kind: alg.Scatter, Send: send, Recv: recv, Root: root})
}

// Scatterv is Scatter with a count and a displacement for each rank.
func (c *Comm) Scatterv(send Buffer, counts, displs []int, recv Buffer, root int) error {
	return c.collective("Scatterv", &alg.Args{Kind: alg.Scatterv, Send: send, SendCounts: counts, SendDispls: displs, Recv: recv, Root: root})
}

// Allgather collects all ranks' send buffers in every rank's recv (MPI-3.1 §5.7). InPlace as send: the caller's part is in recv
// already.
func (c *Comm) Allgather(send, recv Buffer) error {
	return c.collective("Allgather", &alg.Args{Kind: alg.Allgather, Send: send, Recv: recv})
}

// Allgatherv is Allgather with a count and a displacement for each rank.
func (c *Comm) Allgatherv(send, recv Buffer, counts, displs []int) error {
	return c.collective("Allgatherv", &alg.Args{Kind: alg.Allgatherv, Send: send, Recv: recv, RecvCounts: counts, RecvDispls: displs})
}

// Alltoall sends the i-th part of send to rank i, whose parts come into recv in rank order (MPI-3.1 §5.8). InPlace as send: recv
// is both.
func (c *Comm) Alltoall(send, recv Buffer) error {
	return c.collective("Alltoall", &alg.Args{Kind: alg.Alltoall, Send: send, Recv: recv})
}

// Alltoallv is Alltoall with counts and displacements for each rank.
func (c *Comm) Alltoallv(send Buffer, sendCounts, sendDispls []int, recv Buffer, recvCounts, recvDispls []int) error {
	return c.collective("Alltoallv", &alg.Args{Kind: alg.Alltoallv, Send: send, SendCounts: sendCounts, SendDispls: sendDispls, Recv: recv, RecvCounts: recvCounts, RecvDispls: recvDispls})
}

// Alltoallw is Alltoall with a buffer, and so a type, for each rank. In place: send is []Buffer{InPlace()}.
func (c *Comm) Alltoallw(send, recv []Buffer) error {
	return c.collective("Alltoallw", &alg.Args{Kind: alg.Alltoallw, Sends: send, Recvs: recv})
}

// Reduce combines all ranks' send buffers element by element into root's recv (MPI-3.1 §5.9). InPlace as root's send: the input is
// in recv.
func (c *Comm) Reduce(send, recv Buffer, op *Op, root int) error {
	return c.collective("Reduce", &alg.Args{Kind: alg.Reduce, Send: send, Recv: recv, Op: op, Root: root})
}

// Allreduce combines all ranks' send buffers into every rank's recv. InPlace as send: the input is in recv.
func (c *Comm) Allreduce(send, recv Buffer, op *Op) error {
	if c == nil || c.odd {
		return c.collective("Allreduce", &alg.Args{Kind: alg.Allreduce, Send: send, Recv: recv, Op: op})
	}
	if err := c.checkAllreduce("Allreduce", send, recv, op); err != nil {
		return err
	}
	return c.outcome("Allreduce", c.coll.Allreduce.Allreduce(send, fit(recv, send), op))
}

// ReduceScatter combines all ranks' send buffers and gives rank i its counts[i] elements of the result (MPI-3.1 §5.10). InPlace as
// send: the whole input is in recv, the result comes to its beginning.
func (c *Comm) ReduceScatter(send, recv Buffer, counts []int, op *Op) error {
	return c.collective("Reduce_scatter", &alg.Args{Kind: alg.ReduceScatter, Send: send, Recv: recv, RecvCounts: counts, Op: op})
}

// ReduceScatterBlock is ReduceScatter with equal parts. InPlace as send: the whole input is in recv.
func (c *Comm) ReduceScatterBlock(send, recv Buffer, op *Op) error {
	return c.collective("Reduce_scatter_block", &alg.Args{Kind: alg.ReduceScatterBlock, Send: send, Recv: recv, Op: op})
}

// Scan combines the send buffers of ranks 0 to the caller's (MPI-3.1 §5.11). InPlace as send: the input is in recv.
func (c *Comm) Scan(send, recv Buffer, op *Op) error {
	return c.collective("Scan", &alg.Args{Kind: alg.Scan, Send: send, Recv: recv, Op: op})
}

// Exscan combines the send buffers of the ranks below the caller's; rank 0's recv stays as it is. InPlace as send: the input is in
// recv.
func (c *Comm) Exscan(send, recv Buffer, op *Op) error {
	return c.collective("Exscan", &alg.Args{Kind: alg.Exscan, Send: send, Recv: recv, Op: op})
}

// NeighborAllgather sends one buffer to all destinations of the topology and collects those of all sources, in the order of
// Neighbors (MPI-3.1 §7.6).
func (c *Comm) NeighborAllgather(send, recv Buffer) error {
	return c.collective("Neighbor_allgather", &alg.Args{Kind: alg.NeighborAllgather, Send: send, Recv: recv})
}

// NeighborAllgatherv is NeighborAllgather with a count and a displacement for each source.
func (c *Comm) NeighborAllgatherv(send, recv Buffer, counts, displs []int) error {
	return c.collective("Neighbor_allgatherv", &alg.Args{Kind: alg.NeighborAllgatherv, Send: send, Recv: recv, RecvCounts: counts, RecvDispls: displs})
}

// NeighborAlltoall sends the i-th part of send to the i-th destination of the topology, and collects what the sources send.
func (c *Comm) NeighborAlltoall(send, recv Buffer) error {
	return c.collective("Neighbor_alltoall", &alg.Args{Kind: alg.NeighborAlltoall, Send: send, Recv: recv})
}

// NeighborAlltoallv is NeighborAlltoall with counts and displacements for each neighbour.
func (c *Comm) NeighborAlltoallv(send Buffer, sendCounts, sendDispls []int, recv Buffer, recvCounts, recvDispls []int) error {
	return c.collective("Neighbor_alltoallv", &alg.Args{Kind: alg.NeighborAlltoallv, Send: send, SendCounts: sendCounts, SendDispls: sendDispls, Recv: recv, RecvCounts: recvCounts, RecvDispls: recvDispls})
}

// NeighborAlltoallw is NeighborAlltoall with a buffer for each neighbour.
func (c *Comm) NeighborAlltoallw(send, recv []Buffer) error {
	return c.collective("Neighbor_alltoallw", &alg.Args{Kind: alg.NeighborAlltoallw, Sends: send, Recvs: recv})
}

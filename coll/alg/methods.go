package alg

import "github.com/ompi-go/ompi-go/core"

// The operations as package coll wants them.

// Barrier implements coll.Barrierer.
func (r *Runner) Barrier() error {
	c, _ := r.begin(Barrier)
	return r.run(c)
}

// Finish implements coll.Finisher.
func (r *Runner) Finish() error {
	c, _ := r.begin(Barrier)
	c.tag = 1 + int(Kinds)
	return r.run(c)
}

// Bcast implements coll.Bcaster.
func (r *Runner) Bcast(buf core.Buffer, root int) error {
	c, a := r.begin(Bcast)
	a.Send, a.Root = buf, root
	return r.run(c)
}

// Reduce implements coll.Reducer.
func (r *Runner) Reduce(send, recv core.Buffer, op *core.Op, root int) error {
	c, a := r.begin(Reduce)
	a.Send, a.Recv, a.Op, a.Root = send, recv, op, root
	return r.run(c)
}

// Allreduce implements coll.Allreducer.
func (r *Runner) Allreduce(send, recv core.Buffer, op *core.Op) error {
	c, a := r.begin(Allreduce)
	a.Send, a.Recv, a.Op = send, recv, op
	return r.run(c)
}

// Gather implements coll.Gatherer.
func (r *Runner) Gather(send, recv core.Buffer, root int) error {
	c, a := r.begin(Gather)
	a.Send, a.Recv, a.Root = send, recv, root
	return r.run(c)
}

// Gatherv implements coll.Gatherver.
func (r *Runner) Gatherv(send, recv core.Buffer, counts, displs []int, root int) error {
	c, a := r.begin(Gatherv)
	a.Send, a.Recv, a.RecvCounts, a.RecvDispls, a.Root = send, recv, counts, displs, root
	return r.run(c)
}

// Scatter implements coll.Scatterer.
func (r *Runner) Scatter(send, recv core.Buffer, root int) error {
	c, a := r.begin(Scatter)
	a.Send, a.Recv, a.Root = send, recv, root
	return r.run(c)
}

// Scatterv implements coll.Scatterver.
func (r *Runner) Scatterv(send core.Buffer, counts, displs []int, recv core.Buffer, root int) error {
	c, a := r.begin(Scatterv)
	a.Send, a.SendCounts, a.SendDispls, a.Recv, a.Root = send, counts, displs, recv, root
	return r.run(c)
}

// Allgather implements coll.Allgatherer.
func (r *Runner) Allgather(send, recv core.Buffer) error {
	c, a := r.begin(Allgather)
	a.Send, a.Recv = send, recv
	return r.run(c)
}

// Allgatherv implements coll.Allgatherver.
func (r *Runner) Allgatherv(send, recv core.Buffer, counts, displs []int) error {
	c, a := r.begin(Allgatherv)
	a.Send, a.Recv, a.RecvCounts, a.RecvDispls = send, recv, counts, displs
	return r.run(c)
}

// Alltoall implements coll.Alltoaller.
func (r *Runner) Alltoall(send, recv core.Buffer) error {
	c, a := r.begin(Alltoall)
	a.Send, a.Recv = send, recv
	return r.run(c)
}

// Alltoallv implements coll.Alltoallver.
func (r *Runner) Alltoallv(send core.Buffer, sendCounts, sendDispls []int, recv core.Buffer, recvCounts, recvDispls []int) error {
	c, a := r.begin(Alltoallv)
	a.Send, a.SendCounts, a.SendDispls = send, sendCounts, sendDispls
	a.Recv, a.RecvCounts, a.RecvDispls = recv, recvCounts, recvDispls
	return r.run(c)
}

// Alltoallw implements coll.Alltoallwer.
func (r *Runner) Alltoallw(send, recv []core.Buffer) error {
	c, a := r.begin(Alltoallw)
	a.Sends, a.Recvs = send, recv
	return r.run(c)
}

// ReduceScatter implements coll.ReduceScatterer.
func (r *Runner) ReduceScatter(send, recv core.Buffer, counts []int, op *core.Op) error {
	c, a := r.begin(ReduceScatter)
	a.Send, a.Recv, a.RecvCounts, a.Op = send, recv, counts, op
	return r.run(c)
}

// ReduceScatterBlock implements coll.ReduceScatterBlocker.
func (r *Runner) ReduceScatterBlock(send, recv core.Buffer, op *core.Op) error {
	c, a := r.begin(ReduceScatterBlock)
	a.Send, a.Recv, a.Op = send, recv, op
	return r.run(c)
}

// Scan implements coll.Scanner.
func (r *Runner) Scan(send, recv core.Buffer, op *core.Op) error {
	c, a := r.begin(Scan)
	a.Send, a.Recv, a.Op = send, recv, op
	return r.run(c)
}

// Exscan implements coll.Exscanner.
func (r *Runner) Exscan(send, recv core.Buffer, op *core.Op) error {
	c, a := r.begin(Exscan)
	a.Send, a.Recv, a.Op = send, recv, op
	return r.run(c)
}

// Neighbor implements coll.Neighborer: any of the neighbourhood operations.
func (r *Runner) Neighbor(args *Args) error {
	c, a := r.begin(args.Kind)
	*a = *args
	return r.run(c)
}

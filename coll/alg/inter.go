package alg

import "github.com/ompi-go/ompi-go/core"

// Operations of intercommunicators (MPI-3.1 §5.2.2) go through the leaders, rank 0 of either group: the local group gathers or reduces
// what goes to the leader, the leaders exchange it, and the local group spreads what came. Data that are different for every rank go
// directly.
//
// A Call's rank and size are those of the local group, and so are the ranks in its steps, but for those between across and home,
// which name ranks of the remote group.
//
// Rooted operations have their root in one group: it calls with core.Root, the others of its group with core.ProcNull, and
// the other group with the root's rank.

// leader is the rank of either group that speaks for it.
const leader = 0

// across has the following steps name ranks of the remote group. They are waited for before the local group's go on.
func (c *Call) across() {
	c.remote = true
	if c.comm != nil {
		c.ch = &c.comm.Inner
	}
}

// home has the following steps name ranks of the local group.
func (c *Call) home() {
	c.wait()
	c.remote = false
	if c.comm != nil {
		c.ch = &c.comm.Local.Inner
	}
}

// trade exchanges a message between the leaders.
func (c *Call) trade(send, recv core.Buffer) {
	if c.rank == leader {
		c.across()
		c.exchange(send, leader, recv, leader)
		c.home()
	}
}

// fetch has the leader receive from a rank of the remote group; hand has it send to one.
func (c *Call) fetch(b core.Buffer, source int) {
	if c.rank == leader {
		c.across()
		c.recv(b, source)
		c.home()
	}
}

func (c *Call) hand(b core.Buffer, dest int) {
	if c.rank == leader {
		c.across()
		c.send(b, dest)
		c.home()
	}
}

func interBarrier(c *Call, _ *Args) {
	barrierTree(c, nil)
	c.trade(nothing(), nothing())
	barrierTree(c, nil)
}

// interBcast: the root sends to the other group's leader, which spreads it.
func interBcast(c *Call, a *Args) {
	switch a.Root {
	case core.ProcNull:
	case core.Root:
		c.across()
		c.send(a.Send, leader)
		c.home()
	default:
		c.fetch(a.Send, a.Root)
		c.bcast(a.Send, leader)
	}
}

// reduceHere gives the leader what the local group's operands combine to.
func (c *Call) reduceHere(a *Args) core.Buffer {
	result := nothing()
	if a.Send.Bytes() == 0 { // the zero Buffer, perhaps, which has no type
		return result
	}
	if c.rank == leader {
		result = c.typed(2, a.Send.Type(), a.Send.Count())
	}
	c.reduce(a.Send, result, a.Op, leader)
	return result
}

// interReduce: the group without the root reduces to its leader, which sends the result.
func interReduce(c *Call, a *Args) {
	switch a.Root {
	case core.ProcNull:
	case core.Root:
		c.across()
		c.recv(a.Recv, leader)
		c.home()
	default:
		c.hand(c.reduceHere(a), a.Root)
	}
}

// interAllreduce: each group gets what the other's operands combine to.
func interAllreduce(c *Call, a *Args) {
	c.trade(c.reduceHere(a), a.Recv)
	if a.Recv.Bytes() > 0 {
		c.bcast(a.Recv, leader)
	}
}

// places gives where the block for or from each remote rank lies in a buffer.
func (c *Call) places(b core.Buffer, counts, displs []int, v bool) func(i int) core.Buffer {
	if v {
		return c.vector(b, counts, displs)
	}
	return even(b, c.peers)
}

// interGather: everybody sends to the root.
func interGather(c *Call, a *Args) {
	if a.Root == core.ProcNull {
		return
	}
	c.across()
	if a.Root == core.Root {
		place := c.places(a.Recv, a.RecvCounts, a.RecvDispls, a.Kind == Gatherv)
		for i := range c.peers {
			c.irecv(place(i), i)
		}
	} else {
		c.isend(a.Send, a.Root)
	}
	c.home()
}

// interScatter: the root sends to everybody.
func interScatter(c *Call, a *Args) {
	if a.Root == core.ProcNull {
		return
	}
	c.across()
	if a.Root == core.Root {
		place := c.places(a.Send, a.SendCounts, a.SendDispls, a.Kind == Scatterv)
		for i := range c.peers {
			c.isend(place(i), i)
		}
	} else {
		c.irecv(a.Recv, a.Root)
	}
	c.home()
}

// interAllgather: everybody sends to the other group's leader, which spreads what came, packed: between blocks may lie what is the
// user's.
func interAllgather(c *Call, a *Args) {
	place := c.places(a.Recv, a.RecvCounts, a.RecvDispls, a.Kind == Allgatherv)
	c.across()
	if c.rank == leader {
		for i := range c.peers {
			c.irecv(place(i), i)
		}
	}
	c.isend(a.Send, leader)
	c.home()
	if c.size == 1 {
		return
	}
	total := int64(0)
	for i := range c.peers {
		total += place(i).Bytes()
	}
	if total == 0 {
		return
	}
	all := c.packedLike(0, total, a.Recv)
	at := int64(0)
	if c.rank == leader {
		for i := range c.peers {
			n := place(i).Bytes()
			c.copy(part(all, at, n), place(i))
			at += n
		}
	}
	c.bcast(all, leader)
	if c.rank != leader {
		for i := range c.peers {
			n := place(i).Bytes()
			c.copy(place(i), part(all, at, n))
			at += n
		}
	}
}

// interAlltoall goes round the larger group: in each turn everybody sends to one rank and receives from one, where there is one.
func interAlltoall(c *Call, a *Args) {
	var out, in func(i int) core.Buffer
	if a.Kind == Alltoallw {
		out = func(i int) core.Buffer { return a.Sends[i] }
		in = func(i int) core.Buffer { return a.Recvs[i] }
	} else {
		v := a.Kind == Alltoallv
		out = c.places(a.Send, a.SendCounts, a.SendDispls, v)
		in = c.places(a.Recv, a.RecvCounts, a.RecvDispls, v)
	}
	c.across()
	n := max(c.size, c.peers)
	for turn := range n {
		if from := (c.rank - turn + n) % n; from < c.peers {
			c.irecv(in(from), from)
		}
		if to := (c.rank + turn) % n; to < c.peers {
			c.isend(out(to), to)
		}
		c.wait()
	}
	c.home()
}

// interReduceScatter deals out in each group what the other's operands combine to. Counts are of the local group, and
// add up to the same in both.
func interReduceScatter(c *Call, a *Args) {
	b := c.blocksOf(a)
	total := b.begin(c.size-1) + b.count(c.size-1)
	mine := c.result(a, &b)
	result, came := c.reduceHere(a), nothing()
	if c.rank == leader && total > 0 {
		came = c.typed(0, a.Send.Type(), total) // the scratch of the reduction is free again; recv may be nothing
	}
	c.trade(result, came)
	switch {
	case c.rank != leader:
		if mine.Bytes() > 0 {
			c.recv(mine, leader)
		}
	default:
		for i := 1; i < c.size; i++ {
			if out := b.of(came, i); out.Bytes() > 0 {
				c.isend(out, i)
			}
		}
		c.copy(mine, b.of(came, leader))
		c.wait()
	}
}

var interAlgorithms = func() (list [Kinds]*Algorithm) {
	for k, run := range map[Kind]func(*Call, *Args){
		Barrier: interBarrier, Bcast: interBcast, Reduce: interReduce, Allreduce: interAllreduce, Gather: interGather, Gatherv: interGather,
		Scatter: interScatter, Scatterv: interScatter, Allgather: interAllgather, Allgatherv: interAllgather, Alltoall: interAlltoall,
		Alltoallv: interAlltoall, Alltoallw: interAlltoall, ReduceScatter: interReduceScatter, ReduceScatterBlock: interReduceScatter,
	} {
		list[k] = &Algorithm{Kind: k, Name: "leaders", Help: "through the leaders of the two groups", Ordered: true, Run: run, index: maxAlgorithms - 1}
	}
	return list
}()

// Inter is the algorithm of intercommunicators for an operation; nil for those that have no meaning there.
func Inter(k Kind) *Algorithm { return interAlgorithms[k] }

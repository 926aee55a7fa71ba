package alg

import "github.com/ompi-go/ompi-go/core"

// Neighbourhood operations (MPI-3.1 §7.6): a message along each edge of the topology, all at once.

// edges receives in(i) from source i and sends out(i) to destination i. Two ranks may share several edges; messages match in order.
// On a Cartesian topology what goes in the negative direction must arrive on the positive side even if both neighbours are the same
// rank, so sends go in the order in which the other side receives: the positive direction first.
func (c *Call) edges(a *Args, out, in func(i int) core.Buffer) {
	for i, from := range a.Sources {
		if from != core.ProcNull {
			c.irecv(in(i), from)
		}
	}
	for i := range a.Dests {
		if a.Cartesian {
			i ^= 1
		}
		if to := a.Dests[i]; to != core.ProcNull {
			c.isend(out(i), to)
		}
	}
	c.wait()
}

// even gives block i of n equal ones of b.
func even(b core.Buffer, n int) func(i int) core.Buffer {
	if n == 0 {
		return nil
	}
	count := b.Count() / int64(n)
	return func(i int) core.Buffer { return part(b, int64(i)*count, count) }
}

func (c *Call) vector(b core.Buffer, counts, displs []int) func(i int) core.Buffer {
	displs = c.displacements(counts, displs)
	return func(i int) core.Buffer { return part(b, int64(displs[i]), int64(counts[i])) }
}

func neighborAllgatherLinear(c *Call, a *Args) {
	c.edges(a, func(int) core.Buffer { return a.Send }, even(a.Recv, len(a.Sources)))
}

func neighborAllgathervLinear(c *Call, a *Args) {
	c.edges(a, func(int) core.Buffer { return a.Send }, c.vector(a.Recv, a.RecvCounts, a.RecvDispls))
}

func neighborAlltoallLinear(c *Call, a *Args) {
	c.edges(a, even(a.Send, len(a.Dests)), even(a.Recv, len(a.Sources)))
}

func neighborAlltoallvLinear(c *Call, a *Args) {
	c.edges(a, c.vector(a.Send, a.SendCounts, a.SendDispls), c.vector(a.Recv, a.RecvCounts, a.RecvDispls))
}

func neighborAlltoallwLinear(c *Call, a *Args) {
	c.edges(a, func(i int) core.Buffer { return a.Sends[i] }, func(i int) core.Buffer { return a.Recvs[i] })
}

package ompi

import (
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
)

// checkNeighbor checks a neighbourhood operation and puts the neighbours into a.
func (c *Comm) checkNeighbor(op string, a *alg.Args) error {
	t := c.c.Topology()
	if t == nil {
		return c.badArg(op, ErrTopology, "the communicator has no topology")
	}
	a.Sources, a.Dests, a.Cartesian = t.Sources, t.Destinations, t.Kind == core.TopologyCart
	if a.Kind == alg.NeighborAlltoallw {
		return c.checkW(op, a.Sends, a.Recvs, len(a.Dests), len(a.Sources), false)
	}
	if err := c.checkPair(op, a.Send, a.Recv, false, false); err != nil {
		return err
	}
	v := a.Kind == alg.NeighborAllgatherv || a.Kind == alg.NeighborAlltoallv
	if err := c.checkParts(op, "receive", a.Recv, a.RecvCounts, a.RecvDispls, len(a.Sources), v); err != nil {
		return err
	}
	if a.Kind == alg.NeighborAllgather || a.Kind == alg.NeighborAllgatherv {
		return nil
	}
	return c.checkParts(op, "send", a.Send, a.SendCounts, a.SendDispls, len(a.Dests), v)
}

package ompi

import (
	"fmt"

	"github.com/ompi-go/ompi-go/core"
)

// GraphCreate makes a communicator whose ranks are the nodes of a graph that all give alike: the neighbours of node i are
// edges[index[i-1]:index[i]] (MPI-3.1 §7.5.3). Ranks beyond the nodes get nil, nil. Ranks keep their order, as in CartCreate. It is
// collective. ErrArg: the graph makes no sense, or has more nodes than there are ranks.
func (c *Comm) GraphCreate(index, edges []int, reorder bool) (*Comm, error) {
	const op = "Graph_create"
	if err := c.topoParent(op); err != nil {
		return nil, err
	}
	if err := checkGraph(index, edges, c.size); err != nil {
		return nil, c.fail(op, err)
	}
	return c.withTopology(op, len(index), func(rank int) *core.Topology { return core.NewGraph(index, edges, rank) })
}

func checkGraph(index, edges []int, size int) error {
	if len(index) > size {
		return core.NewError(ErrArg, "%d nodes for %d ranks", len(index), size)
	}
	last := 0
	for i, at := range index {
		if at < last {
			return core.NewError(ErrArg, "index %d is %d, less than %d before it", i, at, last)
		}
		last = at
	}
	if last != len(edges) {
		return core.NewError(ErrArg, "the index counts %d edges, there are %d", last, len(edges))
	}
	for i, e := range edges {
		if e < 0 || e >= len(index) {
			return core.NewError(ErrArg, "edge %d leads to node %d of %d", i, e, len(index))
		}
	}
	return nil
}

// checkEnds checks one list of ranks with weights.
func (c *Comm) checkEnds(what string, ranks, weights []int) error {
	if weights != nil && len(weights) != len(ranks) {
		return core.NewError(ErrArg, "%d weights for %d %s", len(weights), len(ranks), what)
	}
	for i, r := range ranks {
		if uint(r) >= uint(c.size) {
			return &core.Error{Class: ErrRank, Peer: r, Index: -1, Err: fmt.Errorf("entry %d of the %s; ranks are 0 to %d", i, what, c.size-1)}
		}
	}
	for i, w := range weights {
		if w < 0 {
			return core.NewError(ErrArg, "weight %d of the %s is %d", i, what, w)
		}
	}
	return nil
}

// distGraph makes the communicator of a distributed graph. make gives this rank's view; with bad, its arguments are wrong, and nobody
// gets a communicator.
func (c *Comm) distGraph(op string, info *Info, bad error, make func() (*core.Topology, error)) (*Comm, error) {
	var out *Comm
	err := c.call(op, Undefined, 0, func() error {
		var topology *core.Topology
		ks, err := c.agreeContexts(bad != nil)
		switch {
		case bad != nil:
			return c.fail(op, bad)
		case err != nil:
			return c.fail(op, err)
		}
		if topology, err = make(); err != nil {
			c.inst.giveContexts(ks...)
			return c.fail(op, err)
		}
		made := c.child(c.c.Group())
		made.c.SetTopology(topology)
		if info != nil {
			made.info.Store(info.Dup())
		}
		if err := c.inst.enable(made, ks); err != nil {
			return c.fail(op, err)
		}
		out = made
		return nil
	})
	return out, err
}

// DistGraphCreateAdjacent makes a communicator with a graph of which each rank knows its own neighbours: the sources of edges to it, and
// the destinations of those from it; nil weights mean that none are given (MPI-3.1 §7.5.4). An edge may be there several times. Both
// its ends must tell of it. Ranks keep their order, as in CartCreate. It is collective; when the arguments of one rank are wrong, all
// get an error.
func (c *Comm) DistGraphCreateAdjacent(sources, sourceWeights, destinations, destWeights []int, info *Info, reorder bool) (*Comm, error) {
	const op = "Dist_graph_create_adjacent"
	if err := c.topoParent(op); err != nil {
		return nil, err
	}
	bad := c.checkEnds("sources", sources, sourceWeights)
	if bad == nil {
		bad = c.checkEnds("destinations", destinations, destWeights)
	}
	return c.distGraph(op, info, bad, func() (*core.Topology, error) {
		return core.NewDistGraph(copyOf(sources), copyOf(sourceWeights), copyOf(destinations), copyOf(destWeights)), nil
	})
}

// copyOf is a copy that is nil only when s is.
func copyOf(s []int) []int {
	if s == nil {
		return nil
	}
	return append([]int{}, s...)
}

// DistGraphCreate makes a communicator with a graph whose edges any ranks tell of: sources[i] has degrees[i] of the destinations, in
// turn; nil weights mean that none are given (MPI-3.1 §7.5.4). Neighbours come in the order of the ranks that told of them, and of
// each in the order in which it did. Ranks keep their order, as in CartCreate. It is collective; when the arguments of one rank are
// wrong, all get an error.
func (c *Comm) DistGraphCreate(sources, degrees, destinations, weights []int, info *Info, reorder bool) (*Comm, error) {
	const op = "Dist_graph_create"
	if err := c.topoParent(op); err != nil {
		return nil, err
	}
	bad := c.checkEnds("sources", sources, nil)
	if bad == nil {
		bad = checkDegrees(sources, degrees, destinations)
	}
	if bad == nil {
		bad = c.checkEnds("destinations", destinations, weights)
	}
	return c.distGraph(op, info, bad, func() (*core.Topology, error) {
		return c.gatherEdges(sources, degrees, destinations, weights)
	})
}

func checkDegrees(sources, degrees, destinations []int) error {
	if len(degrees) != len(sources) {
		return core.NewError(ErrArg, "%d degrees for %d sources", len(degrees), len(sources))
	}
	left := len(destinations)
	for i, d := range degrees {
		if d < 0 || d > left {
			return core.NewError(ErrArg, "degree %d is %d, with %d destinations left", i, d, left)
		}
		left -= d
	}
	if left != 0 {
		return core.NewError(ErrArg, "the degrees leave %d destinations over", left)
	}
	return nil
}

// edge is one end of an edge, as it travels to the rank at the other end.
type edge struct {
	peer, weight int
	into         bool // it comes from peer
}

const edgeWords = 3

// gatherEdges brings each edge to both its ends.
func (c *Comm) gatherEdges(sources, degrees, destinations, weights []int) (*core.Topology, error) {
	to := make([][]edge, c.size)
	at := 0
	for i, s := range sources {
		for range degrees[i] {
			d, w := destinations[at], 0
			if weights != nil {
				w = weights[at]
			}
			to[s] = append(to[s], edge{peer: d, weight: w})
			to[d] = append(to[d], edge{peer: s, weight: w, into: true})
			at++
		}
	}
	var send []int64
	sendCounts, recvCounts := make([]int, c.size), make([]int, c.size)
	counts := make([]int64, 2*c.size)
	for r, edges := range to {
		for _, e := range edges {
			into := int64(0)
			if e.into {
				into = 1
			}
			send = append(send, int64(e.peer), int64(e.weight), into)
		}
		sendCounts[r] = edgeWords * len(edges)
		counts[2*r] = int64(len(edges))
		if weights != nil {
			counts[2*r+1] = 1
		}
	}
	theirs := make([]int64, 2*c.size)
	if err := c.coll.Alltoall.Alltoall(int64s(counts), int64s(theirs)); err != nil {
		return nil, err
	}
	total, weighted := 0, false
	for r := range c.size {
		recvCounts[r] = edgeWords * int(theirs[2*r])
		total += recvCounts[r]
		weighted = weighted || theirs[2*r+1] != 0
	}
	recv := make([]int64, total)
	if err := c.coll.Alltoallv.Alltoallv(int64s(send), sendCounts, nil, int64s(recv), recvCounts, nil); err != nil {
		return nil, err
	}
	var in, inWeights, out, outWeights []int
	if weighted {
		inWeights, outWeights = []int{}, []int{}
	}
	for n := 0; n < len(recv); n += edgeWords {
		ends, ws := &out, &outWeights
		if recv[n+2] != 0 {
			ends, ws = &in, &inWeights
		}
		*ends = append(*ends, int(recv[n]))
		if weighted {
			*ws = append(*ws, int(recv[n+1]))
		}
	}
	return core.NewDistGraph(in, inWeights, out, outWeights), nil
}

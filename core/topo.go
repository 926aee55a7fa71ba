package core

import "slices"

// TopologyKind says how a topology was made.
type TopologyKind uint8

// The kinds of topology (MPI-3.1 chapter 7).
const (
	TopologyCart TopologyKind = 1 + iota
	TopologyGraph
	TopologyDist
)

// Topology is the virtual topology of a communicator as one rank sees it. It does not change once made; nobody may write into its
// slices.
//
// Sources and Destinations are the rank's neighbours in the order in which neighbourhood collectives use their buffers
// (MPI-3.1 §7.6): a cartesian one gives for each dimension the neighbour in negative and then in positive direction, ProcNull
// where there is none, a rank several times where a periodic dimension is short; a graph one its list in both directions; a
// distributed graph what was given, duplicates included.
type Topology struct {
	Kind TopologyKind

	Sources, Destinations []int
	// Distributed graphs only; nil when unweighted.
	SourceWeights, DestWeights []int

	// Cartesian only.
	Dims    []int
	Periods []bool

	// Graph only, as given to GraphCreate.
	Index, Edges []int
}

// NewCart makes the cartesian topology of dims, whose product is the communicator's size, for one rank.
func NewCart(dims []int, periods []bool, rank int) *Topology {
	t := &Topology{Kind: TopologyCart, Dims: slices.Clone(dims), Periods: slices.Clone(periods)}
	for d := range dims {
		below, above := t.Shift(rank, d, 1)
		t.Sources = append(t.Sources, below, above)
	}
	t.Destinations = t.Sources
	return t
}

// NewGraph makes the graph topology for one rank.
func NewGraph(index, edges []int, rank int) *Topology {
	t := &Topology{Kind: TopologyGraph, Index: slices.Clone(index), Edges: slices.Clone(edges)}
	first := 0
	if rank > 0 {
		first = index[rank-1]
	}
	t.Sources = t.Edges[first:index[rank]]
	t.Destinations = t.Sources
	return t
}

// NewDistGraph makes the distributed graph topology of one rank; it keeps the slices.
func NewDistGraph(sources, sourceWeights, destinations, destWeights []int) *Topology {
	return &Topology{Kind: TopologyDist, Sources: sources, SourceWeights: sourceWeights, Destinations: destinations, DestWeights: destWeights}
}

// Coords are the cartesian coordinates of a rank: row-major, the last dimension varies fastest.
func (t *Topology) Coords(rank int) []int {
	coords := make([]int, len(t.Dims))
	for d := len(t.Dims) - 1; d >= 0; d-- {
		coords[d] = rank % t.Dims[d]
		rank /= t.Dims[d]
	}
	return coords
}

// RankAt is the rank at cartesian coordinates; those of periodic dimensions wrap. bad is the first dimension whose coordinate is
// outside, -1 when there is none.
func (t *Topology) RankAt(coords []int) (rank, bad int) {
	for d, x := range coords {
		n := t.Dims[d]
		if x < 0 || x >= n {
			if !t.Periods[d] {
				return 0, d
			}
			if x %= n; x < 0 {
				x += n
			}
		}
		rank = rank*n + x
	}
	return rank, -1
}

// Shift gives from whom data come to rank and where rank's go when all move by disp along a dimension; ProcNull beyond the border of
// one that is not periodic (MPI-3.1 §7.5.6).
func (t *Topology) Shift(rank, dim, disp int) (source, dest int) {
	step := 1 // between ranks that are neighbours in dim
	for _, n := range t.Dims[dim+1:] {
		step *= n
	}
	n := t.Dims[dim]
	at := rank / step % n
	to := func(x int, outside bool) int {
		if outside && !t.Periods[dim] {
			return ProcNull
		}
		return rank + (x-at)*step
	}
	// What lies outside is told without adding at and disp, which may overflow.
	way := disp % n
	dest = to((at+way+n)%n, disp >= n-at || disp < -at)
	source = to((at-way+n)%n, disp > at || disp <= at-n)
	return source, dest
}

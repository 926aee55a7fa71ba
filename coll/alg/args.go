package alg

import "github.com/ompi-go/ompi-go/core"

// Kind is a collective operation.
type Kind uint8

// The operations.
const (
	Barrier Kind = iota
	Bcast
	Reduce
	Allreduce
	Gather
	Gatherv
	Scatter
	Scatterv
	Allgather
	Allgatherv
	Alltoall
	Alltoallv
	Alltoallw
	ReduceScatter
	ReduceScatterBlock
	Scan
	Exscan
	NeighborAllgather
	NeighborAllgatherv
	NeighborAlltoall
	NeighborAlltoallv
	NeighborAlltoallw
	Kinds // how many there are
)

var kindNames = [Kinds]string{
	"barrier", "bcast", "reduce", "allreduce", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv",
	"alltoallw", "reduce_scatter", "reduce_scatter_block", "scan", "exscan", "neighbor_allgather", "neighbor_allgatherv",
	"neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw",
}

// String is the operation's name in parameters, tables and metrics.
func (k Kind) String() string { return kindNames[k] }

// Reduces tells the operations that have an Op.
func (k Kind) Reduces() bool {
	switch k {
	case Reduce, Allreduce, ReduceScatter, ReduceScatterBlock, Scan, Exscan:
		return true
	}
	return false
}

// KindNamed is the operation of that name.
func KindNamed(name string) (Kind, bool) {
	for k, n := range kindNames {
		if n == name {
			return Kind(k), true
		}
	}
	return 0, false
}

// Args are the arguments of one operation, as the API's method of that name has them. Which fields count depends on Kind. They were
// checked above as far as one rank can.
type Args struct {
	Kind       Kind
	Root       int
	Op         *core.Op
	Send, Recv core.Buffer // undivided buffers are the whole buffer; MPI_IN_PLACE is core.InPlaceBuffer

	SendCounts, SendDispls []int // of Send; nil displacements: blocks lie one behind the other
	RecvCounts, RecvDispls []int
	Sends, Recvs           []core.Buffer // w forms: a buffer a peer; Sends of one buffer in place: as Recvs

	// Of neighbourhood operations: whom this rank hears from and whom it tells, in the order of the blocks; ProcNull for no one.
	// On a Cartesian topology two entries a dimension, the negative direction first.
	Sources, Dests []int
	Cartesian      bool

	// Segment is the size in bytes of the pieces in which pipelining algorithms send; 0: theirs.
	Segment int64
}

// Bytes is the size by which algorithms are chosen, equal on all ranks wherever the standard makes it so: of one rank's data, for
// gather, scatter, allgather and alltoall of one block, for allgatherv of all of them divided by their number. Of other v and w forms the
// ranks know only their own sizes: 0.
func (a *Args) Bytes(rank, size int) int64 {
	n := int64(size)
	switch a.Kind {
	case Bcast:
		return a.Send.Bytes()
	case Reduce, Scan, Exscan, Allreduce:
		return a.own().Bytes()
	case Gather:
		if rank == a.Root {
			return a.Recv.Bytes() / n
		}
		return a.Send.Bytes()
	case Scatter:
		if rank == a.Root {
			return a.Send.Bytes() / n
		}
		return a.Recv.Bytes()
	case Allgather, Alltoall:
		return a.Recv.Bytes() / n
	case Allgatherv:
		sum := 0
		for _, k := range a.RecvCounts {
			sum += k
		}
		return part(a.Recv, 0, int64(sum)).Bytes() / n
	case ReduceScatter:
		return a.own().Bytes()
	case ReduceScatterBlock:
		return a.own().Bytes() / n
	}
	return 0
}

// own is the rank's operand of a reduction.
func (a *Args) own() core.Buffer {
	if a.Send.IsInPlace() {
		return a.Recv
	}
	return a.Send
}

// sum is where the result of a reduction belongs: recv may have room for more.
func (a *Args) sum() core.Buffer { return part(a.Recv, 0, a.own().Count()) }

// Algorithm is one way to carry out an operation.
type Algorithm struct {
	Kind  Kind
	Name  string // in parameters and decision tables
	Help  string // how it goes, in a few words
	index int    // in List
	// Ordered: operands are combined in the order of ranks, so that the operation need not commute.
	Ordered bool
	// Segmented: it sends in pieces of Args.Segment bytes.
	Segmented bool
	// Fits tells whether it can serve a number of ranks; nil: any.
	Fits func(size int) bool
	Run  func(c *Call, a *Args)
}

// Serves reports whether the algorithm can carry out a on size ranks.
func (g *Algorithm) Serves(a *Args, size int) bool {
	return (g.Fits == nil || g.Fits(size)) && (g.Ordered || a.Op == nil || a.Op.Commutative())
}

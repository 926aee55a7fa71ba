package alg

// maxAlgorithms is the room for algorithms of one operation; the last two places are those of Inter and Foreign.
const maxAlgorithms = 16

// Foreign is the name of a way to carry out an operation that is not in this package, for Uses.
func Foreign(k Kind, name string) *Algorithm {
	return &Algorithm{Kind: k, Name: name, index: maxAlgorithms - 2}
}

// algorithms are all there are. The first of each operation serves any number of ranks and any operator.
var algorithms = number([]Algorithm{
	{Kind: Barrier, Name: "dissemination", Help: "tell the rank 2^k further on", Run: barrierDissemination},
	{Kind: Barrier, Name: "linear", Help: "all tell rank 0, which tells all", Run: barrierLinear},
	{Kind: Barrier, Name: "tree", Help: "up and down a binomial tree", Run: barrierTree},
	{Kind: Barrier, Name: "recursive_doubling", Help: "exchange with the rank that differs in bit k", Run: barrierDoubling},
	{Kind: Barrier, Name: "double_ring", Help: "twice around the ring", Run: barrierRing},

	{Kind: Bcast, Name: "binomial", Help: "binomial tree", Run: bcastBinomial},
	{Kind: Bcast, Name: "linear", Help: "the root to everybody", Run: bcastLinear},
	{Kind: Bcast, Name: "pipeline", Help: "a chain, in segments", Segmented: true, Run: bcastPipeline},
	{Kind: Bcast, Name: "chain", Help: "four chains, in segments", Segmented: true, Run: bcastChain},
	{Kind: Bcast, Name: "binary_tree", Help: "balanced binary tree, in segments", Segmented: true, Run: bcastBinary},
	{Kind: Bcast, Name: "split_binary_tree", Help: "half of the data down either half of a binary tree, then exchange", Segmented: true, Run: bcastSplitBinary},
	{Kind: Bcast, Name: "scatter_allgather", Help: "binomial scatter, then recursive doubling allgather; 2^k ranks", Fits: isPow2, Run: bcastScatterDoubling},
	{Kind: Bcast, Name: "scatter_allgather_ring", Help: "binomial scatter, then ring allgather", Run: bcastScatterRing},

	{Kind: Reduce, Name: "binomial", Help: "binomial tree", Ordered: true, Run: reduceBinomial},
	{Kind: Reduce, Name: "linear", Help: "everybody to the root", Ordered: true, Run: reduceLinear},
	{Kind: Reduce, Name: "pipeline", Help: "a chain, in segments", Ordered: true, Segmented: true, Run: reducePipeline},
	{Kind: Reduce, Name: "binary_tree", Help: "balanced binary tree, in segments", Ordered: true, Segmented: true, Run: reduceBinary},
	{Kind: Reduce, Name: "rabenseifner", Help: "halving reduce-scatter, then binomial gather", Ordered: true, Run: reduceRabenseifner},

	{Kind: Allreduce, Name: "recursive_doubling", Help: "exchange with the rank that differs in bit k", Ordered: true, Run: allreduceDoubling},
	{Kind: Allreduce, Name: "direct", Help: "each rank combines its part of everybody's and sends it to all", Ordered: true, Run: allreduceDirect},
	{Kind: Allreduce, Name: "reduce_bcast", Help: "binomial reduce, then binomial bcast", Ordered: true, Run: allreduceReduceBcast},
	{Kind: Allreduce, Name: "ring", Help: "ring reduce-scatter, then ring allgather", Run: allreduceRing},
	{Kind: Allreduce, Name: "segmented_ring", Help: "the same in segments", Segmented: true, Run: allreduceSegmentedRing},
	{Kind: Allreduce, Name: "rabenseifner", Help: "halving reduce-scatter, then doubling allgather", Ordered: true, Run: allreduceRabenseifner},
	{Kind: Allreduce, Name: "linear", Help: "everybody to rank 0, which tells everybody", Ordered: true, Run: allreduceLinear},

	{Kind: Gather, Name: "linear", Help: "everybody to the root", Run: gatherLinear},
	{Kind: Gather, Name: "binomial", Help: "binomial tree", Run: gatherBinomial},
	{Kind: Gatherv, Name: "linear", Help: "everybody to the root", Run: gathervLinear},
	{Kind: Scatter, Name: "linear", Help: "the root to everybody", Run: scatterLinear},
	{Kind: Scatter, Name: "binomial", Help: "binomial tree", Run: scatterBinomial},
	{Kind: Scatterv, Name: "linear", Help: "the root to everybody", Run: scattervLinear},

	{Kind: Allgather, Name: "ring", Help: "pass on to the next rank", Run: allgatherRing},
	{Kind: Allgather, Name: "recursive_doubling", Help: "exchange with the rank that differs in bit k; 2^k ranks", Fits: isPow2, Run: allgatherDoubling},
	{Kind: Allgather, Name: "bruck", Help: "hand what there is to the rank 2^k before", Run: allgatherBruck},
	{Kind: Allgather, Name: "neighbor_exchange", Help: "swap pairs of blocks with either neighbour in turn; 2k ranks", Fits: isEven, Run: allgatherNeighbor},
	{Kind: Allgather, Name: "linear", Help: "everybody to everybody at once", Run: allgatherLinear},
	{Kind: Allgather, Name: "gather_bcast", Help: "everybody to rank 0, then binomial bcast", Run: allgatherGatherBcast},
	{Kind: Allgatherv, Name: "ring", Help: "pass on to the next rank", Run: allgathervRing},
	{Kind: Allgatherv, Name: "bruck", Help: "hand what there is to the rank 2^k before", Run: allgathervBruck},
	{Kind: Allgatherv, Name: "neighbor_exchange", Help: "swap pairs of blocks with either neighbour in turn; 2k ranks", Fits: isEven, Run: allgathervNeighbor},
	{Kind: Allgatherv, Name: "linear", Help: "everybody to everybody at once", Run: allgathervLinear},
	{Kind: Allgatherv, Name: "gather_bcast", Help: "everybody to rank 0, then binomial bcast", Run: allgathervGatherBcast},

	{Kind: Alltoall, Name: "pairwise", Help: "in step s with the ranks s before and behind", Run: alltoallPairwise},
	{Kind: Alltoall, Name: "linear", Help: "everybody to everybody at once", Run: alltoallLinear},
	{Kind: Alltoall, Name: "linear_sync", Help: "everybody to everybody, eight at a time", Run: alltoallLinearSync},
	{Kind: Alltoall, Name: "bruck", Help: "blocks with bit k in their distance to the rank 2^k further on", Run: alltoallBruck},
	{Kind: Alltoallv, Name: "pairwise", Help: "in step s with the ranks s before and behind", Run: alltoallvPairwise},
	{Kind: Alltoallv, Name: "linear", Help: "everybody to everybody at once", Run: alltoallvLinear},
	{Kind: Alltoallw, Name: "pairwise", Help: "in step s with the ranks s before and behind", Run: alltoallwPairwise},
	{Kind: Alltoallw, Name: "linear", Help: "everybody to everybody at once", Run: alltoallwLinear},

	{Kind: ReduceScatter, Name: "reduce_scatterv", Help: "binomial reduce, then everybody's block from rank 0", Ordered: true, Run: reduceScatterBasic},
	{Kind: ReduceScatter, Name: "pairwise", Help: "in step s with the ranks s before and behind", Run: reduceScatterPairwise},
	{Kind: ReduceScatter, Name: "recursive_halving", Help: "exchange halves of what is left with the rank that differs in bit k", Ordered: true, Run: reduceScatterHalving},
	{Kind: ReduceScatter, Name: "ring", Help: "each block around the ring to its rank", Run: reduceScatterRing},
	{Kind: ReduceScatter, Name: "recursive_doubling", Help: "exchange everything with the rank that differs in bit k", Ordered: true, Run: reduceScatterDoubling},
	{Kind: ReduceScatterBlock, Name: "reduce_scatter", Help: "binomial reduce, then everybody's block from rank 0", Ordered: true, Run: reduceScatterBasic},
	{Kind: ReduceScatterBlock, Name: "pairwise", Help: "in step s with the ranks s before and behind", Run: reduceScatterPairwise},
	{Kind: ReduceScatterBlock, Name: "recursive_halving", Help: "exchange halves of what is left with the rank that differs in bit k", Ordered: true, Run: reduceScatterHalving},
	{Kind: ReduceScatterBlock, Name: "ring", Help: "each block around the ring to its rank", Run: reduceScatterRing},
	{Kind: ReduceScatterBlock, Name: "recursive_doubling", Help: "exchange everything with the rank that differs in bit k", Ordered: true, Run: reduceScatterDoubling},

	{Kind: Scan, Name: "linear", Help: "pass the sum on to the next rank", Ordered: true, Run: scanLinear},
	{Kind: Scan, Name: "recursive_doubling", Help: "hand the sum to the rank 2^k further on", Ordered: true, Run: scanDoubling},
	{Kind: Exscan, Name: "linear", Help: "pass the sum on to the next rank", Ordered: true, Run: exscanLinear},
	{Kind: Exscan, Name: "recursive_doubling", Help: "hand the sum to the rank 2^k further on", Ordered: true, Run: exscanDoubling},

	{Kind: NeighborAllgather, Name: "linear", Help: "along all edges at once", Run: neighborAllgatherLinear},
	{Kind: NeighborAllgatherv, Name: "linear", Help: "along all edges at once", Run: neighborAllgathervLinear},
	{Kind: NeighborAlltoall, Name: "linear", Help: "along all edges at once", Run: neighborAlltoallLinear},
	{Kind: NeighborAlltoallv, Name: "linear", Help: "along all edges at once", Run: neighborAlltoallvLinear},
	{Kind: NeighborAlltoallw, Name: "linear", Help: "along all edges at once", Run: neighborAlltoallwLinear},
})

func number(all []Algorithm) (byKind [Kinds][]*Algorithm) {
	for i := range all {
		g := &all[i]
		g.index = len(byKind[g.Kind])
		byKind[g.Kind] = append(byKind[g.Kind], g)
	}
	return byKind
}

// List gives the algorithms of an operation.
func List(k Kind) []*Algorithm { return algorithms[k] }

// Named is the algorithm of that name, nil when there is none.
func Named(k Kind, name string) *Algorithm {
	for _, g := range algorithms[k] {
		if g.Name == name {
			return g
		}
	}
	return nil
}

func isPow2(n int) bool { return n&(n-1) == 0 }
func isEven(n int) bool { return n%2 == 0 }

// ceilPow2 is the least power of two that is not below n.
func ceilPow2(n int) int {
	p := 1
	for p < n {
		p <<= 1
	}
	return p
}

// floorPow2 is the greatest power of two that is not above n, for n >= 1.
func floorPow2(n int) int {
	p := 1
	for p <= n/2 {
		p <<= 1
	}
	return p
}

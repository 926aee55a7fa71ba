package tuned

import "github.com/ompi-go/ompi-go/coll/alg"

// Options are the parameters coll_tuned_*. Where they choose an algorithm, all ranks must have the same values. A test holds the names
// of algorithms against those there are.
type Options struct {
	Priority          int    `mca:"priority" default:"30" min:"0" max:"100" level:"6" help:"priority of the component; each operation is taken from the component of the highest"`
	RulesFile         string `mca:"rules_file" level:"5" help:"decision table to use instead of the built-in ones; ompi-bench tune writes such files"`
	HostRulesFile     string `mca:"host_rules_file" level:"5" help:"the same, only for communicators whose ranks are all on one host"`
	ScratchLimitBytes int64  `mca:"scratch_limit" default:"4m" min:"0" level:"7" unit:"bytes" help:"scratch memory that a communicator keeps between operations; what is above is given back"`

	BarrierAlgorithm            string `mca:"barrier_algorithm" default:"auto" enum:"auto|dissemination|linear|tree|recursive_doubling|double_ring" level:"5" help:"algorithm of barrier; auto: as the decision table says"`
	BcastAlgorithm              string `mca:"bcast_algorithm" default:"auto" enum:"auto|binomial|linear|pipeline|chain|binary_tree|split_binary_tree|scatter_allgather|scatter_allgather_ring" level:"5" help:"algorithm of bcast; auto: as the decision table says"`
	BcastSegment                int64  `mca:"bcast_segment" default:"0" min:"0" level:"5" unit:"bytes" help:"size of the pieces in which pipelined algorithms of bcast send; 0: as the decision table says"`
	ReduceAlgorithm             string `mca:"reduce_algorithm" default:"auto" enum:"auto|binomial|linear|pipeline|binary_tree|rabenseifner" level:"5" help:"algorithm of reduce; auto: as the decision table says"`
	ReduceSegment               int64  `mca:"reduce_segment" default:"0" min:"0" level:"5" unit:"bytes" help:"size of the pieces in which pipelined algorithms of reduce send; 0: as the decision table says"`
	AllreduceAlgorithm          string `mca:"allreduce_algorithm" default:"auto" enum:"auto|recursive_doubling|direct|reduce_bcast|ring|segmented_ring|rabenseifner|linear" level:"5" help:"algorithm of allreduce; auto: as the decision table says"`
	AllreduceSegment            int64  `mca:"allreduce_segment" default:"0" min:"0" level:"5" unit:"bytes" help:"size of the pieces in which pipelined algorithms of allreduce send; 0: as the decision table says"`
	GatherAlgorithm             string `mca:"gather_algorithm" default:"auto" enum:"auto|linear|binomial" level:"5" help:"algorithm of gather; auto: as the decision table says"`
	GathervAlgorithm            string `mca:"gatherv_algorithm" default:"auto" enum:"auto|linear" level:"5" help:"algorithm of gatherv; auto: as the decision table says"`
	ScatterAlgorithm            string `mca:"scatter_algorithm" default:"auto" enum:"auto|linear|binomial" level:"5" help:"algorithm of scatter; auto: as the decision table says"`
	ScattervAlgorithm           string `mca:"scatterv_algorithm" default:"auto" enum:"auto|linear" level:"5" help:"algorithm of scatterv; auto: as the decision table says"`
	AllgatherAlgorithm          string `mca:"allgather_algorithm" default:"auto" enum:"auto|ring|recursive_doubling|bruck|neighbor_exchange|linear|gather_bcast" level:"5" help:"algorithm of allgather; auto: as the decision table says"`
	AllgathervAlgorithm         string `mca:"allgatherv_algorithm" default:"auto" enum:"auto|ring|bruck|neighbor_exchange|linear|gather_bcast" level:"5" help:"algorithm of allgatherv; auto: as the decision table says"`
	AlltoallAlgorithm           string `mca:"alltoall_algorithm" default:"auto" enum:"auto|pairwise|linear|linear_sync|bruck" level:"5" help:"algorithm of alltoall; auto: as the decision table says"`
	AlltoallvAlgorithm          string `mca:"alltoallv_algorithm" default:"auto" enum:"auto|pairwise|linear" level:"5" help:"algorithm of alltoallv; auto: as the decision table says"`
	AlltoallwAlgorithm          string `mca:"alltoallw_algorithm" default:"auto" enum:"auto|pairwise|linear" level:"5" help:"algorithm of alltoallw; auto: as the decision table says"`
	ReduceScatterAlgorithm      string `mca:"reduce_scatter_algorithm" default:"auto" enum:"auto|reduce_scatterv|pairwise|recursive_halving|ring|recursive_doubling" level:"5" help:"algorithm of reduce_scatter; auto: as the decision table says"`
	ReduceScatterBlockAlgorithm string `mca:"reduce_scatter_block_algorithm" default:"auto" enum:"auto|reduce_scatter|pairwise|recursive_halving|ring|recursive_doubling" level:"5" help:"algorithm of reduce_scatter_block; auto: as the decision table says"`
	ScanAlgorithm               string `mca:"scan_algorithm" default:"auto" enum:"auto|linear|recursive_doubling" level:"5" help:"algorithm of scan; auto: as the decision table says"`
	ExscanAlgorithm             string `mca:"exscan_algorithm" default:"auto" enum:"auto|linear|recursive_doubling" level:"5" help:"algorithm of exscan; auto: as the decision table says"`
}

// algorithms are the names that the parameters give, by operation; "" where there is no parameter.
func (o *Options) algorithms() [alg.Kinds]string {
	return [alg.Kinds]string{
		alg.Barrier:            o.BarrierAlgorithm,
		alg.Bcast:              o.BcastAlgorithm,
		alg.Reduce:             o.ReduceAlgorithm,
		alg.Allreduce:          o.AllreduceAlgorithm,
		alg.Gather:             o.GatherAlgorithm,
		alg.Gatherv:            o.GathervAlgorithm,
		alg.Scatter:            o.ScatterAlgorithm,
		alg.Scatterv:           o.ScattervAlgorithm,
		alg.Allgather:          o.AllgatherAlgorithm,
		alg.Allgatherv:         o.AllgathervAlgorithm,
		alg.Alltoall:           o.AlltoallAlgorithm,
		alg.Alltoallv:          o.AlltoallvAlgorithm,
		alg.Alltoallw:          o.AlltoallwAlgorithm,
		alg.ReduceScatter:      o.ReduceScatterAlgorithm,
		alg.ReduceScatterBlock: o.ReduceScatterBlockAlgorithm,
		alg.Scan:               o.ScanAlgorithm,
		alg.Exscan:             o.ExscanAlgorithm,
	}
}

func (o *Options) segments() [alg.Kinds]int64 {
	return [alg.Kinds]int64{alg.Bcast: o.BcastSegment, alg.Reduce: o.ReduceSegment, alg.Allreduce: o.AllreduceSegment}
}

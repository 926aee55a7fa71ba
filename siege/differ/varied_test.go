package differ

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// algorithms are what the operations of coll_tuned can be made to use.
var algorithms = map[string]string{
	"barrier":              "auto dissemination linear tree recursive_doubling double_ring",
	"bcast":                "auto binomial linear pipeline chain binary_tree split_binary_tree scatter_allgather scatter_allgather_ring",
	"reduce":               "auto binomial linear pipeline binary_tree rabenseifner",
	"allreduce":            "auto recursive_doubling reduce_bcast ring segmented_ring rabenseifner linear",
	"gather":               "auto linear binomial",
	"scatter":              "auto linear binomial",
	"allgather":            "auto ring recursive_doubling bruck neighbor_exchange linear gather_bcast",
	"allgatherv":           "auto ring bruck neighbor_exchange linear gather_bcast",
	"alltoall":             "auto pairwise linear linear_sync bruck",
	"alltoallv":            "auto pairwise linear",
	"alltoallw":            "auto pairwise linear",
	"reduce_scatter":       "auto reduce_scatterv pairwise recursive_halving ring recursive_doubling",
	"reduce_scatter_block": "auto reduce_scatter pairwise recursive_halving ring recursive_doubling",
	"scan":                 "auto linear recursive_doubling",
	"exscan":               "auto linear recursive_doubling",
}

// parameters draws settings for a program: algorithms, short pieces, small rings and limits.
func parameters(p *program) (words []string) {
	g := shaper{rand.New(rand.NewPCG(p.seed, 1000+uint64(p.ranks)))}
	set := func(name, value string) { words = append(words, "--mca", name, value) }
	of := func(values string) string {
		all := strings.Fields(values)
		return all[g.IntN(len(all))]
	}
	set("coll", of("^sm ^sm ^sm,tuned ^tuned"))
	for _, op := range slices.Sorted(maps.Keys(algorithms)) {
		set("coll_tuned_"+op+"_algorithm", of(algorithms[op]))
	}
	for _, op := range []string{"bcast", "reduce", "allreduce"} {
		set("coll_tuned_"+op+"_segment", of("0 1 64 1000"))
	}
	set("pml", of("ob1 ob1 ob1 cm"))
	set("mtl_portals4_long_protocol", of("eager rndv"))
	set("mtl_portals4_short_limit", of("2048 4096"))
	set("portals4_nal", of("local,shm,tcp local,shm,tcp tcp udp"))
	set("btl", of("self,sm self,sm self,tcp"))
	set("btl_sm_single_copy_mechanism", of("auto none"))
	set("btl_sm_eager_limit", of("64 1000 4096"))
	set("btl_sm_max_send_size", of("1024 5000 32768"))
	set("btl_sm_fifo_size", of("8 16 256"))
	set("btl_sm_data_size", of("65536 131072"))
	set("btl_tcp_eager_limit", of("64 1000 65536"))
	set("btl_tcp_max_send_size", of("1024 5000 1048576"))
	set("btl_tcp_links", strconv.Itoa(g.between(1, 3)))
	set("pml_ob1_send_pipeline_depth", of("1 2 4"))
	set("pml_ob1_unexpected_bytes", of("64k 1m 64m"))
	set("pml_ob1_protocol", of("auto auto rndv rget put pipeline coop"))
	set("pml_ob1_recv_pipeline_depth", of("1 2 4"))
	set("btl_sm_rdma_pipeline_frag_size", of("100 5000 1048576"))
	set("btl_sm_rdma_pipeline_send_length", of("0 500 131072"))
	return words
}

// varied is our library in settings that differ from program to program.
var varied = library{"varied", func(p *program) ([]string, error) { return processes("", parameters(p)...).run(p) }}

package basic_test

import (
	"testing"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/colltest"
	"github.com/ompi-go/ompi-go/core"
)

func TestNoAllocationsAfterTheFirstCall(t *testing.T) {
	const n = 6
	f := colltest.NewFabric(n, 0)
	reg, params := colltest.Params(t)
	c := f.Comm(1, colltest.Shuffled(n), 0)
	p := colltest.NewInstant(c)
	fs, err := coll.Open(reg, params, &coll.Env{Params: params, PML: p})
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := coll.Select(fs, c)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]int{"small": 4, "large": 50000} {
		one, other := floats(make([]float64, block)), floats(make([]float64, block))
		whole, wholeToo := floats(make([]float64, n*block)), floats(make([]float64, n*block))
		counts := make([]int, n)
		for i := range counts {
			counts[i] = block
		}
		for op, call := range map[string]func() error{
			"barrier":    func() error { return tbl.Barrier.Barrier() },
			"bcast":      func() error { return tbl.Bcast.Bcast(one, 0) },
			"reduce":     func() error { return tbl.Reduce.Reduce(one, other, core.Sum, 0) },
			"allreduce":  func() error { return tbl.Allreduce.Allreduce(one, other, core.Sum) },
			"gather":     func() error { return tbl.Gather.Gather(one, whole, 0) },
			"scatter":    func() error { return tbl.Scatter.Scatter(whole, one, 0) },
			"gatherv":    func() error { return tbl.Gatherv.Gatherv(one, whole, counts, nil, 0) },
			"scatterv":   func() error { return tbl.Scatterv.Scatterv(whole, counts, nil, one, 0) },
			"allgather":  func() error { return tbl.Allgather.Allgather(one, whole) },
			"allgatherv": func() error { return tbl.Allgatherv.Allgatherv(one, whole, counts, nil) },
			"alltoall":   func() error { return tbl.Alltoall.Alltoall(whole, wholeToo) },
			"alltoallv":  func() error { return tbl.Alltoallv.Alltoallv(whole, counts, nil, wholeToo, counts, nil) },
		} {
			allocs := testing.AllocsPerRun(20, func() {
				if err := call(); err != nil {
					t.Fatal(err)
				}
			})
			if allocs != 0 {
				t.Errorf("%s %s: %v allocations", name, op, allocs)
			}
		}
	}
}

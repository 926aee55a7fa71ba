package tuned_test

import (
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/colltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// floats are n numbers, of which every second counts if there are gaps.
func floats(t *testing.T, n int, gaps bool) core.Buffer {
	typ := datatype.Float64
	words := n
	if gaps {
		var err error
		if typ, err = datatype.Resized(typ, 0, 16); err != nil {
			t.Fatal(err)
		}
		words = 2 * n
	}
	s := make([]float64, words+1)
	return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(s)), int64(n), typ)
}

// No algorithm allocates after its first call, with contiguous data or not, in place or not.
func TestNoAllocationsAfterTheFirstCall(t *testing.T) {
	const n, block = 6, 300
	sum := core.NewRawOp(true, func(in, inout unsafe.Pointer, n int, t *datatype.Type) {})
	for i := range most() {
		reg, params := colltest.Params(t, forced(i)...)
		f := colltest.NewFabric(n, 0)
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
		counts := make([]int, n)
		for r := range counts {
			counts[r] = block
		}
		for _, gaps := range []bool{false, true} {
			one, other := floats(t, block, gaps), floats(t, block, gaps)
			whole, wholeToo := floats(t, n*block, gaps), floats(t, n*block, gaps)
			place := core.InPlaceBuffer()
			var outs, ins []core.Buffer
			for r := range int64(n) {
				outs, ins = append(outs, whole.At(r*block, block)), append(ins, wholeToo.At(r*block, block))
			}
			placed := []core.Buffer{place}
			for name, call := range map[string]func() error{
				"barrier":              func() error { return tbl.Barrier.Barrier() },
				"bcast from 0":         func() error { return tbl.Bcast.Bcast(one, 0) },
				"bcast from 3":         func() error { return tbl.Bcast.Bcast(one, 3) },
				"reduce to 0":          func() error { return tbl.Reduce.Reduce(one, other, sum, c.MyRank) },
				"reduce to 3":          func() error { return tbl.Reduce.Reduce(one, core.Buffer{}, sum, (c.MyRank+3)%n) },
				"reduce in place":      func() error { return tbl.Reduce.Reduce(place, other, sum, c.MyRank) },
				"allreduce":            func() error { return tbl.Allreduce.Allreduce(one, other, sum) },
				"allreduce in place":   func() error { return tbl.Allreduce.Allreduce(place, other, sum) },
				"gather":               func() error { return tbl.Gather.Gather(one, whole, c.MyRank) },
				"scatter":              func() error { return tbl.Scatter.Scatter(whole, one, c.MyRank) },
				"gatherv":              func() error { return tbl.Gatherv.Gatherv(one, whole, counts, nil, c.MyRank) },
				"scatterv":             func() error { return tbl.Scatterv.Scatterv(whole, counts, nil, one, c.MyRank) },
				"allgather":            func() error { return tbl.Allgather.Allgather(one, whole) },
				"allgatherv":           func() error { return tbl.Allgatherv.Allgatherv(one, whole, counts, nil) },
				"alltoall":             func() error { return tbl.Alltoall.Alltoall(whole, wholeToo) },
				"alltoall in place":    func() error { return tbl.Alltoall.Alltoall(place, wholeToo) },
				"alltoallv":            func() error { return tbl.Alltoallv.Alltoallv(whole, counts, nil, wholeToo, counts, nil) },
				"alltoallv in place":   func() error { return tbl.Alltoallv.Alltoallv(place, nil, nil, wholeToo, counts, nil) },
				"alltoallw":            func() error { return tbl.Alltoallw.Alltoallw(outs, ins) },
				"alltoallw in place":   func() error { return tbl.Alltoallw.Alltoallw(placed, ins) },
				"reduce_scatter":       func() error { return tbl.ReduceScatter.ReduceScatter(whole, one, counts, sum) },
				"reduce_scatter_block": func() error { return tbl.ReduceScatterBlock.ReduceScatterBlock(whole, one, sum) },
				"reduce_scatter_block in place": func() error {
					return tbl.ReduceScatterBlock.ReduceScatterBlock(place, whole, sum)
				},
				"scan":   func() error { return tbl.Scan.Scan(one, other, sum) },
				"exscan": func() error { return tbl.Exscan.Exscan(one, other, sum) },
			} {
				allocs := testing.AllocsPerRun(10, func() {
					if err := call(); err != nil {
						t.Fatal(err)
					}
				})
				if allocs != 0 {
					t.Errorf("algorithms %d, gaps %v: %s: %v allocations", i, gaps, name, allocs)
				}
			}
		}
	}
}

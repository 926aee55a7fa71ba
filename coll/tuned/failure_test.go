package tuned_test

import (
	"errors"
	"sync"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/colltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// tables is a fabric of n ranks with what makes each one's table.
type tables struct {
	t      *testing.T
	n      int
	fabric *colltest.Fabric
	make   func(self int) (*coll.Table, *core.Comm)
}

func newTables(t *testing.T, n int, settings ...string) *tables {
	reg, p := colltest.Params(t, settings...)
	f := colltest.NewFabric(n, 40)
	return &tables{t, n, f, func(self int) (*coll.Table, *core.Comm) {
		fs, err := coll.Open(reg, p, &coll.Env{Params: p, PML: f.Rank(self)})
		if err != nil {
			t.Error(err)
			return nil, nil
		}
		c := f.Comm(3, colltest.Shuffled(n), self)
		tbl, err := coll.Select(fs, c)
		if err != nil {
			t.Error(err)
		}
		return tbl, c
	}}
}

func numbers(n int) core.Buffer {
	s := make([]float64, n)
	return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(s)), int64(n), datatype.Float64)
}

// calls are operations in which every rank hears of every other, however they are carried out.
func calls(n int) map[string]func(tbl *coll.Table) error {
	const block = 20
	one := func() core.Buffer { return numbers(block) }
	whole := func() core.Buffer { return numbers(n * block) }
	counts := make([]int, n)
	for i := range counts {
		counts[i] = block
	}
	return map[string]func(tbl *coll.Table) error{
		"barrier":    func(tbl *coll.Table) error { return tbl.Barrier.Barrier() },
		"bcast":      func(tbl *coll.Table) error { return tbl.Bcast.Bcast(one(), 1) },
		"reduce":     func(tbl *coll.Table) error { return tbl.Reduce.Reduce(one(), one(), core.Sum, 1) },
		"allreduce":  func(tbl *coll.Table) error { return tbl.Allreduce.Allreduce(one(), one(), core.Sum) },
		"gather":     func(tbl *coll.Table) error { return tbl.Gather.Gather(one(), whole(), 1) },
		"scatter":    func(tbl *coll.Table) error { return tbl.Scatter.Scatter(whole(), one(), 1) },
		"allgather":  func(tbl *coll.Table) error { return tbl.Allgather.Allgather(one(), whole()) },
		"allgatherv": func(tbl *coll.Table) error { return tbl.Allgatherv.Allgatherv(one(), whole(), counts, nil) },
		"alltoall":   func(tbl *coll.Table) error { return tbl.Alltoall.Alltoall(whole(), whole()) },
		"alltoallv": func(tbl *coll.Table) error {
			return tbl.Alltoallv.Alltoallv(whole(), counts, nil, whole(), counts, nil)
		},
		"reduce_scatter": func(tbl *coll.Table) error { return tbl.ReduceScatter.ReduceScatter(whole(), one(), counts, core.Sum) },
		"reduce_scatter_block": func(tbl *coll.Table) error {
			return tbl.ReduceScatterBlock.ReduceScatterBlock(whole(), one(), core.Sum)
		},
		"scan":   func(tbl *coll.Table) error { return tbl.Scan.Scan(one(), one(), core.Sum) },
		"exscan": func(tbl *coll.Table) error { return tbl.Exscan.Exscan(one(), one(), core.Sum) },
	}
}

// A rank dies before the others enter an operation. Whoever notices revokes the communicator, as a program would; then all leave, and
// none has a receive into its buffers left behind, whatever the algorithm.
func TestDeathEndsEveryAlgorithm(t *testing.T) {
	const n, victim = 6, 2
	for i := range most() {
		for name, call := range calls(n) {
			w := newTables(t, n, forced(i)...)
			var mu sync.Mutex
			var comms []*core.Comm
			var entered sync.WaitGroup
			entered.Add(n)
			noticed := 0
			w.fabric.Run(func(self int) {
				tbl, c := w.make(self)
				mu.Lock()
				comms = append(comms, c)
				mu.Unlock()
				if self == victim {
					w.fabric.Kill(victim)
				}
				entered.Done()
				entered.Wait()
				if self == victim {
					return
				}
				err := call(tbl)
				if err == nil {
					return
				}
				if !errors.Is(err, core.ErrProcFailed) && !errors.Is(err, core.ErrRevoked) {
					t.Errorf("%s, algorithm %d: rank %d: %v", name, i, c.MyRank, err)
				}
				mu.Lock()
				defer mu.Unlock()
				noticed++
				for _, c := range comms {
					w.fabric.Revoke(c)
				}
			})
			if noticed == 0 {
				t.Errorf("%s, algorithm %d: nobody noticed", name, i)
			}
			if _, recvs := w.fabric.Pending(); recvs != 0 {
				t.Errorf("%s, algorithm %d: %d receives are still pending", name, i, recvs)
			}
		}
	}
}

package sm

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/coll"
	_ "github.com/ompi-go/ompi-go/coll/basic"
	"github.com/ompi-go/ompi-go/coll/colltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

// world is a job of goroutine ranks that share memory, over the suite's point-to-point layer.
type world struct {
	t      testing.TB
	n      int
	fabric *colltest.Fabric
	params *mca.Params
	envs   []*coll.Env
	list   [][]coll.Factory
}

// newWorld makes n ranks with the given settings, name and value in turn.
func newWorld(t testing.TB, n int, settings ...string) *world {
	t.Helper()
	reg, params := colltest.Params(t, settings...)
	w := &world{t: t, n: n, fabric: colltest.NewFabric(n, 4096), params: params}
	jobs, memory := rte.NewHub(n), shm.NewHub(n)
	for r := range n {
		env := &coll.Env{Params: w.params, Job: jobs.Job(r), PML: w.fabric.Rank(r)}
		var err error
		env.Shm, err = shm.Open(shm.Config{Job: env.Job, Engine: w.fabric.Comm(0, []int{r}, r).Engine, Hub: memory})
		if err != nil {
			t.Fatal(err)
		}
		fs, err := coll.Open(reg, w.params, env)
		if err != nil {
			t.Fatal(err)
		}
		w.envs, w.list = append(w.envs, env), append(w.list, fs)
	}
	return w
}

// comm makes rank self's part of a communicator.
func (w *world) comm(k uint32, members []int, self int) (*coll.Table, *core.Comm) {
	c := w.fabric.Comm(k, members, self)
	tbl, err := coll.Select(w.list[self], c)
	if err != nil {
		w.t.Error(err)
		return nil, nil
	}
	return tbl, c
}

// run calls body on all ranks with a communicator of all of them, which it closes afterwards.
func (w *world) run(body func(rank int, tbl *coll.Table, c *core.Comm)) {
	w.fabric.Run(func(self int) {
		tbl, c := w.comm(3, colltest.Shuffled(w.n), self)
		if tbl == nil {
			return
		}
		body(c.MyRank, tbl, c)
		if err := tbl.Close(); err != nil {
			w.t.Error(err)
		}
	})
	if sends, recvs := w.fabric.Pending(); sends+recvs != 0 {
		w.t.Errorf("%d messages nobody received and %d receives nobody sent to are left over", sends, recvs)
	}
}

func floats(s []float64) core.Buffer {
	return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(s)), int64(len(s)), datatype.Float64)
}

// moduleOf is the component's module behind a table.
func moduleOf(tbl *coll.Table) *module { return tbl.Barrier.(*module) }

func TestConformance(t *testing.T) {
	for name, settings := range map[string][]string{
		"all on the board":      {"coll_sm_max_data", "64k"},
		"as by default":         nil,
		"the smallest only":     {"coll_sm_max_data", "40"},
		"barriers only":         {"coll_sm_max_data", "0"},
		"operations in between": {"coll_sm_max_data", "400", "coll_basic_allreduce_long", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			sizes := fullSizes
			switch {
			case settings != nil && underRace:
				sizes = []int{3}
			case settings != nil:
				sizes = []int{2, 3, 5}
			}
			colltest.Run(t, func(t *testing.T, n int, body func(rank int, tbl *coll.Table, c *core.Comm)) {
				w := newWorld(t, n, settings...)
				w.run(body)
			}, sizes...)
		})
	}
}

// The four operations of this component are taken from it, the others from below; of one rank, all from below.
func TestSelection(t *testing.T) {
	newWorld(t, 2).run(func(_ int, tbl *coll.Table, _ *core.Comm) {
		for what, got := range map[string]any{"barrier": tbl.Barrier, "bcast": tbl.Bcast, "reduce": tbl.Reduce, "allreduce": tbl.Allreduce} {
			if _, ok := got.(*module); !ok {
				t.Errorf("%s is of %T", what, got)
			}
		}
		if _, ok := any(tbl.Gather).(*module); ok {
			t.Error("gather is of this component")
		}
	})
	newWorld(t, 1).run(func(_ int, tbl *coll.Table, _ *core.Comm) {
		if _, ok := tbl.Barrier.(*module); ok {
			t.Error("one rank meets on a board")
		}
	})
}

func BenchmarkBarrier(b *testing.B) {
	for _, n := range []int{2, 8, 64, 256} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			newWorld(b, n).run(func(rank int, tbl *coll.Table, _ *core.Comm) {
				for range 3 {
					_ = tbl.Barrier.Barrier()
				}
				if rank == 0 {
					b.ResetTimer()
				}
				for range b.N {
					if err := tbl.Barrier.Barrier(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

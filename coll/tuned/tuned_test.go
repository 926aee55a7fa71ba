package tuned_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/coll/colltest"
	_ "github.com/ompi-go/ompi-go/coll/tuned"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/metrics"
)

// start runs ranks over a fabric on which messages above a few bytes wait for their receiver.
func start(used *uses, settings ...string) colltest.Start {
	return func(t *testing.T, n int, body func(rank int, tbl *coll.Table, c *core.Comm)) {
		reg, p := colltest.Params(t, settings...)
		f := colltest.NewFabric(n, 40)
		f.Run(func(self int) {
			fs, err := coll.Open(reg, p, &coll.Env{Params: p, PML: f.Rank(self)})
			if err != nil {
				t.Error(err)
				return
			}
			c := f.Comm(3, colltest.Shuffled(n), self)
			tbl, err := coll.Select(fs, c)
			if err != nil {
				t.Error(err)
				return
			}
			body(c.MyRank, tbl, c)
			if err := tbl.Close(); err != nil {
				t.Error(err)
			}
			used.add(fs)
		})
		if sends, recvs := f.Pending(); sends+recvs != 0 {
			t.Errorf("%d messages nobody received and %d receives nobody sent to are left over", sends, recvs)
		}
	}
}

// forced are the settings that have every operation carried out by the i-th of its algorithms, counted around, in segments of a few
// elements.
func forced(i int) []string {
	settings := []string{"coll_tuned_bcast_segment", "24", "coll_tuned_reduce_segment", "40", "coll_tuned_allreduce_segment", "16"}
	for k := range alg.NeighborAllgather {
		list := alg.List(k)
		settings = append(settings, fmt.Sprintf("coll_tuned_%s_algorithm", k), list[i%len(list)].Name)
	}
	return settings
}

// most is the number of algorithms of the operation that has the most.
func most() int {
	n := 0
	for k := range alg.Kinds {
		n = max(n, len(alg.List(k)))
	}
	return n
}

// uses are the algorithms that have run, by "operation algorithm".
type uses struct {
	mu  sync.Mutex
	ran map[string]uint64
}

func (u *uses) add(fs []coll.Factory) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, f := range fs {
		f.(metrics.Source).Metrics(func(d *metrics.Desc, n uint64, labels ...string) {
			if d.Name == "ompi_coll_operations_total" {
				u.ran[labels[1]+" "+labels[2]] += n
			}
		})
	}
}

// TestAlgorithms runs every algorithm of every operation on every number of ranks that it may find odd.
func TestAlgorithms(t *testing.T) {
	used := &uses{ran: make(map[string]uint64)}
	for i := range most() {
		only := func(k alg.Kind) bool { return i < len(alg.List(k)) }
		t.Run(fmt.Sprint(i), func(t *testing.T) { colltest.Sample(t, start(used, forced(i)...), only, sampleSizes...) })
	}
	for k := range alg.Kinds {
		for _, g := range alg.List(k) {
			if used.ran[k.String()+" "+g.Name] == 0 {
				t.Errorf("%s of %s has not run", g.Name, k)
			}
		}
	}
}

// TestConformance is the whole suite with the table that is built in.
func TestConformance(t *testing.T) {
	colltest.Run(t, start(&uses{ran: make(map[string]uint64)}), fullSizes...)
}

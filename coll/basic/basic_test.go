package basic_test

import (
	"testing"

	"github.com/ompi-go/ompi-go/coll"
	_ "github.com/ompi-go/ompi-go/coll/basic"
	"github.com/ompi-go/ompi-go/coll/colltest"
	"github.com/ompi-go/ompi-go/core"
)

// table is the table of a communicator over all ranks of f as job rank self sees it.
func table(t *testing.T, f *colltest.Fabric, n, self int, settings ...string) (*coll.Table, *core.Comm) {
	reg, p := colltest.Params(t, settings...)
	fs, err := coll.Open(reg, p, &coll.Env{Params: p, PML: f.Rank(self)})
	if err != nil {
		t.Error(err)
		return nil, nil
	}
	c := f.Comm(3, colltest.Shuffled(n), self)
	tbl, err := coll.Select(fs, c)
	if err != nil {
		t.Error(err)
		return nil, nil
	}
	return tbl, c
}

func start(settings ...string) colltest.Start {
	return func(t *testing.T, n int, body func(rank int, tbl *coll.Table, c *core.Comm)) {
		f := colltest.NewFabric(n, 4096)
		f.Run(func(self int) {
			tbl, c := table(t, f, n, self, settings...)
			if tbl == nil {
				return
			}
			body(c.MyRank, tbl, c)
			if err := tbl.Close(); err != nil {
				t.Error(err)
			}
		})
		if sends, recvs := f.Pending(); sends+recvs != 0 {
			t.Errorf("%d messages nobody received and %d receives nobody sent to are left over", sends, recvs)
		}
	}
}

func TestConformance(t *testing.T) { colltest.Run(t, start(), fullSizes...) }

// The same with the limits between algorithms at one extreme and at the other, and no memory kept.
func TestConformanceLongAlgorithms(t *testing.T) {
	colltest.Run(t, start("coll_basic_allreduce_long", "0", "coll_basic_gather_short", "0", "coll_basic_allgather_short", "0",
		"coll_basic_scratch_limit", "0"), 2, 3, 5, 6)
}

func TestConformanceShortAlgorithms(t *testing.T) {
	colltest.Run(t, start("coll_basic_allreduce_long", "1g", "coll_basic_gather_short", "1g", "coll_basic_allgather_short", "1g"), 2, 4, 6, 7)
}

package portals4

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/coll/colltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// mine are the operations of this component.
func mine(k alg.Kind) bool { return k == alg.Barrier || k == alg.Bcast || k == alg.Allreduce }

func TestConformance(t *testing.T) {
	for name, settings := range map[string][]string{
		"as by default":        nil,
		"many small segments":  {"coll_portals4_segment", "64", "coll_portals4_radix", "2", "coll_portals4_slots", "3"},
		"a chain, one slot":    {"coll_portals4_radix", "1", "coll_portals4_slots", "1", "coll_portals4_segment", "512"},
		"barriers only":        {"coll_portals4_max_data", "0"},
		"everything is served": {"coll_portals4_max_data", "1m"},
	} {
		t.Run(name, func(t *testing.T) {
			start := func(t *testing.T, n int, body func(rank int, tbl *coll.Table, c *core.Comm)) {
				newWorld(t, n, settings...).run(body)
			}
			if settings == nil && !underRace {
				colltest.Run(t, start, 1, 2, 3, 4, 6, 9, 13)
			} else {
				colltest.Sample(t, start, mine, sampleSizes...)
			}
		})
	}
}

// Who is chosen for what.
func TestSelection(t *testing.T) {
	newWorld(t, 2).run(func(_ int, tbl *coll.Table, _ *core.Comm) {
		for what, got := range map[string]any{"barrier": tbl.Barrier, "bcast": tbl.Bcast, "allreduce": tbl.Allreduce, "start": tbl.Start} {
			if _, ok := got.(*module); !ok {
				t.Errorf("%s is of %T", what, got)
			}
		}
		for what, got := range map[string]any{"finish": tbl.Finish, "reduce": tbl.Reduce, "plan": tbl.Plan} {
			if _, ok := got.(*module); ok {
				t.Errorf("%s is of this component", what)
			}
		}
	})
	newWorld(t, 1).run(func(_ int, tbl *coll.Table, _ *core.Comm) {
		if moduleOf(tbl) != nil {
			t.Error("one rank has a tree")
		}
	})
}

// Without being named, over another PML, it is not there; named where it cannot be, it says why.
func TestAvailability(t *testing.T) {
	for _, c := range []struct {
		coll string
		ok   bool
	}{{"", true}, {"^basic", true}, {"portals4,basic", false}} {
		var settings []string
		if c.coll != "" {
			settings = []string{"coll", c.coll}
		}
		reg, params := colltest.Params(t, settings...)
		fs, err := coll.Open(reg, params, &coll.Env{Params: params})
		if (err == nil) != c.ok || !c.ok && !errors.Is(err, coll.ErrUnavailable) {
			t.Errorf("coll %q: %v", c.coll, err)
		}
		for _, f := range fs {
			if _, mine := f.(*factory); mine {
				t.Errorf("coll %q: it is open", c.coll)
			}
		}
	}
}

// Thousands of operations back to back, ranks that fall behind and catch up, several communicators in turn.
func TestSkew(t *testing.T) {
	const n = 7
	rounds := 3000
	if underRace {
		rounds = 300
	}
	for _, slots := range []string{"1", "2", "4"} {
		w := newWorld(t, n, "coll_portals4_slots", slots, "coll_portals4_radix", "2", "coll_portals4_segment", "64")
		var idle sync.WaitGroup
		idle.Add(n)
		w.fabric.Run(func(self int) {
			var tbls []*coll.Table
			var comms []*core.Comm
			for k := range uint32(3) {
				tbl, c := w.comm(10+k, colltest.Shuffled(n), self)
				tbls, comms = append(tbls, tbl), append(comms, c)
			}
			r := rand.New(rand.NewPCG(1, uint64(self)))
			for i := range rounds {
				switch r.IntN(40) {
				case 0:
					time.Sleep(time.Duration(r.IntN(300)) * time.Microsecond)
				case 1, 2, 3:
					runtime.Gosched()
				}
				k := i % len(tbls)
				if err := step(tbls[k], comms[k].MyRank, n, i); err != nil {
					t.Errorf("slots %s: rank %d, operation %d: %v", slots, comms[k].MyRank, i, err)
					break
				}
			}
			idle.Done()
			w.serve(self, &idle)
			for _, tbl := range tbls {
				_ = tbl.Close()
			}
		})
	}
}

// step is the i-th operation of a long row, on which all ranks agree.
func step(tbl *coll.Table, rank, n, i int) error {
	root, count := i*5%n, 1+i*7%30
	switch i * 11 % 4 {
	case 0:
		return tbl.Barrier.Barrier()
	case 1, 2:
		b := make([]int64, count)
		if rank == root {
			for k := range b {
				b[k] = int64(i*100 + k)
			}
		}
		if err := tbl.Bcast.Bcast(ints(b), root); err != nil {
			return err
		}
		for k := range b {
			if b[k] != int64(i*100+k) {
				return fmt.Errorf("bcast from %d: element %d is %d, want %d", root, k, b[k], i*100+k)
			}
		}
	default:
		b := make([]int64, count)
		for k := range b {
			b[k] = int64(rank * (i + k))
		}
		if err := tbl.Allreduce.Allreduce(core.InPlaceBuffer(), ints(b), core.Sum); err != nil {
			return err
		}
		for k := range b {
			if want := int64(n*(n-1)/2) * int64(i+k); b[k] != want {
				return fmt.Errorf("allreduce: element %d is %d, want %d", k, b[k], want)
			}
		}
	}
	return nil
}

// Floating-point sums have the same bits in every run, and on all ranks, though children come in any order.
func TestSumsAreReproducible(t *testing.T) {
	const n = 9
	w := newWorld(t, n, "coll_portals4_radix", "3")
	var mu sync.Mutex
	seen := map[float64]int{}
	w.run(func(rank int, tbl *coll.Table, c *core.Comm) {
		for i := range 50 {
			if (rank+i)%3 == 0 {
				time.Sleep(20 * time.Microsecond)
			}
			in, out := []float64{1 / float64(3+rank)}, []float64{0}
			if err := tbl.Allreduce.Allreduce(floats(in), floats(out), core.Sum); err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			seen[out[0]]++
			mu.Unlock()
		}
	})
	if len(seen) != 1 {
		t.Errorf("sums differ: %v", seen)
	}
}

// What is not served goes below: other operators, types with gaps in a reduction, large data.
func TestBelow(t *testing.T) {
	const n = 3
	w := newWorld(t, n, "coll_portals4_max_data", "100")
	custom := core.NewOp(true, func(in, inout []int64) {
		for i, x := range in {
			inout[i] += x
		}
	})
	w.run(func(rank int, tbl *coll.Table, c *core.Comm) {
		m := moduleOf(tbl)
		before := m.turn
		for _, op := range []*core.Op{custom, core.Sum} {
			b := make([]int64, 20)
			b[19] = int64(rank)
			if err := tbl.Allreduce.Allreduce(core.InPlaceBuffer(), ints(b), op); err != nil || b[19] != 3 {
				t.Errorf("rank %d: %v, %v", rank, err, b)
			}
			if err := tbl.Bcast.Bcast(ints(b), 1); err != nil {
				t.Error(err)
			}
		}
		if m.turn != before {
			t.Errorf("rank %d: rounds were armed", rank)
		}
		if err := tbl.Barrier.Barrier(); err != nil || m.turn == before {
			t.Errorf("rank %d: no round was armed: %v", rank, err)
		}
		r := tbl.Start.Start(&alg.Args{Kind: alg.Reduce})
		if st, ok := r.Handle().Take(); !ok || !errors.Is(st.Err, core.ErrUnsupportedOperation) {
			t.Errorf("rank %d: ireduce without a component that has it: %v, %v", rank, ok, st.Err)
		}
	})
}

// A rank that broadcasts something else than the others is told, or they are; its buffer stays as it was.
func TestDisagreement(t *testing.T) {
	const n, small = 6, 4
	w := newWorld(t, n)
	w.run(func(rank int, tbl *coll.Table, c *core.Comm) {
		count := 10
		if rank == small {
			count = 7
		}
		b := make([]int64, count)
		if rank == 0 {
			b[3] = 5
		}
		err := tbl.Bcast.Bcast(ints(b), 0)
		if want := rank == small; want != errors.Is(err, core.ErrTruncate) || !want && (err != nil || b[3] != 5) {
			t.Errorf("rank %d: %v, %v", rank, err, b)
		}
		kind := core.Sum
		if rank == small {
			kind = core.Max
		}
		one := []int64{1}
		err = tbl.Allreduce.Allreduce(core.InPlaceBuffer(), ints(one), kind)
		if want := rank == small; want != errors.Is(err, core.ErrArg) || !want && err != nil {
			t.Errorf("rank %d: allreduce: %v", rank, err)
		}
		if err := step(tbl, rank, n, 3); err != nil { // it goes on
			t.Errorf("rank %d afterwards: %v", rank, err)
		}
	})
}

// Types may differ between the ranks of a broadcast.
func TestBcastOfTypesWithGaps(t *testing.T) {
	const n, count = 4, 50
	gaps, err := datatype.Resized(datatype.Int64, 0, 24)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, n, "coll_portals4_segment", "64", "coll_portals4_slots", "2")
	w.run(func(rank int, tbl *coll.Table, c *core.Comm) {
		for root := range n {
			b := make([]int64, 3*count)
			buf, step := ints(b[:count]), 1
			if rank%2 == 1 {
				buf, step = core.MakeBuffer(ints(b).Addr(), count, gaps), 3
			}
			for i := range b {
				b[i] = -1
			}
			if rank == root {
				for i := range count {
					b[i*step] = int64(i + root)
				}
			}
			if err := tbl.Bcast.Bcast(buf, root); err != nil {
				t.Error(err)
			}
			for i := range b {
				want := int64(-1)
				if i%step == 0 && i/step < count {
					want = int64(i/step + root)
				}
				if b[i] != want {
					t.Fatalf("rank %d, root %d: word %d is %d, want %d", rank, root, i, b[i], want)
				}
			}
		}
	})
}

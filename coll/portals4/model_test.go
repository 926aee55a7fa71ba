package portals4

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/coll/colltest"
	"github.com/ompi-go/ompi-go/core"
)

// call is one non-blocking operation of a plan, equal on all ranks.
type call struct {
	kind  alg.Kind
	root  int
	count int
	op    *core.Op
}

// job is what one rank has of a plan.
type job struct {
	tbl  *coll.Table
	rank int
	reqs []core.Handle
	bufs [][]int64
}

// TestAnyOrder: whatever ranks start when, and whoever's interface moves when, every operation ends with what it should give, however many are
// under way. One goroutine does everything, so that a failure can be repeated.
func TestAnyOrder(t *testing.T) {
	for _, cfg := range []struct {
		n            int
		radix, slots string
	}{{2, "2", "1"}, {3, "2", "2"}, {5, "1", "2"}, {6, "2", "3"}, {7, "3", "1"}, {8, "4", "4"}} {
		w := newWorld(t, cfg.n, "coll_portals4_radix", cfg.radix, "coll_portals4_slots", cfg.slots, "coll_portals4_segment", "64")
		context := uint32(0)
		rapid.Check(t, func(rt *rapid.T) {
			context++
			plan := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) call {
				return call{rapid.SampledFrom([]alg.Kind{alg.Barrier, alg.Bcast, alg.Bcast, alg.Allreduce}).Draw(rt, "kind"), rapid.IntRange(0, cfg.n-1).Draw(rt, "root"),
					rapid.IntRange(1, 30).Draw(rt, "count"), rapid.SampledFrom([]*core.Op{core.Sum, core.Max, core.BXor}).Draw(rt, "op")}
			}), 1, 12).Draw(rt, "plan")
			moves := rapid.SliceOfN(rapid.IntRange(0, 2*cfg.n-1), 0, 200).Draw(rt, "moves")
			jobs := make([]*job, cfg.n)
			w.fabric.Run(func(self int) {
				tbl, c := w.comm(context, colltest.Shuffled(cfg.n), self)
				jobs[self] = &job{tbl: tbl, rank: c.MyRank}
			})
			for _, v := range moves {
				if v < cfg.n {
					jobs[v].start(plan, cfg.n)
				} else {
					w.poll(v - cfg.n)
				}
			}
			for _, j := range jobs {
				for j.start(plan, cfg.n) {
				}
			}
			for pass := 0; slices.ContainsFunc(jobs, func(j *job) bool { return !j.done() }); pass++ {
				if pass == 100_000 {
					rt.Fatal("operations do not end")
				}
				for r := range jobs {
					w.poll(r)
				}
			}
			for _, j := range jobs {
				if err := j.check(plan, cfg.n); err != nil {
					rt.Fatal(err)
				}
			}
			for range 100 { // answers
				for r := range jobs {
					w.poll(r)
				}
			}
			for _, j := range jobs {
				if m := moduleOf(j.tbl); slices.ContainsFunc(m.slots, func(s slot) bool { return s.busy }) {
					rt.Fatalf("rank %d: a slot has not settled", j.rank)
				}
				if err := j.tbl.Close(); err != nil {
					rt.Fatal(err)
				}
			}
		})
	}
}

func (w *world) poll(r int) {
	e := w.ranks[r].engine
	e.Lock()
	e.PollAll()
	e.Unlock()
}

// start begins the next operation, if there is one.
func (j *job) start(plan []call, n int) bool {
	i := len(j.reqs)
	if i == len(plan) {
		return false
	}
	c := plan[i]
	b := make([]int64, c.count)
	for k := range b {
		if c.kind == alg.Allreduce || j.rank == c.root {
			b[k] = value(i, j.rank, k)
		}
	}
	a := &alg.Args{Kind: c.kind}
	switch c.kind {
	case alg.Bcast:
		a.Send, a.Root = ints(b), c.root
	case alg.Allreduce:
		a.Send, a.Recv, a.Op = core.InPlaceBuffer(), ints(b), c.op
	}
	j.reqs, j.bufs = append(j.reqs, j.tbl.Start.Start(a).Handle()), append(j.bufs, b)
	return true
}

// value is element k of what a rank contributes to operation i.
func value(i, rank, k int) int64 { return int64((i+3)*(rank+5)*(k+7)) ^ int64(rank)<<20 }

func (j *job) done() bool {
	for _, h := range j.reqs {
		if !h.R.Done() {
			return false
		}
	}
	return true
}

func (j *job) check(plan []call, n int) error {
	for i, c := range plan {
		if st, ok := j.reqs[i].Take(); !ok || st.Err != nil {
			return fmt.Errorf("rank %d, operation %d: %v, %v", j.rank, i, ok, st.Err)
		}
		for k := range j.bufs[i] {
			want := value(i, c.root, k)
			switch c.kind {
			case alg.Barrier:
				continue
			case alg.Allreduce:
				want = value(i, 0, k)
				for r := 1; r < n; r++ {
					v := []int64{value(i, r, k), want}
					c.op.Apply(ints(v[:1]).Addr(), ints(v[1:]).Addr(), 1, ints(v).Type())
					want = v[1]
				}
			}
			if got := j.bufs[i][k]; got != want {
				return fmt.Errorf("rank %d, operation %d (%s): element %d is %d, want %d", j.rank, i, c.kind, k, got, want)
			}
		}
	}
	return nil
}

// TestLateMember: operations begun before other members have made the communicator wait for them, and nothing is lost.
func TestLateMember(t *testing.T) {
	const n = 5
	plan := []call{{kind: alg.Bcast, root: 2, count: 20}, {kind: alg.Allreduce, count: 20, op: core.Sum}, {kind: alg.Barrier}}
	for late := range n {
		w := newWorld(t, n, "coll_portals4_radix", "2", "coll_portals4_segment", "64")
		jobs := make([]*job, n)
		enter := func(self int) {
			tbl, c := w.comm(1, colltest.Shuffled(n), self)
			jobs[self] = &job{tbl: tbl, rank: c.MyRank}
			for jobs[self].start(plan, n) {
			}
		}
		for self := range n {
			if self != late {
				enter(self)
			}
		}
		for pass := 0; ; pass++ {
			if pass == 100 {
				if slices.ContainsFunc(jobs, func(j *job) bool { return j != nil && j.reqs[2].R.Done() }) {
					t.Fatal("a barrier ended without one rank")
				}
				enter(late)
			}
			for r := range n {
				w.poll(r)
			}
			if pass > 100 && !slices.ContainsFunc(jobs, func(j *job) bool { return !j.done() }) {
				break
			}
			if pass == 100_000 {
				t.Fatal("operations do not end")
			}
		}
		for _, j := range jobs {
			if err := j.check(plan, n); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestNothingIsLeft: what communicators had of the interface is given back, also when they were closed with answers under way, and the next one of
// the same number works.
func TestNothingIsLeft(t *testing.T) {
	const n = 6
	w := newWorld(t, n, "coll_portals4_radix", "2", "coll_portals4_segment", "64")
	plan := []call{{kind: alg.Bcast, root: 4, count: 30}, {kind: alg.Bcast, root: 0, count: 30}, {kind: alg.Allreduce, count: 5, op: core.Sum}, {kind: alg.Bcast, root: 1, count: 30}}
	for range 30 {
		jobs := make([]*job, n)
		for self := range n {
			tbl, c := w.comm(1, colltest.Shuffled(n), self)
			jobs[self] = &job{tbl: tbl, rank: c.MyRank}
			for jobs[self].start(plan, n) {
			}
		}
		closed := make([]bool, n)
		for left := n; left > 0; {
			for r, j := range jobs {
				w.poll(r)
				if !closed[r] && j.done() { // others may still be on their way
					if err := j.check(plan, n); err != nil {
						t.Fatal(err)
					}
					if err := j.tbl.Close(); err != nil {
						t.Fatal(err)
					}
					closed[r] = true
					left--
				}
			}
		}
	}
	for range 100 {
		for r := range n {
			w.poll(r)
		}
	}
	for r, k := range w.ranks {
		k.engine.Lock()
		for _, l := range k.list {
			if f, ok := l.(*factory); ok {
				f.bury()
				if len(f.graves)+len(f.modules)+f.reserved != 0 {
					t.Errorf("job rank %d: %d closed communicators and %d open ones are left, with %d triggered operations", r, len(f.graves), len(f.modules), f.reserved)
				}
			}
		}
		k.engine.Unlock()
	}
}

package portals4

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/coll/colltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
)

var errTest = errors.New("killed by the test")

// A member dies before it comes to an operation, wherever in the tree it is: the others end, with its death as the error or with their part done, and
// so does everything that they have queued.
func TestDeath(t *testing.T) {
	const n = 7
	for victim := range n {
		for _, name := range []string{"barrier", "bcast from it", "bcast from another", "allreduce", "many"} {
			w := newWorld(t, n, "coll_portals4_radix", "2", "coll_portals4_slots", "2", "coll_portals4_segment", "64")
			job := colltest.Shuffled(n)[victim]
			var entered sync.WaitGroup
			entered.Add(n - 1)
			go func() {
				entered.Wait()
				time.Sleep(time.Millisecond)
				w.kill(job, errTest)
			}()
			var mu sync.Mutex
			failed := 0
			w.run(func(rank int, tbl *coll.Table, c *core.Comm) {
				if rank == victim {
					return
				}
				entered.Done()
				var err error
				switch b := make([]int64, 100); name {
				case "barrier":
					err = tbl.Barrier.Barrier()
				case "bcast from it":
					err = tbl.Bcast.Bcast(ints(b), victim)
				case "bcast from another":
					err = tbl.Bcast.Bcast(ints(b), (victim+3)%n)
				case "allreduce":
					err = tbl.Allreduce.Allreduce(core.InPlaceBuffer(), ints(b), core.Sum)
				case "many":
					var list []core.Handle
					for range 10 {
						list = append(list, tbl.Start.Start(&alg.Args{Kind: alg.Allreduce, Send: core.InPlaceBuffer(), Recv: ints(make([]int64, 50)), Op: core.Sum}).Handle(),
							tbl.Start.Start(&alg.Args{Kind: alg.Barrier}).Handle())
					}
					for _, h := range list {
						h.Wait()
						if st, ok := h.Take(); !ok || st.Err == nil {
							t.Errorf("victim %d: %s: rank %d: an operation ended with %v, %v", victim, name, rank, ok, st.Err)
						} else {
							err = st.Err
						}
					}
				}
				if err != nil && !errors.Is(err, core.ErrProcFailed) {
					t.Errorf("victim %d: %s: rank %d: %v", victim, name, rank, err)
				}
				if err != nil {
					mu.Lock()
					failed++
					mu.Unlock()
					if err := tbl.Barrier.Barrier(); !errors.Is(err, core.ErrProcFailed) {
						t.Errorf("victim %d: after %s: rank %d: barrier: %v", victim, name, rank, err)
					}
				}
			})
			if failed == 0 && name != "bcast from another" {
				t.Errorf("victim %d: %s: nobody noticed", victim, name)
			}
		}
	}
}

// A peer that comes to an operation when the others have given it up changes nothing at them: the failed operation's buffers are their owners'.
func TestLatePeersTouchNothing(t *testing.T) {
	const n = 5
	w := newWorld(t, n, "coll_portals4_radix", "2")
	tbls, ranks := make([]*coll.Table, n), make([]int, n)
	w.fabric.Run(func(self int) {
		tbl, c := w.comm(1, colltest.Shuffled(n), self)
		tbls[self], ranks[self] = tbl, c.MyRank
	})
	for victim := range n {
		if ranks[victim] != 1 { // an inner rank
			continue
		}
		bufs := make([][]int64, n)
		begin := func(self int) core.Handle {
			bufs[self] = []int64{int64(ranks[self])}
			return tbls[self].Start.Start(&alg.Args{Kind: alg.Allreduce, Send: core.InPlaceBuffer(), Recv: ints(bufs[self]), Op: core.Sum}).Handle()
		}
		var list []core.Handle
		for self := range n {
			if self != victim {
				list = append(list, begin(self))
			}
		}
		w.kill(victim, errTest)
		for _, h := range list {
			if st, ok := h.Take(); !ok || !errors.Is(st.Err, core.ErrProcFailed) {
				t.Errorf("%v, %v", ok, st.Err)
			}
		}
		for self := range n {
			if self != victim {
				bufs[self][0] = -7
			}
		}
		late := begin(victim)
		for range 1000 {
			for self := range n {
				w.poll(self)
			}
		}
		for self := range n {
			if self != victim && bufs[self][0] != -7 {
				t.Errorf("rank %d has %d", ranks[self], bufs[self][0])
			}
		}
		w.ranks[victim].engine.Lock()
		moduleOf(tbls[victim]).fail(core.NewError(core.ErrProcFailed, "the end of the test"))
		w.ranks[victim].engine.Unlock()
		late.Take()
	}
	for _, tbl := range tbls {
		if err := tbl.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestBypass: operations end while no rank is inside a call: the engines' agents alone move them. The operations need every rank several
// times, up the tree and down again, one round after the other through a single slot.
func TestBypass(t *testing.T) {
	const n, count = 8, 100
	w := newWorld(t, n, "coll_portals4_radix", "2", "coll_portals4_slots", "1", "coll_portals4_segment", "64")
	tbls, ranks := make([]*coll.Table, n), make([]int, n)
	w.fabric.Run(func(self int) {
		tbl, c := w.comm(1, colltest.Shuffled(n), self)
		tbls[self], ranks[self] = tbl, c.MyRank
	})
	for _, k := range w.ranks {
		if !k.env.Bypass {
			t.Error("the instance is not told to move while the program computes")
		}
		if err := k.engine.StartAsync(progress.AsyncAgent, 100*time.Microsecond, 0); err != nil {
			t.Fatal(err)
		}
	}
	var list []core.Handle
	var sums [][]int64
	for self, tbl := range tbls {
		sum, cast := make([]int64, count), make([]int64, count)
		for k := range sum {
			sum[k] = int64(ranks[self] + k)
		}
		for _, a := range []*alg.Args{{Kind: alg.Barrier}, {Kind: alg.Allreduce, Send: core.InPlaceBuffer(), Recv: ints(sum), Op: core.Sum}, {Kind: alg.Bcast, Send: ints(cast), Root: 5},
			{Kind: alg.Barrier}} {
			list = append(list, tbl.Start.Start(a).Handle())
		}
		sums = append(sums, sum)
	}
	for i, h := range list { // the ranks compute; only flags are looked at
		for end := time.Now().Add(30 * time.Second); !h.R.Done(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("operation %d of rank %d does not end", i%4, ranks[i/4])
			}
		}
		if st, ok := h.Take(); !ok || st.Err != nil {
			t.Errorf("operation %d of rank %d: %v, %v", i%4, ranks[i/4], ok, st.Err)
		}
	}
	for self, sum := range sums {
		for k, v := range sum {
			if want := int64(n*(n-1)/2 + n*k); v != want {
				t.Fatalf("rank %d: element %d is %d, want %d", ranks[self], k, v, want)
			}
		}
	}
	for self, tbl := range tbls {
		w.ranks[self].engine.StopAsync()
		if err := tbl.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Blocking operations allocate nothing once they have run.
func TestNoAllocations(t *testing.T) {
	if underRace {
		t.Skip("the race detector allocates")
	}
	const n, runs = 3, 200
	w := newWorld(t, n)
	for name, call := range map[string]func(tbl *coll.Table, b core.Buffer) error{
		"barrier": func(tbl *coll.Table, _ core.Buffer) error { return tbl.Barrier.Barrier() },
		"bcast":   func(tbl *coll.Table, b core.Buffer) error { return tbl.Bcast.Bcast(b, 1) },
		"allreduce": func(tbl *coll.Table, b core.Buffer) error {
			return tbl.Allreduce.Allreduce(core.InPlaceBuffer(), b, core.Sum)
		},
	} {
		w.run(func(rank int, tbl *coll.Table, c *core.Comm) {
			b := ints(make([]int64, 10))
			one := func() {
				if err := call(tbl, b); err != nil {
					t.Error(err)
				}
			}
			for range 100 {
				one()
			}
			if rank != 0 {
				for range runs + 1 {
					one()
				}
				return
			}
			if got := testing.AllocsPerRun(runs, one); got >= 1 { // of all ranks
				t.Error(fmt.Errorf("%s: %v allocations", name, got))
			}
		})
	}
}

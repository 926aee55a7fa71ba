package portals4_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// variant is a set of parameters under which every test runs.
type variant struct {
	name   string
	params []string
}

var variants = []variant{
	{"paper", nil},
	{"cm", []string{"pml", "cm"}},
	{"mcs+engine+target", []string{"osc_portals4_lock", "mcs", "osc_portals4_loc", "engine", "osc_portals4_flush", "target", "osc_portals4_flush_targets", "2"}},
	{"nonmatching+segments", []string{"osc_portals4_matching", "false", "osc_portals4_dynamic", "segments"}},
	{"segments+small", []string{"osc_portals4_dynamic", "segments", "osc_portals4_max_atomic_size", "64", "osc_portals4_max_msg_size", "96", "osc_portals4_max_pending_ops", "16"}},
	{"tcp", []string{"portals4_nal", "tcp", "portals4_eager_limit", "0"}},
	{"udp", []string{"portals4_nal", "udp"}},
}

// run has n goroutine ranks run body under every variant.
func run(t *testing.T, n int, body func(w *ompi.Comm) error) {
	t.Helper()
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			t.Helper()
			opts := []ompi.Option{ompi.WithParam("osc", "portals4")}
			for i := 0; i < len(v.params); i += 2 {
				opts = append(opts, ompi.WithParam(v.params[i], v.params[i+1]))
			}
			if err := ompi.Run(context.Background(), n, body, opts...); err != nil {
				t.Error(err)
			}
		})
	}
}

func want[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s: %v, want %v", what, got, want)
	}
	return nil
}

// first gives the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestPutGetFence(t *testing.T) {
	run(t, 3, func(c *ompi.Comm) error {
		me, n := c.Rank(), c.Size()
		w, mem, err := ompi.WinAllocate[int64](c, 4096)
		if err != nil {
			return err
		}
		out := make([]int64, 4096)
		for i := range out {
			out[i] = int64(me*10000 + i)
		}
		back := make([]int64, 4096)
		to, from := (me+1)%n, (me+n-1)%n
		if err := first(w.Fence(0), w.Put(ompi.Slice(out), ompi.At(to, 0)), w.Fence(0)); err != nil {
			return err
		}
		for i := range mem {
			if err := want("put", mem[i], int64(from*10000+i)); err != nil {
				return err
			}
		}
		if err := first(w.Fence(0), w.Get(ompi.Slice(back), ompi.At(to, 0)), w.Put(ompi.Slice(out[:0]), ompi.At(to, 0)), w.Fence(0)); err != nil {
			return err
		}
		for i := range back {
			if err := want("get", back[i], int64(me*10000+i)); err != nil {
				return err
			}
		}
		return w.Free()
	})
}

func TestAtomicsUnderLocks(t *testing.T) {
	run(t, 3, func(c *ompi.Comm) error {
		n := c.Size()
		w, mem, err := ompi.WinAllocate[int64](c, 64)
		if err != nil {
			return err
		}
		const rounds = 50
		one, old := []int64{1}, []int64{0}
		if err := w.LockAll(0); err != nil {
			return err
		}
		for range rounds {
			for r := range n {
				if err := first(w.FetchAndOp(ompi.Slice(one), ompi.Slice(old), ompi.At(r, 3), ompi.Sum), w.Accumulate(ompi.Slice(one), ompi.At(r, 4), ompi.Sum)); err != nil {
					return err
				}
			}
			if err := w.FlushAll(); err != nil {
				return err
			}
		}
		// A lock by compare-and-swap, and what it protects by put and get.
		for range rounds {
			me, got, free := []int64{int64(c.Rank() + 1)}, []int64{0}, []int64{0}
			for got[0] = -1; got[0] != 0; {
				if err := first(w.CompareAndSwap(ompi.Slice(me), ompi.Slice(free), ompi.Slice(got), ompi.At(0, 5)), w.Flush(0)); err != nil {
					return err
				}
			}
			v := []int64{0}
			if err := first(w.Get(ompi.Slice(v), ompi.At(0, 6)), w.Flush(0)); err != nil {
				return err
			}
			v[0]++
			if err := first(w.Put(ompi.Slice(v), ompi.At(0, 6)), w.Flush(0), w.Accumulate(ompi.Slice(free), ompi.At(0, 5), ompi.Replace), w.Flush(0)); err != nil {
				return err
			}
		}
		if err := first(w.UnlockAll(), c.Barrier()); err != nil {
			return err
		}
		if err := first(want("fetch and op", mem[3], int64(rounds*n)), want("accumulate", mem[4], int64(rounds*n))); err != nil {
			return err
		}
		if c.Rank() == 0 {
			if err := want("under compare and swap", mem[6], int64(rounds*n)); err != nil {
				return err
			}
		}
		// Exclusive and shared locks.
		for range rounds {
			v := []int64{0}
			if err := first(w.Lock(ompi.LockExclusive, 1, 0), w.Get(ompi.Slice(v), ompi.At(1, 7)), w.Flush(1)); err != nil {
				return err
			}
			v[0]++
			if err := first(w.Put(ompi.Slice(v), ompi.At(1, 7)), w.Unlock(1), w.Lock(ompi.LockShared, 1, 0), w.Get(ompi.Slice(v), ompi.At(1, 7)), w.Unlock(1)); err != nil {
				return err
			}
		}
		if err := c.Barrier(); err != nil {
			return err
		}
		if c.Rank() == 1 {
			if err := want("under exclusive lock", mem[7], int64(rounds*n)); err != nil {
				return err
			}
		}
		return w.Free()
	})
}

func TestPostStart(t *testing.T) {
	run(t, 3, func(c *ompi.Comm) error {
		n, me := c.Size(), c.Rank()
		w, mem, err := ompi.WinAllocate[int64](c, 16)
		if err != nil {
			return err
		}
		to, from := (me+1)%n, (me+n-1)%n
		world := c.Group()
		gTo, err := world.Incl([]int{to})
		if err != nil {
			return err
		}
		gFrom, err := world.Incl([]int{from})
		if err != nil {
			return err
		}
		for round := range 40 {
			v := []int64{int64(round*100 + me)}
			if err := first(w.Post(gFrom, 0), w.Start(gTo, 0), w.Put(ompi.Slice(v), ompi.At(to, 2)), w.Complete()); err != nil {
				return err
			}
			if round%2 == 0 {
				if err := w.Wait(); err != nil {
					return err
				}
			} else {
				for over := false; !over; {
					if over, err = w.Test(); err != nil {
						return err
					}
				}
			}
			if err := want("put", mem[2], int64(round*100+from)); err != nil {
				return err
			}
		}
		return w.Free()
	})
}

func TestPairsAndLayouts(t *testing.T) {
	run(t, 3, func(c *ompi.Comm) error {
		n, me := c.Size(), c.Rank()
		pairs, pm, err := ompi.WinAllocate[core.Loc[float64]](c, 40)
		if err != nil {
			return err
		}
		mine := make([]core.Loc[float64], 40)
		old := make([]core.Loc[float64], 40)
		for i := range mine {
			mine[i] = core.Loc[float64]{Value: float64((me*7+i)%n) + 1, Index: int32(me)}
		}
		if err := pairs.Fence(0); err != nil {
			return err
		}
		for r := range n {
			if err := first(pairs.Accumulate(ompi.Slice(mine), ompi.At(r, 0), ompi.MaxLoc), pairs.GetAccumulate(ompi.Slice(mine), ompi.Slice(old), ompi.At(r, 0), ompi.MaxLoc)); err != nil {
				return err
			}
		}
		if err := pairs.Fence(0); err != nil {
			return err
		}
		for i := range pm {
			if err := want("MAXLOC", pm[i].Value, float64(n)); err != nil {
				return fmt.Errorf("%d: %w", i, err)
			}
		}
		if err := pairs.Free(); err != nil {
			return err
		}
		// Bytes of odd numbers, and vectors on both sides.
		w, mem, err := ompi.WinAllocate[float32](c, 3000)
		if err != nil {
			return err
		}
		col, err := datatype.Vector(100, 3, 30, datatype.Float32)
		if err == nil {
			err = col.Commit()
		}
		if err != nil {
			return err
		}
		src := make([]float32, 3000)
		for i := range src {
			src[i] = float32(i)
		}
		to := (me + 1) % n
		if err := first(w.Fence(0), w.Accumulate(ompi.Typed(src, 1, col), ompi.Target{Rank: to, Disp: 3, Count: 1, Type: col}, ompi.Sum),
			w.Accumulate(ompi.Typed(src, 1, col), ompi.Target{Rank: to, Disp: 3, Count: 1, Type: col}, ompi.Sum), w.Fence(0)); err != nil {
			return err
		}
		for i := range 100 {
			for j := range 30 {
				expect := float32(0)
				if j >= 3 && j < 6 {
					expect = 2 * float32(i*30+j-3)
				}
				if err := want("vector", mem[i*30+j], expect); err != nil {
					return fmt.Errorf("%d %d: %w", i, j, err)
				}
			}
		}
		return w.Free()
	})
}

package pt2pt_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// ways are the settings over which everything must work alike.
var ways = map[string][]ompi.Option{
	"default":  nil,
	"grant":    {ompi.WithParam("osc_pt2pt_piggyback", "false")},
	"small":    {ompi.WithParam("osc_pt2pt_buffer_size", "512"), ompi.WithParam("osc_pt2pt_receive_count", "1")},
	"allLong":  {ompi.WithParam("osc_pt2pt_long_limit", "0")},
	"noneLong": {ompi.WithParam("osc_pt2pt_long_limit", "1g")},
	"cm":       {ompi.WithParam("pml", "cm")},
}

func run(t *testing.T, n int, f func(c *ompi.Comm) error) {
	t.Helper()
	for name, options := range ways {
		t.Run(name, func(t *testing.T) {
			if err := ompi.Run(t.Context(), n, f, append([]ompi.Option{ompi.WithParam("osc", "pt2pt")}, options...)...); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestFencePutGet(t *testing.T) {
	run(t, 4, func(c *ompi.Comm) error {
		w, mem, err := ompi.WinAllocate[int64](c, 8)
		if err != nil {
			return err
		}
		me, n := int64(c.Rank()), int64(c.Size())
		for round := int64(0); round < 20; round++ {
			if err := w.Fence(0); err != nil {
				return err
			}
			for r := range n {
				if err := w.Put(ompi.Slice([]int64{100*round + me}), ompi.At(int(r), me)); err != nil {
					return err
				}
			}
			if err := w.Fence(0); err != nil {
				return err
			}
			for r := range n {
				if mem[r] != 100*round+r {
					return fmt.Errorf("round %d: place %d has %d", round, r, mem[r])
				}
			}
			got := make([]int64, n)
			if err := w.Get(ompi.Slice(got), ompi.At(int((me+1)%n), 0)); err != nil {
				return err
			}
			if err := w.Fence(0); err != nil {
				return err
			}
			for r := range n {
				if got[r] != 100*round+r {
					return fmt.Errorf("round %d: got %v", round, got)
				}
			}
		}
		return w.Free()
	})
}

func TestLargeAndDerived(t *testing.T) {
	run(t, 2, func(c *ompi.Comm) error {
		const n = 20000
		w, mem, err := ompi.WinAllocate[int64](c, 2*n)
		if err != nil {
			return err
		}
		other := 1 - c.Rank()
		vec, err := datatype.Vector(n/2, 1, 2, datatype.Int64)
		if err != nil {
			return err
		}
		src, back := make([]int64, n), make([]int64, n)
		for i := range src {
			src[i] = int64(i + 1 + c.Rank())
		}
		if err := w.Fence(0); err != nil {
			return err
		}
		if err := w.Put(ompi.Slice(src), ompi.At(other, 0)); err != nil {
			return err
		}
		half := src[:n/2]
		if err := w.Put(ompi.Slice(half), ompi.Target{Rank: other, Disp: n, Count: 1, Type: vec}); err != nil {
			return err
		}
		if err := w.Fence(0); err != nil {
			return err
		}
		for i := range n {
			if mem[i] != int64(i+1+other) {
				return fmt.Errorf("contiguous %d: %d", i, mem[i])
			}
			want := int64(0)
			if i%2 == 0 {
				want = int64(i/2 + 1 + other)
			}
			if i < n-1 && mem[n+i] != want {
				return fmt.Errorf("vector %d: %d", i, mem[n+i])
			}
		}
		if err := w.Lock(ompi.LockShared, other, 0); err != nil {
			return err
		}
		if err := w.Get(ompi.Slice(back[:n/2]), ompi.Target{Rank: other, Disp: n, Count: 1, Type: vec}); err != nil {
			return err
		}
		if err := w.FlushLocal(other); err != nil {
			return err
		}
		for i := range n / 2 {
			if back[i] != src[i] {
				return fmt.Errorf("back %d: %d", i, back[i])
			}
		}
		if err := w.Get(ompi.Slice(back), ompi.At(other, 0)); err != nil {
			return err
		}
		if err := w.Unlock(other); err != nil {
			return err
		}
		for i := range n {
			if back[i] != src[i] {
				return fmt.Errorf("back %d: %d", i, back[i])
			}
		}
		return w.Free()
	})
}

func TestCounterUnderLocks(t *testing.T) {
	run(t, 4, func(c *ompi.Comm) error {
		w, mem, err := ompi.WinAllocate[int64](c, 3)
		if err != nil {
			return err
		}
		const rounds = 50
		one := []int64{1}
		for i := range rounds {
			var v, old [1]int64
			if err := errors.Join(
				w.Lock(ompi.LockExclusive, 0, 0),
				w.Get(ompi.Slice(v[:]), ompi.At(0, 0)),
				w.Flush(0),
			); err != nil {
				return err
			}
			v[0]++
			if err := errors.Join(
				w.Put(ompi.Slice(v[:]), ompi.At(0, 0)),
				w.Unlock(0),
				w.Lock(ompi.LockShared, 0, 0),
				w.Accumulate(ompi.Slice(one), ompi.At(0, 1), ompi.Sum),
				w.Unlock(0),
				w.LockAll(0),
				w.FetchAndOp(ompi.Slice(one), ompi.Slice(old[:]), ompi.At(0, 2), ompi.Sum),
				w.FlushAll(),
				w.UnlockAll(),
			); err != nil {
				return fmt.Errorf("round %d: %w", i, err)
			}
		}
		if err := c.Barrier(); err != nil {
			return err
		}
		if err := w.Lock(ompi.LockShared, c.Rank(), 0); err != nil {
			return err
		}
		if want := int64(rounds * c.Size()); c.Rank() == 0 && (mem[0] != want || mem[1] != want || mem[2] != want) {
			return fmt.Errorf("counters are %v, not %d", mem, want)
		}
		return errors.Join(w.Unlock(c.Rank()), w.Free())
	})
}

func TestPostStart(t *testing.T) {
	run(t, 4, func(c *ompi.Comm) error {
		w, mem, err := ompi.WinAllocate[int64](c, 4)
		if err != nil {
			return err
		}
		me, n := c.Rank(), c.Size()
		g := c.Group()
		access, err := g.Incl([]int{(me + 1) % n, (me + n - 1) % n, me})
		if err != nil {
			return err
		}
		for round := range int64(30) {
			if err := errors.Join(w.Post(access, 0), w.Start(access, 0)); err != nil {
				return err
			}
			for _, r := range []int{(me + 1) % n, (me + n - 1) % n, me} {
				if err := w.Put(ompi.Slice([]int64{round}), ompi.At(r, int64(me))); err != nil {
					return err
				}
			}
			if err := w.Complete(); err != nil {
				return err
			}
			if round%2 == 0 {
				if err := w.Wait(); err != nil {
					return err
				}
			} else {
				for {
					ok, err := w.Test()
					if err != nil {
						return err
					}
					if ok {
						break
					}
				}
			}
			for _, r := range []int{(me + 1) % n, (me + n - 1) % n, me} {
				if mem[r] != round {
					return fmt.Errorf("round %d: from %d: %d", round, r, mem[r])
				}
			}
		}
		return w.Free()
	})
}

func TestRequests(t *testing.T) {
	run(t, 3, func(c *ompi.Comm) error {
		w, _, err := ompi.WinAllocate[int64](c, 5000)
		if err != nil {
			return err
		}
		other := (c.Rank() + 1) % c.Size()
		for _, n := range []int{1, 5000} {
			src, got, old := make([]int64, n), make([]int64, n), make([]int64, n)
			for i := range src {
				src[i] = int64(i + n)
			}
			if err := w.Lock(ompi.LockExclusive, other, 0); err != nil {
				return err
			}
			for _, r := range []ompi.Request{w.Rput(ompi.Slice(src), ompi.At(other, 0)), w.Rget(ompi.Slice(got), ompi.At(other, 0))} {
				if _, err := r.Wait(); err != nil {
					return err
				}
				if err := w.Flush(other); err != nil {
					return err
				}
			}
			r := w.RgetAccumulate(ompi.Slice(src), ompi.Slice(old), ompi.At(other, 0), ompi.Sum)
			if _, err := r.Wait(); err != nil {
				return err
			}
			for i := range src {
				if got[i] != src[i] || old[i] != src[i] {
					return fmt.Errorf("%d: put %d, got %d, fetched %d", i, src[i], got[i], old[i])
				}
			}
			if err := w.Unlock(other); err != nil {
				return err
			}
		}
		return w.Free()
	})
}

func TestPairsAndSwap(t *testing.T) {
	run(t, 3, func(c *ompi.Comm) error {
		w, mem, err := ompi.WinAllocate[ompi.Loc[float64]](c, 100)
		if err != nil {
			return err
		}
		in, old := make([]ompi.Loc[float64], 100), make([]ompi.Loc[float64], 100)
		for i := range in {
			in[i] = ompi.Loc[float64]{Value: float64((c.Rank()*37 + i) % 7), Index: int32(c.Rank())}
		}
		if err := errors.Join(w.Fence(0), w.Accumulate(ompi.Slice(in), ompi.At(0, 0), ompi.MaxLoc), w.Fence(0)); err != nil {
			return err
		}
		if c.Rank() == 0 {
			for i := range mem {
				best := 0.0
				for r := range 3 {
					best = max(best, float64((r*37+i)%7))
				}
				if mem[i].Value != best {
					return fmt.Errorf("pair %d: %v, not %v", i, mem[i], best)
				}
			}
		}
		if err := errors.Join(w.GetAccumulate(ompi.Buffer{}, ompi.Slice(old), ompi.At(0, 0), ompi.NoOp), w.Fence(0)); err != nil {
			return err
		}
		if c.Rank() != 0 && old[5].Value == 0 {
			return fmt.Errorf("fetched %v", old[5])
		}
		if err := w.Free(); err != nil {
			return err
		}

		u, words, err := ompi.WinAllocate[uint32](c, 2)
		if err != nil {
			return err
		}
		if err := u.LockAll(0); err != nil {
			return err
		}
		for range 30 {
			for {
				var cur, res [1]uint32
				if err := errors.Join(u.FetchAndOp(ompi.Buffer{}, ompi.Slice(cur[:]), ompi.At(0, 1), ompi.NoOp), u.Flush(0)); err != nil {
					return err
				}
				next := [1]uint32{cur[0] + 1}
				if err := errors.Join(u.CompareAndSwap(ompi.Slice(next[:]), ompi.Slice(cur[:]), ompi.Slice(res[:]), ompi.At(0, 1)), u.Flush(0)); err != nil {
					return err
				}
				if res[0] == cur[0] {
					break
				}
			}
		}
		if err := errors.Join(u.UnlockAll(), c.Barrier()); err != nil {
			return err
		}
		if c.Rank() == 0 && words[1] != 90 {
			return fmt.Errorf("swapped up to %d", words[1])
		}
		return u.Free()
	})
}

func TestDynamic(t *testing.T) {
	run(t, 2, func(c *ompi.Comm) error {
		w, err := ompi.WinCreateDynamic(c)
		if err != nil {
			return err
		}
		mem := make([]int64, 4000)
		a, err := w.Attach(ompi.Slice(mem))
		if err != nil {
			return err
		}
		all := make([]int64, 2)
		if err := c.Allgather(ompi.Slice([]int64{int64(a)}), ompi.Slice(all)); err != nil {
			return err
		}
		other := 1 - c.Rank()
		src := make([]int64, 4000)
		for i := range src {
			src[i] = int64(i)
		}
		if err := errors.Join(w.Lock(ompi.LockExclusive, other, 0), w.Put(ompi.Slice(src), ompi.At(other, all[other])), w.Unlock(other), c.Barrier()); err != nil {
			return err
		}
		if err := errors.Join(w.Lock(ompi.LockShared, c.Rank(), 0), w.Unlock(c.Rank())); err != nil {
			return err
		}
		for i := range mem {
			if mem[i] != src[i] {
				return fmt.Errorf("%d: %d", i, mem[i])
			}
		}
		for _, n := range []int{2, 4000} {
			if err := errors.Join(w.Lock(ompi.LockExclusive, other, 0), w.Put(ompi.Slice(src[:n]), ompi.At(other, all[other]+8*4000-8))); err != nil {
				return err
			}
			if err := w.Unlock(other); !errors.Is(err, ompi.ErrRMARange) {
				return fmt.Errorf("a put of %d over the end: %v", n, err)
			}
			if err := errors.Join(w.Lock(ompi.LockExclusive, other, 0), w.Get(ompi.Slice(src[:n]), ompi.At(other, all[other]+8*4000-8))); err != nil {
				return err
			}
			if err := w.Flush(other); !errors.Is(err, ompi.ErrRMARange) {
				return fmt.Errorf("a get of %d over the end: %v", n, err)
			}
			if err := w.Unlock(other); err != nil {
				return err
			}
		}
		return errors.Join(c.Barrier(), w.Detach(a), w.Free())
	})
}

package ompi_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestWindowThreads: goroutines of a rank share its epoch, and make windows at the same time over communicators of their own.
func TestWindowThreads(t *testing.T) {
	const n, each, rounds = 3, 4, 50
	plainWindows(t, n, func(c *ompi.Comm) error {
		win, mem, err := ompi.WinAllocate[int64](c, each+1)
		if err != nil {
			return err
		}
		if err := win.LockAll(0); err != nil {
			return err
		}
		err = threads(each, func(g int) error {
			one, old := []int64{1}, []int64{0}
			for k := range rounds {
				to := (c.Rank() + k) % n
				if err := allOf(win.FetchAndOp(ompi.Slice(one), ompi.Slice(old), ompi.At(to, int64(g)), ompi.Sum), win.Flush(to),
					awaitedAfter(win.Raccumulate(ompi.Slice(one), ompi.At(to, each), ompi.Sum), func() error { return win.FlushAll() })); err != nil {
					return err
				}
			}
			return nil
		})
		if err := allOf(err, win.UnlockAll(), c.Barrier()); err != nil {
			return err
		}
		sum := int64(0)
		for _, v := range mem {
			sum += v
		}
		total := []int64{sum}
		if err := c.Allreduce(ompi.InPlace(), ompi.Slice(total), ompi.Sum); err != nil {
			return err
		}
		if total[0] != 2*n*each*rounds {
			return fmt.Errorf("%d operations have arrived, of %d: %v", total, 2*n*each*rounds, mem)
		}
		if err := win.Free(); err != nil {
			return err
		}
		comms := make([]*ompi.Comm, each)
		for g := range comms {
			if comms[g], err = c.Dup(); err != nil {
				return err
			}
		}
		return threads(each, func(g int) error {
			for range 5 {
				w, mem, err := ompi.WinAllocate[int32](comms[g], 1)
				if err != nil {
					return err
				}
				v := []int32{int32(g)}
				if err := allOf(w.Fence(0), w.Put(ompi.Slice(v), ompi.At((c.Rank()+1)%n, 0)), w.Fence(ompi.ModeNoSucceed)); err != nil {
					return err
				}
				if mem[0] != int32(g) {
					return fmt.Errorf("memory %v", mem)
				}
				if err := w.Free(); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// TestWindowThreadsOfManyLocks: each goroutine of a rank has the lock of a target of its own, which it takes and gives back while the others operate. Elements
// are aligned or not, of one byte to eight.
func TestWindowThreadsOfManyLocks(t *testing.T) {
	const n, rounds, each = 3, 30, 5
	plainWindows(t, n, func(c *ompi.Comm) error {
		win, mem, err := ompi.WinAllocate[byte](c, 64)
		if err != nil {
			return err
		}
		err = threads(n, func(to int) error {
			long, was, small, before := []int64{1}, []int64{0}, []int8{1}, []int8{0}
			l, lw, s, sw := ompi.Slice(long), ompi.Slice(was), ompi.Slice(small), ompi.Slice(before)
			for range rounds {
				if err := win.Lock(ompi.LockShared, to, 0); err != nil {
					return err
				}
				for range each {
					if err := allOf(win.FetchAndOp(l, lw, ompi.At(to, 8), ompi.Sum), win.FetchAndOp(l, lw, ompi.At(to, 27), ompi.Sum),
						win.FetchAndOp(s, sw, ompi.At(to, 41), ompi.Sum), win.Accumulate(s, ompi.At(to, 42), ompi.Sum)); err != nil {
						return err
					}
				}
				// A word of one's own, by compare-and-swap.
				if err := allOf(win.FetchAndOp(ompi.Buffer{}, lw, ompi.At(to, 48), ompi.NoOp), win.Flush(to)); err != nil {
					return err
				}
				for {
					old := was[0]
					next := []int64{old + 1}
					if err := allOf(win.CompareAndSwap(ompi.Slice(next), ompi.Value(&old), lw, ompi.At(to, 48)), win.Flush(to)); err != nil {
						return err
					}
					if was[0] == old {
						break
					}
				}
				if err := win.Unlock(to); err != nil {
					return err
				}
			}
			return nil
		})
		if err := allOf(err, c.Barrier()); err != nil {
			return err
		}
		at := func(i int) int64 { return int64(binary.NativeEndian.Uint64(mem[i:])) }
		if all := int64(n * rounds * each); at(8) != all || at(27) != all || mem[41] != byte(all&0xff) || mem[42] != byte(all&0xff) || at(48) != n*rounds {
			return fmt.Errorf("memory %v; %d operations each, and %d swaps", mem, all, n*rounds)
		}
		return win.Free()
	})
}

func awaitedAfter(r ompi.Request, f func() error) error { return errors.Join(f(), awaited(r)) }

// TestWindowLeft: a window that is not freed ends with Finalize, whatever is open.
func TestWindowLeft(t *testing.T) {
	plainWindows(t, 2, func(c *ompi.Comm) error {
		win, _, err := ompi.WinAllocate[int64](c, 4)
		if err != nil {
			return err
		}
		return allOf(win.LockAll(0), win.Put(ompi.Slice([]int64{1}), ompi.At(0, int64(c.Rank()))), c.Barrier())
	})
}

// TestWindowRecycles: many windows, one after the other, take nothing that they do not give back.
func TestWindowRecycles(t *testing.T) {
	plainWindows(t, 2, func(c *ompi.Comm) error {
		for k := range 60 {
			win, mem, err := ompi.WinAllocate[int64](c, 100)
			if err != nil {
				return fmt.Errorf("window %d: %w", k, err)
			}
			if mem[99] != 0 {
				return fmt.Errorf("window %d: memory is not zeroed", k)
			}
			mem[99] = 1
			if err := win.Free(); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestWindowAllocations: small operations allocate nothing.
func TestWindowAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	plainWindows(t, 1, func(c *ompi.Comm) error {
		win, _, err := ompi.WinAllocate[int64](c, 4)
		if err != nil {
			return err
		}
		g := c.Group()
		if err := win.LockAll(0); err != nil {
			return err
		}
		v, old := make([]int64, 1), make([]int64, 1)
		b, o := ompi.Slice(v), ompi.Slice(old)
		for name, f := range map[string]func() error{
			"put":   func() error { return win.Put(b, ompi.At(0, 1)) },
			"get":   func() error { return win.Get(b, ompi.At(0, 1)) },
			"fetch": func() error { return win.FetchAndOp(b, o, ompi.At(0, 1), ompi.Sum) },
			"swap":  func() error { return win.CompareAndSwap(b, b, o, ompi.At(0, 1)) },
			"flush": func() error { return win.Flush(0) },
		} {
			var failed error
			if got := testing.AllocsPerRun(100, func() { failed = errors.Join(failed, f(), win.Flush(0)) }); got > 0.5 || failed != nil {
				return fmt.Errorf("%s: %.1f allocations, %w", name, got, failed)
			}
		}
		return allOf(win.UnlockAll(), win.Post(g, 0), win.Start(g, 0), win.Complete(), win.Wait(), win.Free())
	})
}

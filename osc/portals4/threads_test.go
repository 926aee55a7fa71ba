package portals4_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestFlushBesidePuts: a flush ends though another goroutine puts without a pause.
func TestFlushBesidePuts(t *testing.T) {
	run(t, 2, func(c *ompi.Comm) error {
		w, _, err := ompi.WinAllocate[int64](c, 16)
		if err != nil {
			return err
		}
		if err := first(w.LockAll(0), c.Barrier()); err != nil {
			return err
		}
		if c.Rank() == 0 {
			var stop atomic.Bool
			var beside error
			var wg sync.WaitGroup
			wg.Go(func() {
				v := []int64{1}
				for beside == nil && !stop.Load() {
					beside = w.Put(ompi.Slice(v), ompi.At(1, 1))
				}
			})
			v := []int64{2}
			for range 20 {
				if err == nil {
					err = first(w.Put(ompi.Slice(v), ompi.At(1, 2)), w.Flush(1))
				}
			}
			stop.Store(true)
			wg.Wait()
			if err := first(err, beside); err != nil {
				return err
			}
		}
		return first(w.UnlockAll(), c.Barrier(), w.Free())
	})
}

package pt2pt_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestLongGetsSeeTheirEpoch: the memory of a target is its own again, or the next one's, when the data of long gets has left it.
func TestLongGetsSeeTheirEpoch(t *testing.T) {
	const n, rounds = 1 << 17, 30
	kinds := map[string]func(w *ompi.Win, c *ompi.Comm, get, change func() error) error{
		"fence": func(w *ompi.Win, c *ompi.Comm, get, change func() error) error {
			err := w.Fence(0)
			if c.Rank() == 0 {
				return errors.Join(err, get(), w.Fence(0))
			}
			return errors.Join(err, w.Fence(0), change())
		},
		"post": func(w *ompi.Win, c *ompi.Comm, get, change func() error) error {
			g, err := c.Group().Incl([]int{1 - c.Rank()})
			if c.Rank() == 0 {
				return errors.Join(err, w.Start(g, 0), get(), w.Complete())
			}
			return errors.Join(err, w.Post(g, 0), w.Wait(), change())
		},
		"lock": func(w *ompi.Win, c *ompi.Comm, get, change func() error) error {
			if c.Rank() == 0 {
				return errors.Join(w.Lock(ompi.LockExclusive, 1, 0), get(), w.Unlock(1), c.Barrier())
			}
			err := errors.Join(w.Lock(ompi.LockExclusive, 1, 0), change(), w.Unlock(1))
			return errors.Join(err, c.Barrier())
		},
	}
	for name, epoch := range kinds {
		t.Run(name, func(t *testing.T) {
			run(t, 2, func(c *ompi.Comm) error {
				w, mem, err := ompi.WinAllocate[int64](c, n)
				if err != nil {
					return err
				}
				got := make([]int64, n)
				for round := int64(1); round <= rounds; round++ {
					if err := c.Barrier(); err != nil {
						return err
					}
					err := epoch(w, c, func() error { return w.Get(ompi.Slice(got), ompi.At(1, 0)) }, func() error {
						for i := range mem {
							mem[i] = round
						}
						return nil
					})
					if err != nil {
						return err
					}
					if c.Rank() == 1 {
						continue
					}
					for i, v := range got {
						if v != got[0] || name != "lock" && v != round-1 {
							return fmt.Errorf("round %d: element %d is %d, and the first one %d", round, i, v, got[0])
						}
					}
				}
				return w.Free()
			})
		})
	}
}

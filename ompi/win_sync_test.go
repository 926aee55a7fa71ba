package ompi_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestWindowSyncAllocations: no epoch costs an allocation, once everything has its size.
func TestWindowSyncAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const n, rounds = 2, 100
	job(t, n, func(c *ompi.Comm) error {
		win, _, err := ompi.WinAllocate[int64](c, 4)
		if err != nil {
			return err
		}
		other, err := c.Group().Incl([]int{1 - c.Rank()})
		if err != nil {
			return err
		}
		v := make([]int64, 1)
		b, at := ompi.Slice(v), ompi.At(1-c.Rank(), 1)
		for _, epoch := range []struct {
			name string
			f    func() error
		}{
			{"fence", func() error { return errors.Join(win.Fence(0), win.Put(b, at), win.Fence(ompi.ModeNoSucceed)) }},
			{"pscw", func() error {
				return errors.Join(win.Post(other, 0), win.Start(other, 0), win.Put(b, at), win.Complete(), win.Wait())
			}},
			{"test", func() error {
				err := errors.Join(win.Post(other, 0), win.Start(other, 0), win.Put(b, at), win.Complete())
				for over := false; !over && err == nil; {
					over, err = win.Test()
				}
				return err
			}},
			{"lock", func() error {
				return errors.Join(win.Lock(ompi.LockExclusive, 1-c.Rank(), 0), win.Put(b, at), win.Flush(1-c.Rank()), win.Unlock(1-c.Rank()))
			}},
			{"lock_all", func() error {
				return errors.Join(win.LockAll(0), win.Put(b, at), win.FlushAll(), win.FlushLocalAll(), win.UnlockAll())
			}},
			{"sync", win.Sync},
		} {
			var failed error
			run := func() { failed = errors.Join(failed, epoch.f()) }
			for range rounds {
				run()
			}
			if err := errors.Join(failed, c.Barrier()); err != nil {
				return fmt.Errorf("%s: %w", epoch.name, err)
			}
			got := 0.0
			if c.Rank() == 0 { // counts what both allocate
				got = testing.AllocsPerRun(rounds, run)
			} else {
				for range rounds + 1 {
					run()
				}
			}
			if err := errors.Join(failed, c.Barrier()); err != nil || got >= 1 {
				return fmt.Errorf("%s: %.1f allocations, %w", epoch.name, got, err)
			}
		}
		return win.Free()
	})
}

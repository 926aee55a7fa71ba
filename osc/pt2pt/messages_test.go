package pt2pt_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// sent gives how many messages this rank has sent, by kind.
func sent(c *ompi.Comm) (map[string]int, error) {
	families, err := c.Instance().Metrics().Gather()
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for _, f := range families {
		if f.GetName() != "ompi_osc_pt2pt_messages_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "kind" && m.GetCounter().GetValue() != 0 {
					out[l.GetValue()] += int(m.GetCounter().GetValue())
				}
			}
		}
	}
	return out, nil
}

// TestMessages counts what an epoch of rank 1 at rank 0 costs at either end.
func TestMessages(t *testing.T) {
	type kinds = map[string]int
	var one, old, next [1]int64
	large := make([]int64, 1<<14)
	put := func(w *ompi.Win) error { return w.Put(ompi.Slice(one[:]), ompi.At(0, 0)) }
	fop := func(w *ompi.Win) error {
		return w.FetchAndOp(ompi.Slice(one[:]), ompi.Slice(old[:]), ompi.At(0, 1), ompi.Sum)
	}
	lock := func(w *ompi.Win) error { return w.Lock(ompi.LockExclusive, 0, 0) }
	unlock := func(w *ompi.Win) error { return w.Unlock(0) }
	flush := func(w *ompi.Win) error { return w.Flush(0) }
	type call = func(*ompi.Win) error
	for _, x := range []struct {
		name             string
		piggyback        string
		calls            []call
		origin, atTarget kinds
	}{
		// As CH3 and the RCKMPI paper count them: the request, the grant, the operation with the unlock, and its acknowledgement.
		{"lock, put, unlock", "false", []call{lock, put, unlock}, kinds{"operations": 2}, kinds{"answers": 2}},
		{"lock, put, unlock in one", "true", []call{lock, put, unlock}, kinds{"operations": 1}, kinds{"answers": 1}},
		{"lock, fetch, unlock in one", "true", []call{lock, fop, unlock}, kinds{"operations": 1}, kinds{"answers": 1}},
		{"lock, unlock", "true", []call{lock, unlock}, kinds{"operations": 1}, kinds{"answers": 1}},
		{"many puts in one", "true", []call{lock, put, put, put, fop, put, unlock}, kinds{"operations": 1}, kinds{"answers": 1}},
		{"flushes", "true", []call{lock, put, flush, put, flush, flush, unlock}, kinds{"operations": 3}, kinds{"answers": 2}},
		{"fetch and flush", "true", []call{lock, fop, flush, flush, unlock}, kinds{"operations": 2}, kinds{"answers": 1}},
		{"nobody to ask", "true", []call{func(w *ompi.Win) error { return w.Lock(ompi.LockShared, 0, ompi.ModeNoCheck) }, put, unlock}, kinds{"operations": 1}, kinds{"answers": 1}},
		{"lock_all", "true", []call{func(w *ompi.Win) error { return w.LockAll(0) }, fop, flush, fop, flush, put, (*ompi.Win).UnlockAll}, kinds{"operations": 3}, kinds{"answers": 3}},
		{"long put", "true", []call{lock, func(w *ompi.Win) error { return w.Put(ompi.Slice(large), ompi.At(0, 0)) }, unlock}, kinds{"operations": 2, "data": 1}, kinds{"answers": 2}},
		{"swap", "true", []call{lock, func(w *ompi.Win) error {
			return w.CompareAndSwap(ompi.Slice(next[:]), ompi.Slice(one[:]), ompi.Slice(old[:]), ompi.At(0, 1))
		}, flush, put, unlock}, kinds{"operations": 2}, kinds{"answers": 2}},
	} {
		t.Run(x.name, func(t *testing.T) {
			err := ompi.Run(t.Context(), 2, func(c *ompi.Comm) error {
				w, _, err := ompi.WinAllocate[int64](c, len(large))
				if err != nil {
					return err
				}
				before, err := sent(c)
				if err := errors.Join(err, c.Barrier()); err != nil {
					return err
				}
				if c.Rank() == 1 {
					for _, f := range x.calls {
						if err := f(w); err != nil {
							return err
						}
					}
				}
				if err := c.Barrier(); err != nil {
					return err
				}
				after, err := sent(c)
				if err != nil {
					return err
				}
				for k, n := range before {
					if after[k] -= n; after[k] == 0 {
						delete(after, k)
					}
				}
				want := x.atTarget
				if c.Rank() == 1 {
					want = x.origin
				}
				if !maps.Equal(after, want) {
					return fmt.Errorf("rank %d sent %v, not %v", c.Rank(), after, want)
				}
				return w.Free()
			}, ompi.WithParam("osc", "pt2pt"), ompi.WithParam("osc_pt2pt_piggyback", x.piggyback))
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPostStartMessages: a post, and one message with the operations and the word that they are all.
func TestPostStartMessages(t *testing.T) {
	err := ompi.Run(t.Context(), 2, func(c *ompi.Comm) error {
		w, _, err := ompi.WinAllocate[int64](c, 2)
		if err != nil {
			return err
		}
		g, err := c.Group().Incl([]int{1 - c.Rank()})
		if err != nil {
			return err
		}
		for range 3 {
			if c.Rank() == 0 {
				err = errors.Join(w.Post(g, 0), w.Wait())
			} else {
				err = errors.Join(w.Start(g, 0), w.Put(ompi.Slice([]int64{1}), ompi.At(0, 0)), w.Complete())
			}
			if err != nil {
				return err
			}
		}
		n, err := sent(c)
		want := map[string]int{"posts": 3}
		if c.Rank() == 1 {
			want = map[string]int{"operations": 3}
		}
		if !maps.Equal(n, want) {
			err = errors.Join(err, fmt.Errorf("rank %d sent %v, not %v", c.Rank(), n, want))
		}
		return errors.Join(err, w.Free())
	}, ompi.WithParam("osc", "pt2pt"))
	if err != nil {
		t.Error(err)
	}
}

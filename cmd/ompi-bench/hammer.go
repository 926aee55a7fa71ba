package main

import (
	"fmt"
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
	"github.com/ompi-go/ompi-go/ompi"
)

// hammer lets all ranks work on one 64-bit number of rank 0: by fetch-and-op, and by a get and a put under one exclusive lock. The total must be exact.
// It gives the operations a second of all together, and of a single operation the median, the longest time and how much longer that is: a rank that
// starves would show there.
func (b *bench) hammer() ([]report.Row, error) {
	items := []named{{"fetch_and_op", int64(b.ranks)}, {"exclusive_lock", int64(b.ranks)}}
	return rows(b, items, func(x named) (report.Row, error) {
		loop, _ := b.test.Loop(0, b.cmd.params)
		strike, done, err := b.striker(x.name)
		if err != nil {
			return report.Row{}, err
		}
		if _, _, err := b.strikes(strike, loop.Warmup); err != nil {
			return report.Row{}, err
		}
		times, seconds, err := b.strikes(strike, loop.Iterations)
		if err != nil {
			return report.Row{}, err
		}
		if err := done(); err != nil {
			return report.Row{}, err
		}
		if err := b.checkTotal(x.name, loop.Warmup+loop.Iterations); err != nil {
			return report.Row{}, err
		}
		all := make([]float64, len(times)*b.ranks)
		if err := b.world.Gather(ompi.Slice(times), ompi.Slice(all), 0); err != nil {
			return report.Row{}, err
		}
		row := report.NewRow(x.n, b.test.Unit, []float64{float64(b.ranks*loop.Iterations) / seconds})
		row.Case = x.name
		if b.rank == 0 {
			waits := report.Summarise(all)
			row.More = map[string]float64{suite.MedianUs: waits.Median, suite.MaxUs: waits.Max, suite.MaxMedian: waits.Max / max(waits.Median, 1e-3)}
		}
		return row, nil
	})
}

// striker gives one operation, and what ends its epoch.
func (b *bench) striker(name string) (strike, done func() error, err error) {
	w := b.win
	if name == "fetch_and_op" {
		*word(b.send) = 1
		add := b.remote(8, 0)
		strike = func() error {
			if err := add(); err != nil {
				return err
			}
			return w.Flush(0)
		}
		return strike, w.UnlockAll, w.LockAll(0)
	}
	number := word(b.send)
	at, value := ompi.At(0, w.begins[0]), ompi.Value(number)
	increment := func() error {
		if err := w.Get(value, at); err != nil {
			return err
		}
		if err := w.Flush(0); err != nil {
			return err
		}
		*number++
		return w.Put(value, at)
	}
	strike = func() error { return b.locking(increment, ompi.LockExclusive, 0, 1) }
	return strike, func() error { return nil }, nil
}

// strikes gives the microseconds of each operation of this rank, and the seconds that all ranks took together.
func (b *bench) strikes(strike func() error, n int) (times []float64, seconds float64, err error) {
	times = make([]float64, 0, n)
	if err := b.world.Barrier(); err != nil {
		return nil, 0, err
	}
	began := time.Now()
	for range n {
		start := time.Now()
		if err := strike(); err != nil {
			return nil, 0, err
		}
		times = append(times, micros(start, 1))
	}
	if err := b.world.Barrier(); err != nil {
		return nil, 0, err
	}
	return times, time.Since(began).Seconds(), nil
}

// checkTotal reads the number, as every rank may, and puts it back to zero.
func (b *bench) checkTotal(name string, each int) error {
	w := b.win
	if err := b.world.Barrier(); err != nil {
		return err
	}
	if b.rank == 0 {
		got := int64(0)
		if err := w.Lock(ompi.LockExclusive, 0, 0); err != nil {
			return err
		}
		if err := w.Get(ompi.Value(&got), ompi.At(0, w.begins[0])); err != nil {
			return err
		}
		if err := w.Flush(0); err != nil {
			return err
		}
		zero := int64(0)
		if err := w.Put(ompi.Value(&zero), ompi.At(0, w.begins[0])); err != nil {
			return err
		}
		if err := w.Unlock(0); err != nil {
			return err
		}
		if want := int64(b.ranks) * int64(each); got != want {
			return fmt.Errorf("hammer: %s: the number is %d after %d operations of each of %d ranks, want %d", name, got, each, b.ranks, want)
		}
	}
	return b.world.Barrier()
}

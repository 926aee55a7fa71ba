package main

import (
	"math"
	"slices"
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
	"github.com/ompi-go/ompi-go/ompi"
)

const (
	// chunk is how long the target of the test passive computes between two looks into the library.
	chunk = 100 * time.Millisecond
	// pause is how long the origin waits before each operation, so that what serves the target may have gone to sleep.
	pause = 2 * time.Millisecond
	// endPassive is the tag by which the origin tells that it is through.
	endPassive = 30
)

// passive is rank 0's time of a put and a flush to rank 1, which computes in chunks of 100 ms without a call of the library, and beside it the
// same while rank 1 waits inside: medians and 99th percentiles in microseconds.
func (b *bench) passive() ([]report.Row, error) {
	sizes := b.test.Sizes(b.cmd.params)
	return rows(b, sizes, func(size int64) (report.Row, error) {
		loop, _ := b.test.Loop(size, b.cmd.params)
		polled, err := b.putsToBusy(int(size), loop, b.waitInside)
		if err != nil {
			return report.Row{}, err
		}
		computing, err := b.putsToBusy(int(size), loop, b.computeChunks)
		row := report.NewRow(size, b.test.Unit, computing)
		if b.rank == 0 && err == nil {
			row.More = map[string]float64{
				suite.P99: percentile(computing, 0.99), suite.Polled: report.Summarise(polled).Median, suite.PolledP99: percentile(polled, 0.99),
			}
		}
		return row, err
	})
}

// percentile gives the least value that the part p of all does not exceed.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	return v[max(0, int(math.Ceil(p*float64(len(v))))-1)]
}

// putsToBusy takes the times at rank 0 while rank 1 is busy with what it is given.
func (b *bench) putsToBusy(size int, loop suite.Loop, busy func() error) ([]float64, error) {
	if err := b.world.Barrier(); err != nil {
		return nil, err
	}
	var times []float64
	var err error
	switch b.rank {
	case 0:
		if times, err = b.samplePuts(size, loop); err == nil {
			err = b.world.Send(ompi.Slice(b.send[:1]), 1, endPassive)
		}
	case 1:
		err = busy()
	}
	if err != nil {
		return nil, err
	}
	return times, b.world.Barrier()
}

func (b *bench) samplePuts(size int, loop suite.Loop) (times []float64, err error) {
	w := b.win
	if err := w.LockAll(0); err != nil {
		return nil, err
	}
	defer func() { err = firstOf(err, w.UnlockAll()) }()
	put := b.remote(size, 1)
	times = make([]float64, 0, loop.Iterations)
	for i := range loop.Warmup + loop.Iterations {
		time.Sleep(pause)
		start := time.Now()
		if err := put(); err != nil {
			return nil, err
		}
		if err := w.Flush(1); err != nil {
			return nil, err
		}
		if i >= loop.Warmup {
			times = append(times, micros(start, 1))
		}
	}
	return times, nil
}

// waitInside is the target that polls: it waits in the library until the origin is through.
func (b *bench) waitInside() error {
	_, err := b.world.Recv(ompi.Slice(b.recv[:1]), 0, endPassive)
	return err
}

// computeChunks is the target that computes, and looks into the library after every chunk only.
func (b *bench) computeChunks() error {
	for {
		x := 1.0
		for end := time.Now().Add(chunk); time.Now().Before(end); {
			for range 2000 {
				x = x*1.0000001 + 1e-9
			}
		}
		b.sink += x
		_, there, err := b.world.Iprobe(0, endPassive)
		if err != nil {
			return err
		}
		if there {
			return b.waitInside()
		}
	}
}

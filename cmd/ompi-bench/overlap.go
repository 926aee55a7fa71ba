package main

import (
	"math"
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
	"github.com/ompi-go/ompi-go/ompi"
)

// overlaps measures a non-blocking collective, or an exchange of messages, of every size as OSU does: alone, then with as long a computation between its start and
// the wait for it. Overlap is the part of the communication that is hidden behind the computation, in per cent.
func (b *bench) overlaps() ([]report.Row, error) {
	stepsPerMicro, err := b.calibrate()
	if err != nil {
		return nil, err
	}
	return rows(b, b.test.Sizes(b.cmd.params), func(size int64) (report.Row, error) { return b.overlap(size, stepsPerMicro) })
}

func (b *bench) overlap(size int64, stepsPerMicro float64) (report.Row, error) {
	alone, err := b.repeat((*bench).collective, size)
	if err != nil {
		return report.Row{}, err
	}
	pure := report.Summarise(alone).Median
	if err := b.world.Bcast(ompi.Value(&pure), 0); err != nil { // only rank 0 knows the mean; all compute as long
		return report.Row{}, err
	}
	steps := int(pure * stepsPerMicro)
	var computed []float64
	together, err := b.repeat(func(b *bench, size, iterations int) (float64, error) {
		overall, compute, err := b.beside(size, iterations, steps)
		computed = append(computed, compute)
		return overall, err
	}, size)
	if err != nil {
		return report.Row{}, err
	}
	row := report.NewRow(size, b.test.Unit, together)
	compute := report.Summarise(computed[len(computed)-len(together):]).Median // the first may be of the warm-up
	hidden := 0.0
	if pure > 0 {
		hidden = 100 * (1 - (row.Value-compute)/pure)
	}
	columns := suite.OverlapColumns()
	row.More = map[string]float64{columns[0]: compute, columns[1]: pure, columns[2]: min(max(hidden, 0), 100)}
	return row, nil
}

// beside gives the microseconds of one iteration with a computation of so many steps, and those of the computation in it.
func (b *bench) beside(size, iterations, steps int) (overall, compute float64, err error) {
	begin, wait, err := b.nonBlocking(size)
	if err != nil {
		return 0, 0, err
	}
	var spent time.Duration
	overall, err = b.timed(iterations, func() error {
		begin()
		start := time.Now()
		b.sink = spin(b.sink, steps)
		spent += time.Since(start)
		return wait()
	})
	if err != nil {
		return 0, 0, err
	}
	compute, err = b.mean(spent.Seconds()*1e6/float64(iterations), b.ranks)
	return overall, compute, err
}

// nonBlocking gives what begins the communication of a test of overlap and what waits for it. Of the test that bears this name it is a
// message to the other rank of the pair, and one from it.
func (b *bench) nonBlocking(size int) (begin func(), wait func() error, err error) {
	if b.test.Form == suite.NonBlocking {
		comm, err := b.comm()
		of, a := b.of(), b.arguments(size)
		var req ompi.Request
		return func() { req = of.start(comm, a) }, func() error {
			_, err := req.Wait()
			return err
		}, err
	}
	const tag = 100
	peer, _ := b.pair()
	reqs, out, in := b.reqs[:2], ompi.Slice(b.send[:size]), ompi.Slice(b.recv[:size])
	return func() {
		reqs[0] = b.world.Irecv(in, peer, tag)
		reqs[1] = b.world.Isend(out, peer, tag)
	}, func() error { return ompi.WaitAll(reqs...) }, nil
}

// spin computes for a time that grows with the number of steps, each of which needs the result of the one before.
func spin(x float64, steps int) float64 {
	for range steps {
		x = x*0.999999 + 1e-6
	}
	return x
}

// calibrate finds how many steps a microsecond has: the most of several trials of all ranks, since a disturbance only slows.
func (b *bench) calibrate() (float64, error) {
	const steps, trials = 100_000, 10
	if err := b.world.Barrier(); err != nil {
		return 0, err
	}
	best := math.Inf(1)
	for range trials {
		start := time.Now()
		b.sink = spin(b.sink, steps)
		best = min(best, micros(start, steps))
	}
	rate, most := 1/best, 0.0
	err := b.world.Allreduce(ompi.Value(&rate), ompi.Value(&most), ompi.Max)
	return most, err
}

// recvOverlaps measures what a receiver that computes hides of one receive: rank 1 posts it, computes ten times as long as the receive alone takes without
// calling the library, and waits; rank 0 sends and sleeps. Others look on. It is what application bypass is for (pml cm), and asynchronous progress.
func (b *bench) recvOverlaps() ([]report.Row, error) {
	stepsPerMicro, err := b.calibrate()
	if err != nil {
		return nil, err
	}
	return rows(b, b.test.Sizes(b.cmd.params), func(size int64) (report.Row, error) { return b.recvOverlap(size, stepsPerMicro) })
}

func (b *bench) recvOverlap(size int64, stepsPerMicro float64) (report.Row, error) {
	alone, err := b.repeat(func(b *bench, size, iterations int) (float64, error) {
		overall, _, err := b.received(size, iterations, 0, 0)
		return overall, err
	}, size)
	if err != nil {
		return report.Row{}, err
	}
	pure := report.Summarise(alone).Median
	if err := b.world.Bcast(ompi.Value(&pure), 0); err != nil {
		return report.Row{}, err
	}
	steps, nap := int(10*pure*stepsPerMicro), time.Duration(40*pure*1e3)
	var computed []float64
	together, err := b.repeat(func(b *bench, size, iterations int) (float64, error) {
		overall, compute, err := b.received(size, iterations, steps, nap)
		computed = append(computed, compute)
		return overall, err
	}, size)
	if err != nil {
		return report.Row{}, err
	}
	row := report.NewRow(size, b.test.Unit, together)
	compute := report.Summarise(computed[len(computed)-len(together):]).Median
	columns := suite.OverlapColumns()
	row.More = map[string]float64{columns[0]: compute, columns[1]: pure, columns[2]: min(max(100*(1-(row.Value-compute)/pure), 0), 100)}
	return row, nil
}

// received gives the microseconds of a receive with so many steps of computation, at the receiver, and those of the computation. The sender
// sleeps for nap once it has begun.
func (b *bench) received(size, iterations, steps int, nap time.Duration) (overall, compute float64, err error) {
	const tag, told = 101, 102
	var times [2]float64
	for range iterations {
		if err := b.world.Barrier(); err != nil {
			return 0, 0, err
		}
		if b.world.Rank() > 1 {
			continue
		}
		if b.world.Rank() == 0 {
			req := b.world.Isend(ompi.Slice(b.send[:size]), 1, tag)
			if nap > 0 {
				time.Sleep(nap)
			}
			if _, err := req.Wait(); err != nil {
				return 0, 0, err
			}
			continue
		}
		start := time.Now()
		req := b.world.Irecv(ompi.Slice(b.recv[:size]), 0, tag)
		begun := time.Now()
		b.sink = spin(b.sink, steps)
		times[1] += micros(begun, iterations)
		if _, err := req.Wait(); err != nil {
			return 0, 0, err
		}
		times[0] += micros(start, iterations)
	}
	switch b.world.Rank() {
	case 0:
		_, err = b.world.Recv(ompi.Slice(times[:]), 1, told)
	case 1:
		err = b.world.Send(ompi.Slice(times[:]), 0, told)
	}
	return times[0], times[1], err
}

package main

import (
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
)

// collective gives the measurement of a collective, or of the exchange of overlap: microseconds a call, mean over the ranks.
func (b *bench) collective(size, iterations int) (float64, error) {
	once, done, err := b.operation(size)
	if err != nil {
		return 0, err
	}
	mean, err := b.timed(iterations, once)
	if err != nil {
		return 0, err
	}
	return mean, done()
}

// operation makes what one iteration does, and what is to be done after the last.
func (b *bench) operation(size int) (once, done func() error, err error) {
	nothing := func() error { return nil }
	if b.test.Overlap {
		start, wait, err := b.nonBlocking(size)
		return func() error {
			start()
			return wait()
		}, nothing, err
	}
	of, a := b.of(), b.arguments(size)
	comm, err := b.comm()
	if err != nil {
		return nil, nil, err
	}
	if b.test.Form == suite.Persistent {
		req := of.prepare(comm, a)
		return func() error {
			if err := req.Start(); err != nil {
				return err
			}
			_, err := req.Wait()
			return err
		}, req.Free, nil
	}
	return func() error { return of.call(comm, a) }, nothing, nil
}

// of is the test's collective.
func (b *bench) of() collective { return collectives()[b.test.Collective.Name] }

// timed gives the microseconds of one iteration, mean over the ranks. Where ranks may run ahead, which would hide the time until the
// last one is done, and in tests of overlap, an untimed barrier follows every iteration.
func (b *bench) timed(iterations int, once func() error) (float64, error) {
	apart := b.test.Overlap || b.of().ahead
	if !apart {
		start := time.Now()
		for range iterations {
			if err := once(); err != nil {
				return 0, err
			}
		}
		return b.mean(micros(start, iterations), b.ranks)
	}
	var spent time.Duration
	for range iterations {
		start := time.Now()
		if err := once(); err != nil {
			return 0, err
		}
		spent += time.Since(start)
		if err := b.world.Barrier(); err != nil {
			return 0, err
		}
	}
	return b.mean(spent.Seconds()*1e6/float64(iterations), b.ranks)
}

package main

import (
	"fmt"
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
	"github.com/ompi-go/ompi-go/ompi"
)

// rmaLatency is the time of an operation of rank 0 on rank 1's memory together with its share of the synchronisation, in microseconds.
func (b *bench) rmaLatency(size, iterations int) (float64, error) {
	calls := b.win.o.Calls
	seconds, turns, err := b.operations(size, iterations, calls)
	return seconds * 1e6 / float64(turns*iterations*calls), err
}

// rmaBandwidth streams windows of operations from rank 0, each window with a synchronisation, in MB/s of 1,000,000 bytes.
func (b *bench) rmaBandwidth(size, iterations int) (float64, error) {
	calls := b.rmaWindow()
	seconds, turns, err := b.operations(size, iterations, calls)
	if err != nil || b.rank != 0 {
		return 0, err
	}
	return float64(size) * float64(calls) * float64(iterations) * float64(turns) / 1e6 / seconds, err
}

// rmaWindow is the number of operations between two synchronisations of the bandwidth tests.
func (b *bench) rmaWindow() int {
	if b.cmd.params.OneSided.Calls > 0 {
		return b.cmd.params.OneSided.Calls
	}
	return suite.Window
}

// operations times iterations of calls and a synchronisation. turns: how often an iteration has both; with a fence or post, start, complete and wait
// rank 1 answers with the same, since a rank that only exposes its memory would run ahead. Ranks from 2 on take part in fences only.
func (b *bench) operations(size, iterations, calls int) (seconds float64, turns int, err error) {
	do := func() error { return nil }
	if b.rank < 2 {
		do = batch(b.remote(size, 1-b.rank), calls)
	}
	switch b.win.o.Sync {
	case suite.SyncFence:
		seconds, err = b.win.fenced(func() error { return b.fences(do, iterations) })
		return seconds, 2, err
	case suite.SyncPSCW:
		start := time.Now()
		if b.rank < 2 {
			err = b.postAndStart(do, iterations)
		}
		return time.Since(start).Seconds(), 2, err
	}
	if b.rank == 0 {
		seconds, err = b.passively(do, iterations)
	}
	return seconds, 1, err
}

// fenced times what works with fences, between a first and a last one.
func (w *window) fenced(run func() error) (seconds float64, err error) {
	if err := w.Fence(ompi.ModeNoPrecede); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := run(); err != nil {
		return 0, err
	}
	seconds = time.Since(start).Seconds()
	return seconds, w.Fence(ompi.ModeNoSucceed)
}

// fences: rank 0's turn, then rank 1's.
func (b *bench) fences(do func() error, iterations int) error {
	w, first, second := b.win, b.rank == 0, b.rank == 1
	for range iterations {
		if first {
			if err := do(); err != nil {
				return err
			}
		}
		if err := w.Fence(0); err != nil {
			return err
		}
		if second {
			if err := do(); err != nil {
				return err
			}
		}
		if err := w.Fence(0); err != nil {
			return err
		}
	}
	return nil
}

// fencing: all ranks at once.
func (w *window) fencing(do func() error, iterations int) error {
	for range iterations {
		if err := do(); err != nil {
			return err
		}
		if err := w.Fence(0); err != nil {
			return err
		}
	}
	return nil
}

// postAndStart: ranks 0 and 1 are origin and target in turns.
func (b *bench) postAndStart(do func() error, iterations int) error {
	w := b.win
	act := func() error {
		if err := w.Start(w.others, 0); err != nil {
			return err
		}
		if err := do(); err != nil {
			return err
		}
		return w.Complete()
	}
	expose := func() error {
		if err := w.Post(w.others, 0); err != nil {
			return err
		}
		return w.Wait()
	}
	one, two := act, expose
	if b.rank == 1 {
		one, two = expose, act
	}
	for range iterations {
		if err := one(); err != nil {
			return err
		}
		if err := two(); err != nil {
			return err
		}
	}
	return nil
}

// passively: rank 0 acts, rank 1 does not take part. An epoch around all iterations is begun and ended outside the measured time.
func (b *bench) passively(do func() error, iterations int) (seconds float64, err error) {
	w := b.win
	const target = 1
	switch w.o.Sync {
	case suite.SyncFlush, suite.SyncFlushLocal:
		if err := w.Lock(ompi.LockShared, target, 0); err != nil {
			return 0, err
		}
		defer func() { err = firstOf(err, w.Unlock(target)) }()
	case suite.SyncLockAllFlush:
		if err := w.LockAll(0); err != nil {
			return 0, err
		}
		defer func() { err = firstOf(err, w.UnlockAll()) }()
	}
	start := time.Now()
	switch w.o.Sync {
	case suite.SyncLock:
		err = b.locking(do, ompi.LockShared, target, iterations)
	case suite.SyncLockAll:
		err = b.lockingAll(do, iterations)
	case suite.SyncFlush, suite.SyncLockAllFlush:
		err = b.flushing(do, target, iterations)
	case suite.SyncFlushLocal:
		for range iterations {
			if err = do(); err == nil {
				err = w.FlushLocal(target)
			}
			if err != nil {
				break
			}
		}
	default:
		err = fmt.Errorf("no synchronisation %q", w.o.Sync)
	}
	return time.Since(start).Seconds(), err
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (b *bench) flushing(do func() error, target, iterations int) error {
	w := b.win
	for range iterations {
		if err := do(); err != nil {
			return err
		}
		if err := w.Flush(target); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) locking(do func() error, kind ompi.LockType, target, iterations int) error {
	w := b.win
	for range iterations {
		if err := w.Lock(kind, target, 0); err != nil {
			return err
		}
		if err := do(); err != nil {
			return err
		}
		if err := w.Unlock(target); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) lockingAll(do func() error, iterations int) error {
	w := b.win
	for range iterations {
		if err := w.LockAll(0); err != nil {
			return err
		}
		if err := do(); err != nil {
			return err
		}
		if err := w.UnlockAll(); err != nil {
			return err
		}
	}
	return nil
}

// putBibw: ranks 0 and 1 put windows into each other's memory at once; both directions count.
func (b *bench) putBibw(size, iterations int) (float64, error) {
	w, calls := b.win, b.rmaWindow()
	do := func() error { return nil }
	if b.rank < 2 {
		do = batch(b.remote(size, 1-b.rank), calls)
	}
	var seconds float64
	var err error
	if w.o.Sync == suite.SyncFence {
		seconds, err = w.fenced(func() error { return w.fencing(do, iterations) })
	} else if b.rank < 2 {
		start := time.Now()
		err = w.exchanging(w.others, do, iterations)
		seconds = time.Since(start).Seconds()
	}
	if err != nil || b.rank != 0 {
		return 0, err
	}
	return 2 * float64(size) * float64(calls) * float64(iterations) / 1e6 / seconds, nil
}

// exchanging: epochs that are exposure and access at once, to and from the same ranks.
func (w *window) exchanging(with *ompi.Group, do func() error, iterations int) error {
	for range iterations {
		if err := w.Post(with, 0); err != nil {
			return err
		}
		if err := w.Start(with, 0); err != nil {
			return err
		}
		if err := do(); err != nil {
			return err
		}
		if err := w.Complete(); err != nil {
			return err
		}
		if err := w.Wait(); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"strings"
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
	"github.com/ompi-go/ompi-go/ompi"
)

// epochBytes is what a put of the tests of synchronisation brings.
const epochBytes = 8

// syncEpoch is the microseconds of an epoch with so many puts of eight bytes, each rank's to a place of its own, mean over the ranks that have it:
//
//	fence           all ranks, each puts to its right neighbour
//	pscw            all ranks post to and start with both neighbours on the ring, and put to the right one
//	lock_exclusive  all ranks but 0 race for the lock of rank 0
//	lock_shared     all ranks but 0 share it
//	lock_all        all ranks but 0 lock all, and put to rank 0
//	flush           rank 1, inside one lock of all, puts to and flushes rank 0; the others wait in a barrier
func (b *bench) syncEpoch(puts, iterations int) (float64, error) {
	return b.epoch(strings.TrimPrefix(b.test.Name, "sync_"), puts, iterations)
}

func (b *bench) epoch(kind string, puts, iterations int) (float64, error) {
	w := b.win
	target, actors := 0, b.ranks-1
	switch {
	case kind == "fence" || kind == "pscw":
		target, actors = (b.rank+1)%b.ranks, b.ranks
	case kind == "flush":
		actors = 1
	}
	mine, err := 0.0, error(nil)
	if actors == b.ranks || b.rank > 0 && b.rank <= actors {
		mine, err = w.timeEpochs(b, kind, target, batch(b.remoteAt(epochBytes, target, b.rank*epochBytes), puts), iterations)
	}
	if err != nil {
		return 0, err
	}
	return b.mean(mine, actors)
}

// timeEpochs gives microseconds an epoch.
func (w *window) timeEpochs(b *bench, kind string, target int, do func() error, iterations int) (us float64, err error) {
	if kind == "fence" {
		seconds, err := w.fenced(func() error { return w.fencing(do, iterations) })
		return seconds * 1e6 / float64(iterations), err
	}
	if kind == "flush" {
		if err := w.LockAll(0); err != nil {
			return 0, err
		}
		defer func() { err = firstOf(err, w.UnlockAll()) }()
	}
	start := time.Now()
	switch kind {
	case "pscw":
		err = w.exchanging(w.ring, do, iterations)
	case "lock_exclusive":
		err = b.locking(do, ompi.LockExclusive, target, iterations)
	case "lock_shared":
		err = b.locking(do, ompi.LockShared, target, iterations)
	case "lock_all":
		err = b.lockingAll(do, iterations)
	case "flush":
		err = b.flushing(do, target, iterations)
	}
	return micros(start, iterations), err
}

// named is a row that has a name beside its number.
type named struct {
	name string
	n    int64
}

// syncs measures every synchronisation.
func (b *bench) syncs() ([]report.Row, error) {
	var items []named
	for _, kind := range suite.Epochs() {
		for _, puts := range b.test.Sizes(b.cmd.params) {
			items = append(items, named{kind, puts})
		}
	}
	return rows(b, items, func(x named) (report.Row, error) {
		values, err := b.repeat(func(b *bench, puts, iterations int) (float64, error) { return b.epoch(x.name, puts, iterations) }, x.n)
		row := report.NewRow(x.n, b.test.Unit, values)
		row.Case = x.name
		return row, err
	})
}

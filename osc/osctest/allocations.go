package osctest

import (
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

func allocationCases() []suite {
	return []suite{{"Allocations", 2, testAllocations, anyFlavor}}
}

// testAllocations: operations and flushes allocate nothing once all pools are filled.
func testAllocations(r *rank) {
	if raceEnabled {
		return // the race detector allocates
	}
	r.flavors(1<<16, 8, func(w *window) {
		v, old, compare := int64(1), int64(0), int64(0)
		big := make([]byte, 1<<15)
		// Buffers and places are made once: what is looked at is what an operation costs.
		one, result, expect, block := ompi.Value(&v), ompi.Value(&old), ompi.Value(&compare), ompi.Slice(big)
		at, away := w.at(0, 8), w.at(0, 64)
		var failure error
		keep := func(err error) {
			if err != nil && failure == nil {
				failure = err
			}
		}
		calls := []struct {
			name string
			f    func()
		}{
			{"Put", func() { keep(w.Put(one, at)); keep(w.Flush(0)) }},
			{"Get", func() { keep(w.Get(result, at)); keep(w.Flush(0)) }},
			{"Put of 32 KiB", func() { keep(w.Put(block, away)); keep(w.Flush(0)) }},
			{"Get of 32 KiB", func() { keep(w.Get(block, away)); keep(w.Flush(0)) }},
			{"Accumulate", func() { keep(w.Accumulate(one, at, ompi.Sum)); keep(w.Flush(0)) }},
			{"GetAccumulate", func() { keep(w.GetAccumulate(one, result, at, ompi.Sum)); keep(w.Flush(0)) }},
			{"FetchAndOp", func() { keep(w.FetchAndOp(one, result, at, ompi.Sum)); keep(w.Flush(0)) }},
			{"CompareAndSwap", func() { keep(w.CompareAndSwap(one, expect, result, at)); keep(w.Flush(0)) }},
			{"FlushAll", func() { keep(w.Put(one, at)); keep(w.FlushAll()) }},
			{"FlushLocal", func() { keep(w.Put(one, at)); keep(w.FlushLocal(0)); keep(w.FlushLocalAll()) }},
			{"Rput", func() { _, err := w.Rput(one, at).Wait(); keep(err) }},
			{"Rget", func() { _, err := w.Rget(result, at).Wait(); keep(err) }},
		}
		ok(w.LockAll(0))
		r.barrier()
		if r.me == 1 {
			for _, c := range calls {
				for range 100 {
					c.f()
				}
				ok(failure)
				allocs := fewestAllocations(c.f)
				ok(failure)
				that(allocs == 0, "%v: %s: %v allocations", w.flavor, c.name, allocs)
			}
			locks := func() { keep(w.Lock(ompi.LockExclusive, 0, 0)); keep(w.Put(one, at)); keep(w.Unlock(0)) }
			ok(w.UnlockAll())
			for range 100 {
				locks()
			}
			allocs := fewestAllocations(locks)
			ok(failure)
			that(allocs == 0, "%v: Lock, Put, Unlock: %v allocations", w.flavor, allocs)
		} else {
			ok(w.UnlockAll())
		}
		r.barrier()
	})
}

// fewestAllocations is what one call allocates at best: pools still grow in the first runs when the other rank answers late, and others of the process allocate, too.
func fewestAllocations(f func()) float64 {
	fewest := testing.AllocsPerRun(20, f)
	for try := 0; fewest > 0 && try < 20; try++ {
		fewest = min(fewest, testing.AllocsPerRun(20, f))
	}
	return fewest
}

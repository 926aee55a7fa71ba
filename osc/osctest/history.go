package osctest

import (
	"math/rand/v2"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

func linearCases() []suite {
	return []suite{{"Linearizable", 0, testLinearizable, anyFlavor}, {"LockedTransactions", 0, testTransactions, anyFlavor}}
}

// now is a clock that all processes of a host share, in nanoseconds.
func now() int64 {
	var ts unix.Timespec
	ok(unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts))
	return ts.Nano()
}

// places are the words that histories are about. Concurrent accumulates to one place use the same operation or NoOp, as the default of accumulate_ops has it.
const (
	sumPlace = iota
	replacePlace
	swapPlace
	mixedPlaces
)

// testLinearizable: seeded programs of atomics by all ranks and goroutines, whose results must be explained by one order for each place.
func testLinearizable(r *rank) {
	const threads, batches = 2, 8
	for seed := range r.cfg.Seeds {
		r.flavors(8*mixedPlaces, 8, func(w *window) {
			history := make([][mixedPlaces][]event, threads)
			lock := func(f func()) { ok(w.LockAll(0)); f(); ok(w.UnlockAll()) }
			if seed%2 == 1 {
				lock = func(f func()) {
					for t := range r.n {
						ok(w.Lock(ompi.LockShared, t, 0))
					}
					f()
					for t := range r.n {
						ok(w.Unlock(t))
					}
				}
			}
			r.barrier()
			lock(func() {
				r.threads(threads, func(k int) {
					rng := rand.New(rand.NewPCG(uint64(seed), uint64(r.me*threads+k)))
					for range batches {
						batch(w, rng, r.me*threads+k, &history[k])
					}
				})
			})
			r.barrier()
			for p := range mixedPlaces {
				var mine []event
				for k := range threads {
					mine = append(mine, history[k][p]...)
				}
				all := gatherEvents(r, mine)
				if r.me == 0 {
					end := make([]int64, mixedPlaces)
					ok(w.Lock(ompi.LockShared, r.n-1, 0))
					ok(w.Get(ompi.Slice(end), w.at(r.n-1, 0)))
					ok(w.Unlock(r.n - 1))
					if !linearizable(all, 0, end[p]) {
						for k := range all {
							r.log("%v", &all[k])
						}
						fail("%v, seed %d: no order explains %d operations on place %d, which has %d at the end", w.flavor, seed, len(all), p, end[p])
					}
				}
			}
			r.barrier()
		})
	}
}

// batch issues a few operations on one place of the last rank and flushes them.
func batch(w *window, rng *rand.Rand, thread int, history *[mixedPlaces][]event) {
	p := rng.IntN(mixedPlaces)
	target := w.r.n - 1
	at := w.at(target, int64(8*p))
	n := 1 + rng.IntN(3)
	events := make([]event, n)
	long := typeOf[int64]()
	for k := range events {
		e := &events[k]
		e.Thread, e.Arg = int32(thread), 1+rng.Int64N(5)
		switch p {
		case sumPlace:
			e.Kind = []eventKind{evSum, evSum, evAdd, evRead}[rng.IntN(4)]
		case replacePlace:
			e.Kind = []eventKind{evReplace, evReplace, evWrite, evRead}[rng.IntN(4)]
			e.Arg += int64(10 * thread)
		case swapPlace:
			e.Kind = []eventKind{evSwap, evSwap, evSwap, evRead}[rng.IntN(4)]
			e.Compare, e.Arg = rng.Int64N(3), rng.Int64N(3)
		}
		e.Begin = now()
		arg, compare, result := ompi.Value(&e.Arg), ompi.Value(&e.Compare), ompi.Value(&e.Result)
		switch e.Kind {
		case evSum:
			ok(w.FetchAndOp(arg, result, at, ompi.Sum))
		case evReplace:
			if rng.IntN(2) == 0 {
				ok(w.GetAccumulate(arg, result, at, ompi.Replace))
			} else {
				ok(w.FetchAndOp(arg, result, at, ompi.Replace))
			}
		case evRead:
			ok(w.GetAccumulate(ompi.Buffer{}, result, ompi.Target{Rank: at.Rank, Disp: at.Disp, Count: 1, Type: long}, ompi.NoOp))
		case evSwap:
			ok(w.CompareAndSwap(arg, compare, result, at))
		case evAdd:
			ok(w.Accumulate(arg, at, ompi.Sum))
		case evWrite:
			ok(w.Accumulate(arg, at, ompi.Replace))
		}
	}
	if rng.IntN(2) == 0 {
		ok(w.Flush(target))
	} else {
		ok(w.FlushAll())
	}
	end := now()
	for k := range events {
		events[k].End = end
	}
	history[p] = append(history[p], events...)
}

// gatherEvents gives rank 0 those of all.
func gatherEvents(r *rank, mine []event) []event {
	bytes, err := datatype.Contiguous(int(unsafe.Sizeof(event{})), typeOf[byte]())
	ok(err)
	ok(bytes.Commit())
	counts, displs := make([]int, r.n), make([]int, r.n)
	n := int64(len(mine))
	lens := make([]int64, r.n)
	ok(r.Allgather(ompi.Value(&n), ompi.Slice(lens)))
	total := 0
	for k, l := range lens {
		counts[k], displs[k] = int(l), total
		total += int(l)
	}
	all := make([]event, total)
	raw := func(e []event) ompi.Buffer { return ompi.Typed(bytesOf(e), len(e), bytes) }
	ok(r.Gatherv(raw(mine), raw(all), counts, displs, 0))
	return all
}

// testTransactions: under exclusive locks, puts and gets of several words are one step. Each transaction moves money between accounts; who holds a shared
// lock finds the sum unchanged, and each transaction a version that nobody else has written.
func testTransactions(r *rank) {
	rounds := counterRounds() / 2
	const accounts, total = 6, 600
	r.flavors(8*(accounts+1), 8, func(w *window) {
		w.store(func(mem []byte) {
			for k := range accounts {
				words(mem)[k] = total / accounts
			}
		})
		r.barrier()
		rng := rand.New(rand.NewPCG(uint64(r.me), 3))
		versions := make([]int64, 0, rounds)
		for range rounds {
			target := 0
			v := make([]int64, accounts+1)
			sum := func() (s int64) {
				for _, x := range v[:accounts] {
					s += x
				}
				return s
			}
			if rng.IntN(4) == 0 {
				ok(w.Lock(ompi.LockShared, target, 0))
				ok(w.Get(ompi.Slice(v), w.at(target, 0)))
				ok(w.Unlock(target))
				that(sum() == total, "%v: a reader finds %d in all, want %d: %v", w.flavor, sum(), total, v)
				continue
			}
			ok(w.Lock(ompi.LockExclusive, target, 0))
			for k := range v {
				ok(w.Get(ompi.Value(&v[k]), w.at(target, int64(8*k))))
			}
			ok(w.FlushLocal(target))
			that(sum() == total, "%v: a writer finds %d in all, want %d: %v", w.flavor, sum(), total, v)
			from, to, amount := rng.IntN(accounts), rng.IntN(accounts), rng.Int64N(20)
			v[from] -= amount
			v[to] += amount
			v[accounts]++
			versions = append(versions, v[accounts])
			ok(w.Put(ompi.Value(&v[from]), w.at(target, int64(8*from))))
			if to != from {
				ok(w.Put(ompi.Value(&v[to]), w.at(target, int64(8*to))))
			}
			ok(w.Put(ompi.Value(&v[accounts]), w.at(target, 8*accounts)))
			ok(w.Unlock(target))
		}
		n, all := int64(len(versions)), int64(0)
		ok(r.Allreduce(ompi.Value(&n), ompi.Value(&all), ompi.Sum))
		for k := 1; k < len(versions); k++ {
			that(versions[k] > versions[k-1], "%v: version %d after %d", w.flavor, versions[k], versions[k-1])
		}
		if r.me == 0 {
			got := words(w.load())[accounts]
			that(got == all, "%v: %d transactions, the last has number %d", w.flavor, all, got)
		}
		r.barrier()
	})
}

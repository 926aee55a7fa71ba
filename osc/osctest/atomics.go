package osctest

import (
	"slices"
	"time"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

func atomicCases() []suite {
	return []suite{
		{"Counters", 0, testCounters, anyFlavor},
		{"CompareAndSwapCounter", 0, testSwapCounter, anyFlavor},
		{"ExchangeChain", 0, testExchangeChain, anyFlavor},
		{"OverlappingLayouts", 0, testOverlappingLayouts, anyFlavor},
		{"Ordering", 0, testOrdering, anyFlavor},
		{"OrderingOfArrays", 2, testOrderingOfArrays, anyFlavor},
		{"SpinLock", 0, testSpinLock, anyFlavor},
		{"Hammer", 8, testHammer, anyFlavor},
	}
}

const threadsPerRank = 3

func counterRounds() int {
	if raceEnabled {
		return 15
	}
	return 40
}

// testCounters: fetch-and-add by all ranks and goroutines gives each number once.
func testCounters(r *rank) {
	counters[int64](r)
	counters[uint32](r)
	counters[int16](r)
}

func counters[T int64 | uint32 | int16](r *rank) {
	rounds := counterRounds()
	total := r.n * threadsPerRank * rounds
	r.flavors(64, 1, func(w *window) {
		const off = 24
		got := make([]T, threadsPerRank*rounds)
		ok(w.LockAll(0))
		r.threads(threadsPerRank, func(k int) {
			one := T(1)
			for i := range rounds {
				ok(w.FetchAndOp(ompi.Value(&one), ompi.Value(&got[k*rounds+i]), w.at(0, off), ompi.Sum))
				ok(w.Flush(0))
				if i > 0 {
					that(got[k*rounds+i] > got[k*rounds+i-1], "a counter went from %d to %d", got[k*rounds+i-1], got[k*rounds+i])
				}
			}
		})
		ok(w.UnlockAll())
		all := make([]T, total)
		ok(r.Allgather(ompi.Slice(got), ompi.Slice(all)))
		slices.Sort(all)
		for k, v := range all {
			that(int(v) == k, "%v: of %d numbers the %d-th is %d", w.flavor, total, k, v)
		}
		if r.me == 0 {
			var last T
			mem := w.load()
			s := make([]T, 1)
			copy(bytesOf(s), mem[off:])
			last = s[0]
			that(int(last) == total, "%v: the counter is %d, want %d", w.flavor, last, total)
			clear(mem[off : off+len(bytesOf(s))])
			that(allZero(mem), "%v: bytes beside the counter have changed: % x", w.flavor, mem)
		}
		r.barrier()
	})
}

func allZero(mem []byte) bool {
	return !slices.ContainsFunc(mem, func(b byte) bool { return b != 0 })
}

// testSwapCounter counts by compare-and-swap, in a loop until it succeeds.
func testSwapCounter(r *rank) {
	rounds := counterRounds() / 2
	r.flavors(64, 8, func(w *window) {
		ok(w.LockAll(0))
		r.threads(threadsPerRank, func(k int) {
			target := k % r.n
			seen := int64(0)
			for range rounds {
				for {
					next, old := seen+1, int64(-1)
					ok(w.CompareAndSwap(ompi.Value(&next), ompi.Value(&seen), ompi.Value(&old), w.at(target, 16)))
					ok(w.Flush(target))
					if old == seen {
						seen = next
						break
					}
					that(old > seen, "a counter went from %d back to %d", seen, old)
					seen = old
				}
			}
		})
		ok(w.UnlockAll())
		r.barrier()
		want := int64(0)
		for k := range threadsPerRank {
			if k%r.n == r.me {
				want += int64(r.n * rounds)
			}
		}
		got := words(w.load())[2]
		that(got == want, "%v: the counter is %d, want %d", w.flavor, got, want)
		r.barrier()
	})
}

// testExchangeChain: what is put by fetch-and-replace is taken out once.
func testExchangeChain(r *rank) {
	rounds := counterRounds()
	each := threadsPerRank * rounds
	r.flavors(16, 8, func(w *window) {
		got := make([]int64, each)
		ok(w.LockAll(0))
		r.threads(threadsPerRank, func(k int) {
			for i := range rounds {
				token := int64(1 + r.me*each + k*rounds + i)
				ok(w.FetchAndOp(ompi.Value(&token), ompi.Value(&got[k*rounds+i]), w.at(r.n-1, 8), ompi.Replace))
				ok(w.Flush(r.n - 1))
			}
		})
		ok(w.UnlockAll())
		all := make([]int64, r.n*each)
		ok(r.Allgather(ompi.Slice(got), ompi.Slice(all)))
		if r.me == r.n-1 {
			all = append(all, words(w.load())[1])
			slices.Sort(all)
			for k, v := range all {
				that(v == int64(k), "%v: token %d instead of %d came out", w.flavor, v, k)
			}
		}
		r.barrier()
	})
}

// testOverlappingLayouts: accumulates through layouts that meet in some elements only, at the same time.
func testOverlappingLayouts(r *rank) {
	rounds := counterRounds() / 2
	const n = 24
	e := elementOf[int32](false)
	r.flavors(4*n+64, 4, func(w *window) {
		const off = 32
		want := make([]int32, n+16)
		plan := func(rank, thread, round int) (*shape, int, int64) {
			s := e.shapes[(rank+thread*3+round)%len(e.shapes)]
			lo, _ := s.span(1)
			return s, 1, off - roundUp(lo, 4) + int64(4*((rank+round)%5))
		}
		ok(w.LockAll(0))
		r.threads(threadsPerRank, func(thread int) {
			for round := range rounds {
				s, count, at := plan(r.me, thread, round)
				v := make([]int32, count*len(s.offs))
				for k := range v {
					v[k] = int32(k + 1)
				}
				if round%4 == 3 {
					old := make([]int32, len(v))
					ok(w.GetAccumulate(ompi.Slice(v), ompi.Slice(old), w.typed(1%r.n, at, count, s.typ), ompi.Sum))
				} else {
					ok(w.Accumulate(ompi.Slice(v), w.typed(1%r.n, at, count, s.typ), ompi.Sum))
				}
				ok(w.FlushLocal(1 % r.n))
			}
		})
		ok(w.UnlockAll())
		r.barrier()
		if r.me == 1%r.n {
			for rank := range r.n {
				for thread := range threadsPerRank {
					for round := range rounds {
						s, count, at := plan(rank, thread, round)
						k := int32(0)
						for i := range count {
							for _, o := range s.offs {
								k++
								want[(at+o+int64(i)*s.extent)/4] += k
							}
						}
					}
				}
			}
			same(w.load(), bytesOf(want), "%v: sums", w.flavor)
		}
		r.barrier()
	})
}

// testOrdering: accumulates of one origin to one place happen in program order (MPI-3.1 §11.7.2).
func testOrdering(r *rank) {
	r.flavors(8*r.n*8, 8, func(w *window) {
		ok(w.LockAll(0))
		peer := (r.me + 1) % r.n
		slot := int64(r.me * 64)
		const n = 40
		// WAW: the last one stays. RAW: a read sees what was written before. WAR: and not what is written later.
		vals, seen, early := make([]int64, n), make([]int64, n), make([]int64, n)
		for k := range n {
			vals[k] = int64(k + 1)
			ok(w.GetAccumulate(ompi.Value(&vals[k]), ompi.Value(&early[k]), w.at(peer, slot), ompi.NoOp))
			ok(w.Accumulate(ompi.Value(&vals[k]), w.at(peer, slot), ompi.Replace))
			ok(w.FetchAndOp(ompi.Value(&vals[k]), ompi.Value(&seen[k]), w.at(peer, slot), ompi.NoOp))
		}
		ok(w.Flush(peer))
		for k := range n {
			that(seen[k] == int64(k+1), "%v: read %d after writing %d", w.flavor, seen[k], k+1)
			that(early[k] == int64(k), "%v: read %d before writing %d", w.flavor, early[k], k+1)
		}
		// RAR: a counter that others move is never seen to go back.
		one := int64(1)
		for range n {
			ok(w.Accumulate(ompi.Value(&one), w.at(peer, 64*int64(r.n-1)+56), ompi.Sum))
			ok(w.Accumulate(ompi.Value(&one), w.at(r.me, 64*int64(r.n-1)+56), ompi.Sum))
		}
		for k := range n {
			ok(w.FetchAndOp(ompi.Value(&one), ompi.Value(&seen[k]), w.at(peer, 64*int64(r.n-1)+56), ompi.NoOp))
		}
		ok(w.Flush(peer))
		for k := 1; k < n; k++ {
			that(seen[k] >= seen[k-1], "%v: a counter is seen at %d and then at %d", w.flavor, seen[k-1], seen[k])
		}
		ok(w.UnlockAll())
		r.barrier()
		got := words(w.load())
		that(got[8*((r.me+r.n-1)%r.n)] == n, "%v: %d stays", w.flavor, got[8*((r.me+r.n-1)%r.n)])
		that(got[8*(r.n-1)+7] == 2*n, "%v: %d counted, want %d", w.flavor, got[8*(r.n-1)+7], 2*n)
		r.barrier()
	})
}

// testOrderingOfArrays: also where they are cut into pieces, and where a small one follows a large one.
func testOrderingOfArrays(r *rank) {
	n := 60_000
	if raceEnabled {
		n = 6_000 // still more than a message takes
	}
	pairs, err := datatype.Vector(n/2, 1, 2, typeOf[int64]())
	ok(err)
	ok(pairs.Commit())
	r.flavors(8*n, 8, func(w *window) {
		peer := 1 - r.me
		a, b := make([]int64, n), make([]int64, n)
		for k := range a {
			a[k], b[k] = int64(k), int64(-k)
		}
		old, last := make([]int64, n), []int64{7}
		ok(w.Lock(ompi.LockShared, peer, 0))
		ok(w.Accumulate(ompi.Slice(a), w.at(peer, 0), ompi.Replace))
		ok(w.Accumulate(ompi.Slice(b[:n/2]), w.typed(peer, 0, 1, pairs), ompi.Replace))
		ok(w.Accumulate(ompi.Slice(last), w.at(peer, 8*int64(n-1)), ompi.Replace))
		ok(w.GetAccumulate(ompi.Slice(a), ompi.Slice(old), w.at(peer, 0), ompi.NoOp))
		ok(w.Accumulate(ompi.Slice(b), w.at(peer, 0), ompi.Replace))
		ok(w.Unlock(peer))
		r.barrier()
		for k, v := range old {
			want := int64(k)
			if k%2 == 0 {
				want = int64(-k / 2)
			}
			if k == n-1 {
				want = 7
			}
			that(v == want, "%v: element %d was %d, want %d", w.flavor, k, v, want)
		}
		for k, v := range words(w.load()) {
			that(v == int64(-k), "%v: element %d is %d", w.flavor, k, v)
		}
		r.barrier()
	})
}

// testSpinLock: a lock of the program's own, by compare-and-swap, guards data moved by put and get.
func testSpinLock(r *rank) {
	rounds := counterRounds() / 4
	r.flavors(64, 8, func(w *window) {
		free, taken := int64(0), int64(r.me+1)
		ok(w.LockAll(0))
		for range rounds {
			for old := int64(-1); old != 0; {
				ok(w.CompareAndSwap(ompi.Value(&taken), ompi.Value(&free), ompi.Value(&old), w.at(0, 0)))
				ok(w.Flush(0))
			}
			var v [3]int64
			ok(w.Get(ompi.Slice(v[:]), w.at(0, 16)))
			ok(w.Flush(0))
			that(v[0] == v[1] && v[1] == v[2], "%v: torn: %v", w.flavor, v)
			for k := range v {
				v[k]++
			}
			ok(w.Put(ompi.Slice(v[:]), w.at(0, 16)))
			ok(w.Flush(0))
			var old int64
			ok(w.FetchAndOp(ompi.Value(&free), ompi.Value(&old), w.at(0, 0), ompi.Replace))
			ok(w.Flush(0))
			that(old == taken, "%v: rank %d held the lock of rank %d", w.flavor, old-1, r.me)
		}
		ok(w.UnlockAll())
		r.barrier()
		if r.me == 0 {
			got := words(w.load())
			that(got[2] == int64(rounds*r.n), "%v: %d rounds, want %d", w.flavor, got[2], rounds*r.n)
		}
		r.barrier()
	})
}

// testHammer: eight ranks on one counter and one exclusive lock. Nobody starves; how long they waited is told.
func testHammer(r *rank) {
	rounds := 2 * counterRounds()
	r.flavors(64, 8, func(w *window) {
		waits := make([]int64, rounds)
		tell := func(what string) {
			all := make([]int64, r.n*rounds)
			ok(r.Allgather(ompi.Slice(waits), ompi.Slice(all)))
			if r.me == 0 {
				slices.Sort(all)
				r.log("%v, %d ranks, %s: wait median %v, longest %v", w.flavor, r.n, what, time.Duration(all[len(all)/2]), time.Duration(all[len(all)-1]))
			}
			r.barrier()
		}
		one, old := int64(1), int64(0)
		ok(w.LockAll(0))
		for k := range rounds {
			begin := time.Now()
			ok(w.FetchAndOp(ompi.Value(&one), ompi.Value(&old), w.at(0, 0), ompi.Sum))
			ok(w.Flush(0))
			waits[k] = int64(time.Since(begin))
		}
		ok(w.UnlockAll())
		tell("fetch-and-op")
		for k := range rounds {
			begin := time.Now()
			ok(w.Lock(ompi.LockExclusive, 0, 0))
			waits[k] = int64(time.Since(begin))
			var v int64
			ok(w.Get(ompi.Value(&v), w.at(0, 8)))
			ok(w.Flush(0))
			v++
			ok(w.Put(ompi.Value(&v), w.at(0, 8)))
			ok(w.Unlock(0))
		}
		tell("exclusive lock")
		if r.me == 0 {
			got := words(w.load())
			want := int64(r.n * rounds)
			that(got[0] == want && got[1] == want, "%v: totals %d and %d, want %d", w.flavor, got[0], got[1], want)
		}
		r.barrier()
	})
}

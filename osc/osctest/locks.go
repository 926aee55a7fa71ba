package osctest

import (
	"github.com/ompi-go/ompi-go/ompi"
)

func lockCases() []suite {
	return []suite{
		{"MutualExclusion", 0, testMutualExclusion, anyFlavor},
		{"SharedLocksTogether", 0, testSharedTogether, anyFlavor},
		{"ReadersAndWriters", 0, testReadersWriters, anyFlavor},
		{"NestedLocks", 0, testNestedLocks, anyFlavor},
		{"LocksByGoroutines", 0, testLocksByThreads, anyFlavor},
		{"NoCheckLocks", 0, testNoCheckLocks, anyFlavor},
		{"Flush", 0, testFlush, anyFlavor},
		{"FlushLocal", 0, testFlushLocal, anyFlavor},
		{"LockSelf", 1, testLockSelf, anyFlavor},
		{"IdleTarget", 2, testIdleTarget, anyFlavor},
	}
}

// testMutualExclusion: exclusive locks make reading, changing and writing one step (MPI-3.1 §11.5.3).
func testMutualExclusion(r *rank) {
	rounds := counterRounds()
	r.flavors(8*40, 8, func(w *window) {
		v := make([]int64, 40)
		for k := range rounds {
			t := k % min(2, r.n)
			ok(w.Lock(ompi.LockExclusive, t, 0))
			ok(w.Get(ompi.Slice(v), w.at(t, 0)))
			ok(w.Flush(t))
			for i := range v {
				that(v[i] == v[0], "%v: torn at %d: %v", w.flavor, i, v)
			}
			for i := range v {
				v[i]++
			}
			ok(w.Put(ompi.Slice(v), w.at(t, 0)))
			ok(w.Unlock(t))
		}
		r.barrier()
		if r.me < min(2, r.n) {
			got := words(w.load())[39]
			turns := (rounds + min(2, r.n) - 1 - r.me) / min(2, r.n) // the first target has one more where they are odd
			want := int64(r.n * turns)
			that(got == want, "%v: %d, want %d", w.flavor, got, want)
		}
		r.barrier()
	})
}

// testSharedTogether: holders of shared locks do not wait for one another, those of lock_all neither.
func testSharedTogether(r *rank) {
	r.flavors(64, 8, func(w *window) {
		for range 3 {
			ok(w.Lock(ompi.LockShared, 0, 0))
			one := int64(1)
			ok(w.Accumulate(ompi.Value(&one), w.at(0, 0), ompi.Sum))
			ok(w.Flush(0))
			r.barrier() // all hold it now
			var v int64
			ok(w.FetchAndOp(ompi.Value(&one), ompi.Value(&v), w.at(0, 0), ompi.NoOp))
			ok(w.Flush(0))
			that(v%int64(r.n) == 0, "%v: %d", w.flavor, v)
			r.barrier()
			ok(w.Unlock(0))
			if r.me%2 == 0 {
				ok(w.LockAll(0))
			} else {
				ok(w.Lock(ompi.LockShared, 0, 0))
			}
			ok(w.Get(ompi.Value(&v), w.at(0, 0)))
			ok(w.Flush(0))
			r.barrier()
			if r.me%2 == 0 {
				ok(w.UnlockAll())
			} else {
				ok(w.Unlock(0))
			}
			r.barrier()
		}
	})
}

// testReadersWriters: who holds a shared lock, or all, sees no half of what is written under an exclusive one.
func testReadersWriters(r *rank) {
	rounds := counterRounds() / 2
	r.flavors(8*16, 8, func(w *window) {
		target := r.n - 1
		for k := range rounds {
			var v [2]int64
			switch (r.me + k) % 3 {
			case 0:
				ok(w.Lock(ompi.LockExclusive, target, 0))
				one := int64(1)
				ok(w.Accumulate(ompi.Value(&one), w.at(target, 0), ompi.Sum))
				ok(w.Flush(target))
				ok(w.Accumulate(ompi.Value(&one), w.at(target, 120), ompi.Sum))
				ok(w.Unlock(target))
				continue
			case 1:
				ok(w.Lock(ompi.LockShared, target, 0))
			case 2:
				ok(w.LockAll(0))
			}
			ok(w.Get(ompi.Value(&v[1]), w.at(target, 120)))
			ok(w.Flush(target))
			ok(w.Get(ompi.Value(&v[0]), w.at(target, 0)))
			if (r.me+k)%3 == 1 {
				ok(w.Unlock(target))
			} else {
				ok(w.UnlockAll())
			}
			that(v[0] == v[1], "%v: a reader saw %v", w.flavor, v)
		}
		r.barrier()
		want := int64(0)
		for rank := range r.n {
			for k := range rounds {
				if (rank+k)%3 == 0 {
					want++
				}
			}
		}
		if r.me == target {
			got := words(w.load())
			that(got[0] == want && got[15] == want, "%v: %d and %d, want %d", w.flavor, got[0], got[15], want)
		}
		r.barrier()
	})
}

// testNestedLocks: a rank may hold locks of several targets, exclusive and shared ones.
func testNestedLocks(r *rank) {
	rounds := counterRounds() / 4
	r.flavors(64, 8, func(w *window) {
		for k := range rounds {
			// All take them in the same order, so that nobody waits for a circle.
			for t := range r.n {
				kind := ompi.LockExclusive
				if t%2 == 1 {
					kind = ompi.LockShared
				}
				ok(w.Lock(kind, t, 0))
			}
			for t := range r.n {
				if t%2 == 1 {
					one := int64(1)
					ok(w.Accumulate(ompi.Value(&one), w.at(t, 8), ompi.Sum))
					ok(w.FlushLocal(t))
					continue
				}
				var v int64
				ok(w.Get(ompi.Value(&v), w.at(t, 8)))
				ok(w.Flush(t))
				v++
				ok(w.Put(ompi.Value(&v), w.at(t, 8)))
				ok(w.FlushLocal(t))
			}
			for i := range r.n { // given back in any order
				ok(w.Unlock((i + k) % r.n))
			}
		}
		r.barrier()
		got := words(w.load())[1]
		that(got == int64(r.n*rounds), "%v: %d, want %d", w.flavor, got, r.n*rounds)
		r.barrier()
	})
}

// testLocksByThreads: goroutines of a rank that each lock another target.
func testLocksByThreads(r *rank) {
	rounds := counterRounds() / 4
	r.flavors(64, 8, func(w *window) {
		r.threads(r.n, func(t int) {
			for range rounds {
				ok(w.Lock(ompi.LockExclusive, t, 0))
				var v int64
				ok(w.Get(ompi.Value(&v), w.at(t, 8)))
				ok(w.Flush(t))
				v++
				ok(w.Put(ompi.Value(&v), w.at(t, 8)))
				ok(w.Unlock(t))
			}
		})
		r.barrier()
		got := words(w.load())[1]
		that(got == int64(r.n*rounds), "%v: %d, want %d", w.flavor, got, r.n*rounds)
		r.barrier()
	})
}

// testNoCheckLocks: with ModeNoCheck the program sees to it that locks do not conflict.
func testNoCheckLocks(r *rank) {
	r.flavors(64, 8, func(w *window) {
		for k := range 2 * r.n {
			if k%r.n == r.me {
				v := int64(k + 1)
				ok(w.Lock(ompi.LockExclusive, (k+1)%r.n, ompi.ModeNoCheck))
				ok(w.Put(ompi.Value(&v), w.at((k+1)%r.n, 0)))
				ok(w.Unlock((k + 1) % r.n))
			}
			r.barrier()
			var v int64
			ok(w.LockAll(ompi.ModeNoCheck))
			ok(w.Get(ompi.Value(&v), w.at((k+1)%r.n, 0)))
			ok(w.UnlockAll())
			that(v == int64(k+1), "%v: %d, want %d", w.flavor, v, k+1)
			r.barrier()
		}
	})
}

// testFlush: what is flushed is in the target's memory, for its loads (the unified memory model) and for others' gets.
func testFlush(r *rank) {
	r.flavors(8*8*r.n, 8, func(w *window) {
		ok(w.LockAll(0))
		peer, from := (r.me+1)%r.n, (r.me+r.n-1)%r.n
		for k := range 10 {
			v := []int64{int64(100*r.me + k), -1, int64(k)}
			at := w.at(peer, int64(64*r.me))
			switch k % 3 {
			case 0:
				ok(w.Put(ompi.Slice(v), at))
				ok(w.Flush(peer))
			case 1:
				ok(w.Accumulate(ompi.Slice(v), at, ompi.Replace))
				ok(w.FlushAll())
			case 2:
				done(w.Rput(ompi.Slice(v), at)) // complete at the origin
				ok(w.Flush(peer))
			}
			// A message tells the target, one from its own engine to its program.
			token := []byte{byte(k)}
			_, err := r.Sendrecv(ompi.Slice(token), peer, 3, ompi.Slice(token), from, 3)
			ok(err)
			ok(w.Sync())
			got := words(w.mem)[8*from : 8*from+3]
			that(got[0] == int64(100*from+k) && got[1] == -1 && got[2] == int64(k), "%v, round %d: %v", w.flavor, k, got)
			r.barrier()
			var other [3]int64
			third := (r.me + 2) % r.n
			ok(w.Get(ompi.Slice(other[:]), w.at(third, int64(64*((third+r.n-1)%r.n)))))
			ok(w.Flush(third))
			origin := (third + r.n - 1) % r.n
			that(other[0] == int64(100*origin+k) && other[2] == int64(k), "%v, round %d: a third reads %v", w.flavor, k, other)
			r.barrier()
		}
		ok(w.UnlockAll())
		r.barrier()
	})
}

// testFlushLocal: afterwards the origin's buffers may be used again, and results are there.
func testFlushLocal(r *rank) {
	n := 3000
	r.flavors(8*n*2, 8, func(w *window) {
		peer := (r.me + 1) % r.n
		ok(w.Lock(ompi.LockShared, peer, 0))
		buf, in := make([]int64, n), make([]int64, n)
		for k := range 6 {
			size := []int{1, n, 17}[k%3]
			for i := range size {
				buf[i] = int64(1000*k + i)
			}
			ok(w.Put(ompi.Slice(buf[:size]), w.at(peer, 0)))
			ok(w.FlushLocal(peer))
			clear(buf)
			for i := range size {
				buf[i] = int64(k)
			}
			ok(w.Accumulate(ompi.Slice(buf[:size]), w.at(peer, int64(8*n)), ompi.Sum))
			if k%2 == 0 {
				ok(w.FlushLocalAll())
				clear(buf)
			}
			ok(w.Flush(peer))
			ok(w.Get(ompi.Slice(in[:size]), w.at(peer, 0)))
			ok(w.FlushLocal(peer))
			for i := range size {
				that(in[i] == int64(1000*k+i), "%v: round %d: element %d is %d", w.flavor, k, i, in[i])
			}
		}
		ok(w.Unlock(peer))
		r.barrier()
		got := words(w.load())
		that(got[n] == 15 && got[n+16] == 1+4+2+5 && got[n+20] == 1+4, "%v: sums are %d %d %d", w.flavor, got[n], got[n+16], got[n+20])
		r.barrier()
	})
}

// testLockSelf: a job of one rank.
func testLockSelf(r *rank) {
	r.flavors(64, 8, func(w *window) {
		for e := range epochs {
			v, old := int64(2), int64(0)
			w.during(e, func(int) {
				ok(w.Put(ompi.Value(&v), w.at(0, 0)))
			})
			w.during(e, func(int) {
				ok(w.GetAccumulate(ompi.Value(&v), ompi.Value(&old), w.at(0, 0), ompi.Sum))
			})
			that(old == 2 && words(w.load())[0] == 4, "%v, %v: %d and %d", w.flavor, e, old, words(w.load())[0])
		}
	})
}

// testIdleTarget: passive target means that the target need not call anything that has to do with the window; it waits in another call here.
func testIdleTarget(r *rank) {
	r.flavors(64, 8, func(w *window) {
		if r.me == 0 {
			var none []byte
			_, err := r.Recv(ompi.Slice(none), 1, 9)
			ok(err)
		} else {
			for k := range 20 {
				v, old := int64(k), int64(0)
				ok(w.Lock(ompi.LockExclusive, 0, 0))
				ok(w.Put(ompi.Value(&v), w.at(0, 0)))
				ok(w.Flush(0))
				ok(w.FetchAndOp(ompi.Value(&v), ompi.Value(&old), w.at(0, 8), ompi.Sum))
				ok(w.Unlock(0))
			}
			var none []byte
			ok(r.Send(ompi.Slice(none), 0, 9))
		}
		r.barrier()
		if r.me == 0 {
			got := words(w.load())
			that(got[0] == 19 && got[1] == 190, "%v: %v", w.flavor, got[:2])
		}
		r.barrier()
	})
}

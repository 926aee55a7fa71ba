// Package colltest is the conformance suite of collective components: every operation against a naive reference, on many sizes of
// communicators, types, counts and roots. It also has a point-to-point layer to run collectives over without any transport
// (Fabric). Tests of components and of whole instances call it; nothing else does.
package colltest

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
)

// Start runs body on n ranks, each on a goroutine of this process, over one communicator, and returns when all have returned.
// rank is the rank in c, and tbl what c calls.
type Start func(t *testing.T, n int, body func(rank int, tbl *coll.Table, c *core.Comm))

// Run is the suite, on the given numbers of ranks or, when none are given, on 1 to 9, 13 and 16. Operations follow each other
// without pause, so that messages of one that stray into the next show, too.
func Run(t *testing.T, start Start, sizes ...int) {
	if len(sizes) == 0 {
		sizes = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16}
	}
	run(t, start, nil, sizes)
}

// Sample is a shorter suite on the given numbers of ranks, for a component with many ways to do the same: a few types and operators,
// one root at a time, and only the operations for which only says so.
func Sample(t *testing.T, start Start, only func(k alg.Kind) bool, sizes ...int) {
	run(t, start, only, sizes)
}

func run(t *testing.T, start Start, only func(k alg.Kind) bool, sizes []int) {
	types, ops := makeTypes(t), makeReductions(t)
	if only != nil {
		types = slices.DeleteFunc(types, func(ty typePair) bool { return !ty.sample })
		ops = slices.DeleteFunc(ops, func(o reduction) bool { return !o.sample })
	}
	for _, n := range sizes {
		t.Run(fmt.Sprintf("ranks=%d", n), func(t *testing.T) {
			var arrived atomic.Int64
			var results sync.Map
			start(t, n, func(rank int, tbl *coll.Table, c *core.Comm) {
				r := &rankTest{t: t, rank: rank, n: n, tbl: tbl, results: &results, only: only, sample: only != nil}
				if rank != c.MyRank || n != c.Size() {
					t.Errorf("communicator has rank %d of %d, want %d of %d", c.MyRank, c.Size(), rank, n)
					return
				}
				r.barrier(&arrived)
				for i := range types {
					r.movements(&types[i])
				}
				for i := range ops {
					r.reductions(&ops[i])
				}
				if !r.skips(alg.Allreduce) && !r.skips(alg.Allgather) {
					r.sameBits()
				}
				r.barrier(&arrived)
			})
		})
	}
}

// rankTest is one rank's run of the suite. All ranks go through the same calls in the same order, so the counter that keys the
// data is equal on all.
type rankTest struct {
	t       *testing.T
	rank, n int
	tbl     *coll.Table
	seq     int       // operations so far
	rounds  int       // barriers so far
	results *sync.Map // of reductions, by seq: shared by the ranks
	sample  bool      // few cases
	only    func(k alg.Kind) bool
}

// skips tells whether an operation is not to be tried.
func (r *rankTest) skips(k alg.Kind) bool { return r.only != nil && !r.only(k) }

// next begins an operation.
func (r *rankTest) next() int {
	r.seq++
	return r.seq
}

// done reports what an operation did wrong.
func (r *rankTest) done(err error, format string, args ...any) {
	if err != nil {
		r.t.Errorf("rank %d of %d: %s: %v", r.rank, r.n, fmt.Sprintf(format, args...), err)
	}
}

// many tells that ranks are so many that fewer cases must do: what depends on the case was seen on fewer ranks.
func (r *rankTest) many() bool { return r.n > 9 }

// elements are the numbers of elements to try: small ones, of which the last is for many ranks, too, a long one if there is one,
// and on few ranks a huge one.
func (r *rankTest) elements(long, huge int64, small ...int64) []int64 {
	switch {
	case r.sample:
		return []int64{0, 1, small[len(small)-1], sampleLong}
	case r.many():
		small = small[len(small)-1:]
	}
	if long > 0 {
		small = append(small, long)
	}
	if huge > 0 && (r.n == 2 || r.n == 3) {
		small = append(small, huge)
	}
	return small
}

// sampleLong is a prime number of elements, more than a segment and more than the ranks.
const sampleLong = 37

// worth tells whether operations that are like others tried with the same count are tried with it, too.
func (r *rankTest) worth(count int64) bool { return count < 100 || r.n == 2 || r.n == 3 }

// roots are the roots to try with messages of count elements: all of few ranks.
func (r *rankTest) roots(count int64) []int {
	switch {
	case r.sample:
		return []int{r.seq * 5 % r.n}
	case r.n > 3 && (count > 100 || r.many()):
		return []int{1, r.n - 2}
	case r.n > 5:
		return []int{0, r.n / 2, r.n - 1}
	}
	roots := make([]int, r.n)
	for i := range roots {
		roots[i] = i
	}
	return roots
}

// barrier: nobody leaves before all have come.
func (r *rankTest) barrier(arrived *atomic.Int64) {
	for i := range 20 {
		if (r.rank+i)%3 == 0 {
			runtime.Gosched()
		}
		r.rounds++
		arrived.Add(1)
		if err := r.tbl.Barrier.Barrier(); err != nil {
			r.done(err, "barrier")
			return
		}
		if got, want := arrived.Load(), int64(r.rounds*r.n); got < want {
			r.done(fmt.Errorf("left when %d ranks had arrived, want %d", got, want), "barrier %d", r.rounds)
			return
		}
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

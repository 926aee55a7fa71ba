package ompi

import (
	"context"
	"iter"
	"slices"

	"github.com/ompi-go/ompi-go/core"
)

// Result is the outcome of one request.
type Result struct {
	Status Status
	Err    error
}

// Completed yields the requests' positions and outcomes in order of completion. It ends when all are done or ctx is; what has not
// been yielded then stays as it is, also what is complete. Errors have the request's Index.
func Completed(ctx context.Context, reqs ...Request) iter.Seq2[int, Result] {
	return func(yield func(int, Result) bool) {
		left := make([]int, len(reqs)) // positions, ascending
		for n := range left {
			left[n] = n
		}
		for {
			left = slices.DeleteFunc(left, func(n int) bool { return !reqs[n].h.Active() })
			if len(left) == 0 {
				return
			}
			batch := finished(reqs, left)
			if len(batch) == 0 && !waitFirst(ctx, reqs, left) {
				return
			}
			for _, n := range batch {
				st, ok, err := takeSeen(reqs, n)
				if ok && !yield(n, Result{st, err}) {
					return
				}
			}
		}
	}
}

// takeSeen takes an outcome; an interceptor sees that as a Waitany.
func takeSeen(reqs []Request, n int) (st Status, ok bool, err error) {
	c := watched(reqs)
	if c == nil {
		return reqs[n].take(n)
	}
	err = c.call("Waitany", Undefined, 0, func() (err error) {
		st, ok, err = reqs[n].take(n)
		return err
	})
	return st, ok, err
}

// finished gives the positions among left that are complete, in order of completion.
func finished(reqs []Request, left []int) []int {
	var batch []int
	e := reqs[left[0]].h.R.Engine
	e.Lock() // nothing completes between the first look and the last
	for _, n := range left {
		if h := reqs[n].h; h.Active() && h.R.Done() {
			batch = append(batch, n)
		}
	}
	e.Unlock()
	slices.SortStableFunc(batch, func(a, b int) int { return compareStamps(reqs[a].h.R, reqs[b].h.R) })
	return batch
}

func compareStamps(a, b *core.Request) int {
	switch x, y := a.Stamp(), b.Stamp(); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// waitFirst waits until one of the requests at left is complete, and reports false when ctx has ended before.
func waitFirst(ctx context.Context, reqs []Request, left []int) bool {
	w := new(watch)
	for _, n := range left {
		w.reqs = append(w.reqs, reqs[n])
	}
	return w.Done() || waitContext(ctx, reqs[left[0]].h.R.Engine, w)
}

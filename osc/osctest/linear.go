package osctest

import (
	"cmp"
	"fmt"
	"slices"
)

// A history is what the ranks and their goroutines did to one place, with times of one clock. It is linearizable when there is an order of its operations
// that explains all results, in which an operation that ended before another began comes first, and those of one goroutine come as it issued them
// (accumulates of one origin are ordered). Wing and Gong's search, with a memory of what has been tried.

// event is one operation of a history.
type event struct {
	Begin, End int64
	Thread     int32 // of all ranks
	Kind       eventKind
	Arg        int64
	Compare    int64
	Result     int64
}

type eventKind int32

const (
	evSum     eventKind = iota // fetch-and-add
	evReplace                  // fetch-and-replace
	evRead                     // fetch-and-op with NoOp
	evSwap                     // compare-and-swap
	evAdd                      // accumulate: there is no result
	evWrite                    // accumulate with Replace
)

func (e *event) String() string {
	name := [...]string{"fetch_and_add(%d)", "fetch_and_replace(%d)", "read()", "compare_and_swap(%d for %d)", "add(%d)", "write(%d)"}[e.Kind]
	switch e.Kind {
	case evRead:
	case evSwap:
		name = fmt.Sprintf(name, e.Arg, e.Compare)
	default:
		name = fmt.Sprintf(name, e.Arg)
	}
	if e.Kind < evAdd {
		name += fmt.Sprintf(" = %d", e.Result)
	}
	return fmt.Sprintf("[%d,%d] goroutine %d: %s", e.Begin, e.End, e.Thread, name)
}

// step is what e makes of a value; ok is false when its result does not fit.
func (e *event) step(value int64) (next int64, ok bool) {
	ok = e.Kind >= evAdd || e.Result == value
	switch e.Kind {
	case evSum, evAdd:
		return value + e.Arg, ok
	case evReplace, evWrite:
		return e.Arg, ok
	case evSwap:
		if value == e.Compare {
			return e.Arg, ok
		}
	}
	return value, ok
}

// linearizable looks for an order that leads from start to end.
func linearizable(history []event, start, end int64) bool {
	h := slices.Clone(history)
	slices.SortStableFunc(h, func(a, b event) int { return cmp.Compare(a.Begin, b.Begin) })
	n := len(h)
	type state struct {
		done  string
		value int64
	}
	tried := map[state]bool{}
	bits := make([]byte, (n+7)/8)
	has := func(k int) bool { return bits[k/8]&(1<<(k%8)) != 0 }
	var search func(left int, value int64) bool
	search = func(left int, value int64) bool {
		if left == 0 {
			return value == end
		}
		s := state{string(bits), value}
		if tried[s] {
			return false
		}
		tried[s] = true
		// The next one began before any that is left ended.
		first := int64(1<<63 - 1)
		for k := range h {
			if !has(k) {
				first = min(first, h[k].End)
			}
		}
		for k := range h {
			if h[k].Begin > first {
				break
			}
			if has(k) || behind(h, k, has) {
				continue
			}
			next, fits := h[k].step(value)
			if !fits {
				continue
			}
			bits[k/8] |= 1 << (k % 8)
			if search(left-1, next) {
				return true
			}
			bits[k/8] &^= 1 << (k % 8)
		}
		return false
	}
	return search(n, start)
}

// behind tells that an earlier operation of the same goroutine is not done.
func behind(h []event, k int, done func(int) bool) bool {
	for i := range k {
		if h[i].Thread == h[k].Thread && !done(i) {
			return true
		}
	}
	return false
}

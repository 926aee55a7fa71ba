package osctest

import (
	"math/rand/v2"
	"testing"
)

// TestLinearizable: histories that are, and that are not.
func TestLinearizable(t *testing.T) {
	for _, c := range []struct {
		name       string
		h          []event
		start, end int64
		want       bool
	}{
		{"none", nil, 3, 3, true},
		{"none, but changed", nil, 3, 4, false},
		{"one", []event{{1, 2, 0, evSum, 5, 0, 3}}, 3, 8, true},
		{"a wrong result", []event{{1, 2, 0, evSum, 5, 0, 4}}, 3, 8, false},
		{"two at once", []event{{1, 4, 0, evSum, 1, 0, 1}, {2, 3, 1, evSum, 1, 0, 0}}, 0, 2, true},
		{"two in a row, the wrong way", []event{{1, 2, 0, evSum, 1, 0, 1}, {3, 4, 1, evSum, 1, 0, 0}}, 0, 2, false},
		{"a number twice", []event{{1, 4, 0, evSum, 1, 0, 0}, {2, 3, 1, evSum, 1, 0, 0}}, 0, 2, false},
		{"a lost update", []event{{1, 4, 0, evAdd, 1, 0, 0}, {2, 3, 1, evAdd, 1, 0, 0}}, 0, 1, false},
		{"swaps", []event{{1, 4, 0, evSwap, 7, 0, 0}, {2, 5, 1, evSwap, 8, 0, 7}, {6, 7, 1, evSwap, 9, 7, 7}}, 0, 9, true},
		{"two swaps that succeed", []event{{1, 4, 0, evSwap, 7, 0, 0}, {2, 5, 1, evSwap, 8, 0, 0}}, 0, 8, false},
		{"a stale read", []event{{1, 2, 0, evReplace, 7, 0, 0}, {3, 4, 1, evRead, 0, 0, 0}}, 0, 7, false},
		{"a read beside", []event{{1, 4, 0, evWrite, 7, 0, 0}, {3, 5, 1, evRead, 0, 0, 0}}, 0, 7, true},
		{"one goroutine's order", []event{{1, 9, 0, evWrite, 1, 0, 0}, {2, 9, 0, evWrite, 2, 0, 0}}, 0, 1, false},
		{"two goroutines'", []event{{1, 9, 0, evWrite, 1, 0, 0}, {2, 9, 1, evWrite, 2, 0, 0}}, 0, 1, true},
	} {
		if got := linearizable(c.h, c.start, c.end); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestLinearizableModel: what an atomic place does is always linearizable, and a result out of nowhere is found.
func TestLinearizableModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		var h []event
		value, clock := int64(0), int64(0)
		ends := map[int32]int64{}
		for range 30 {
			clock += 10
			e := event{Thread: int32(rng.IntN(5)), Kind: eventKind(rng.IntN(6)), Arg: rng.Int64N(4), Compare: rng.Int64N(4)}
			for ends[e.Thread] >= clock { // it is still at its last one
				e.Thread = (e.Thread + 1) % 5
				clock++
			}
			e.Begin = max(clock-rng.Int64N(40), ends[e.Thread]+1)
			e.End = clock + rng.Int64N(40)
			ends[e.Thread] = e.End
			e.Result = value
			value, _ = e.step(value)
			h = append(h, e)
		}
		if !linearizable(h, 0, value) {
			t.Fatalf("no order explains %v", h)
		}
		k := rng.IntN(len(h))
		h[k].Result += 1000
		if h[k].Kind < evAdd && linearizable(h, 0, value) {
			t.Fatalf("a result out of nowhere is explained: %v", &h[k])
		}
	}
}

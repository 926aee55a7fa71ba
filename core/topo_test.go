package core

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Rank and coordinates are each other's inverse, and a shift is a step along one coordinate.
func TestCartModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 4).Draw(t, "dimensions")
		dims, periods, size := make([]int, n), make([]bool, n), 1
		for d := range dims {
			dims[d] = rapid.IntRange(1, 5).Draw(t, "size")
			periods[d] = rapid.Bool().Draw(t, "periodic")
			size *= dims[d]
		}
		rank := rapid.IntRange(0, size-1).Draw(t, "rank")
		c := NewCart(dims, periods, rank)
		coords := c.Coords(rank)
		if back, bad := c.RankAt(coords); back != rank || bad != -1 {
			t.Fatalf("%v of %v is %d, not %d", coords, dims, back, rank)
		}
		if len(c.Sources) != 2*n || len(c.Destinations) != 2*n {
			t.Fatalf("%d sources, %d destinations", len(c.Sources), len(c.Destinations))
		}
		for d := range dims {
			disp := rapid.OneOf(rapid.IntRange(-12, 12), rapid.SampledFrom([]int{math.MaxInt, math.MinInt, math.MinInt + 1})).Draw(t, "displacement")
			at := func(by int) int { // the slow way
				x := slices.Clone(coords)
				if by > 1000 || by < -1000 {
					if !periods[d] {
						return ProcNull
					}
					x[d] = ((x[d]+by%dims[d])%dims[d] + dims[d]) % dims[d]
				} else {
					x[d] += by
				}
				r, bad := c.RankAt(x)
				if bad >= 0 {
					return ProcNull
				}
				return r
			}
			source, dest := c.Shift(rank, d, disp)
			if want := at(disp); dest != want {
				t.Fatalf("shift of %v in %v (%v) by %d along %d: to %d, want %d", coords, dims, periods, disp, d, dest, want)
			}
			if disp == math.MinInt { // has no negative
				continue
			}
			if want := at(-disp); source != want {
				t.Fatalf("shift of %v in %v (%v) by %d along %d: from %d, want %d", coords, dims, periods, disp, d, source, want)
			}
			if below, above := at(-1), at(1); c.Sources[2*d] != below || c.Sources[2*d+1] != above {
				t.Fatalf("neighbours of %v in %v (%v) along %d: %v, want %d and %d", coords, dims, periods, d, c.Sources, below, above)
			}
		}
	})
}

func TestGraphNeighbours(t *testing.T) {
	index, edges := []int{2, 3, 3, 6}, []int{1, 3, 0, 0, 2, 0}
	for rank, want := range [][]int{{1, 3}, {0}, {}, {0, 2, 0}} {
		g := NewGraph(index, edges, rank)
		if !slices.Equal(g.Sources, want) || !slices.Equal(g.Destinations, want) {
			t.Errorf("node %d: %v and %v, want %v", rank, g.Sources, g.Destinations, want)
		}
	}
}

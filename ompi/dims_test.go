package ompi_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

func TestDimsCreate(t *testing.T) {
	for _, c := range []struct {
		nodes      int
		dims, want []int
		err        error
	}{
		{6, []int{0, 0}, []int{3, 2}, nil}, // the four of MPI-3.1, example 7.1
		{7, []int{0, 0}, []int{7, 1}, nil},
		{6, []int{0, 3, 0}, []int{2, 3, 1}, nil},
		{7, []int{0, 3, 0}, nil, ompi.ErrDims},
		{1, []int{}, []int{}, nil},
		{2, []int{}, nil, ompi.ErrDims},
		{1, []int{0, 0, 0}, []int{1, 1, 1}, nil},
		{16, []int{0, 0, 0}, []int{4, 2, 2}, nil},
		{12, []int{0, 0}, []int{4, 3}, nil},
		{60, []int{0, 0, 0}, []int{5, 4, 3}, nil},
		{72, []int{0, 0, 0}, []int{6, 4, 3}, nil},
		{1000, []int{0, 0, 0}, []int{10, 10, 10}, nil},
		{1 << 20, []int{0, 0, 0, 0}, []int{32, 32, 32, 32}, nil},
		{1 << 30, []int{0, 0, 0, 0, 0, 0, 0}, []int{32, 32, 16, 16, 16, 16, 16}, nil},
		{367567200, []int{0, 0, 0, 0, 0}, nil, nil},
		{2147483647, []int{0, 0}, []int{2147483647, 1}, nil},
		{12, []int{0, 2, 0}, []int{3, 2, 2}, nil},
		{12, []int{3, 4}, []int{3, 4}, nil},
		{12, []int{3, 5}, nil, ompi.ErrDims},
		{12, []int{3, 2}, nil, ompi.ErrDims},
		{12, []int{-1, 0}, nil, ompi.ErrDims},
		{0, []int{0}, nil, ompi.ErrDims},
		{-4, []int{0}, nil, ompi.ErrDims},
	} {
		got := slices.Clone(c.dims)
		err := ompi.DimsCreate(c.nodes, got)
		if c.err != nil || err != nil {
			if !errors.Is(err, c.err) {
				t.Errorf("DimsCreate(%d, %v): %v, want %v", c.nodes, c.dims, err, c.err)
			} else if !slices.Equal(got, c.dims) {
				t.Errorf("DimsCreate(%d, %v): an error, and %v", c.nodes, c.dims, got)
			}
			continue
		}
		if c.want != nil && !slices.Equal(got, c.want) {
			t.Errorf("DimsCreate(%d, %v) is %v, want %v", c.nodes, c.dims, got, c.want)
		}
	}
}

// TestDimsBalanced compares with the best of all choices.
func TestDimsBalanced(t *testing.T) {
	for n := 1; n <= 400; n++ {
		for k := 1; k <= 4; k++ {
			best := n
			var try func(left, k, least, first int)
			try = func(left, k, least, first int) {
				if k == 1 {
					if left >= least {
						best = min(best, left-first)
					}
					return
				}
				for d := least; d <= left; d++ {
					if left%d == 0 {
						f := first
						if f == 0 {
							f = d
						}
						try(left/d, k-1, d, f)
					}
				}
			}
			if k == 1 {
				best = 0
			} else {
				try(n, k, 1, 0)
			}
			got := make([]int, k)
			if err := ompi.DimsCreate(n, got); err != nil {
				t.Fatal(err)
			}
			product := 1
			for _, d := range got {
				product *= d
			}
			if product != n || got[0]-got[k-1] != best || !slices.IsSortedFunc(got, func(a, b int) int { return b - a }) {
				t.Fatalf("DimsCreate(%d) in %d dimensions is %v, the least difference is %d", n, k, got, best)
			}
		}
	}
}

func TestDimsFillOnlyZeros(t *testing.T) {
	dims := []int{0, 5, 0, 1, 0}
	if err := ompi.DimsCreate(5*24, dims); err != nil || fmt.Sprint(dims) != "[4 5 3 1 2]" {
		t.Errorf("%v, %v", dims, err)
	}
}

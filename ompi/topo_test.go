package ompi_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

func TestCart(t *testing.T) {
	eachSize(t, func(w *ompi.Comm) error {
		n, me := w.Size(), w.Rank()
		dims := []int{0, 0}
		if err := ompi.DimsCreate(n, dims); err != nil {
			return err
		}
		c, err := w.CartCreate(dims, []bool{true, false}, true)
		if err != nil {
			return err
		}
		if err := works(c, upTo(n)); err != nil {
			return err
		}
		row, col := me/dims[1], me%dims[1]
		up, down := (row+dims[0]-1)%dims[0]*dims[1]+col, (row+1)%dims[0]*dims[1]+col
		left, right := ompi.ProcNull, ompi.ProcNull
		if col > 0 {
			left = me - 1
		}
		if col < dims[1]-1 {
			right = me + 1
		}
		d, err := c.Dup() // keeps it
		if err != nil {
			return err
		}
		e, r, err := d.Idup()
		if err != nil {
			return err
		}
		if _, err := r.Wait(); err != nil {
			return err
		}
		for _, x := range []*ompi.Comm{c, d, e} {
			gotDims, periods, coords, err := x.CartGet()
			if err != nil || !slices.Equal(gotDims, dims) || !slices.Equal(periods, []bool{true, false}) || !slices.Equal(coords, []int{row, col}) {
				return fmt.Errorf("CartGet: %v, %v, %v, %w", gotDims, periods, coords, err)
			}
			if got, err := x.CartCoords(me); err != nil || !slices.Equal(got, coords) {
				return fmt.Errorf("CartCoords: %v, %w", got, err)
			}
			if got, err := x.CartRank([]int{row - 3*dims[0], col}); err != nil || got != me {
				return fmt.Errorf("CartRank: %v, %w", got, err)
			}
			if s, d, err := x.CartShift(0, 1); err != nil || s != up || d != down {
				return fmt.Errorf("shift along 0: %d, %d, %w", s, d, err)
			}
			if s, d, err := x.CartShift(1, -1); err != nil || s != right || d != left {
				return fmt.Errorf("shift along 1: %d, %d, %w", s, d, err)
			}
			if s, d, err := x.CartShift(1, 0); err != nil || s != me || d != me {
				return fmt.Errorf("shift by 0: %d, %d, %w", s, d, err)
			}
			sources, destinations, err := x.Neighbors()
			if want := []int{up, down, left, right}; err != nil || !slices.Equal(sources, want) || !slices.Equal(destinations, want) {
				return fmt.Errorf("Neighbors: %v, %v, want %v, %w", sources, destinations, want, err)
			}
			for what, err := range map[error]error{
				ompi.ErrRank: second(x.CartCoords(n)),
				ompi.ErrArg:  all(ompi.ErrArg, second(x.CartRank([]int{0})), second(x.CartRank([]int{0, dims[1]})), second(x.CartRank([]int{0, -1})), third(x.CartShift(2, 1)), third(x.CartShift(-1, 1)), second(x.CartSub([]bool{true}))),
			} {
				if !errors.Is(err, what) {
					return fmt.Errorf("%v, want %v", err, what)
				}
			}
		}
		sub, err := c.CartSub([]bool{false, true})
		if err != nil {
			return err
		}
		subDims, subPeriods, subCoords, err := sub.CartGet()
		if err != nil || !slices.Equal(subDims, dims[1:]) || subPeriods[0] || !slices.Equal(subCoords, []int{col}) || sub.Size() != dims[1] || sub.Rank() != col {
			return fmt.Errorf("CartSub: %v, %v, %v, %w", subDims, subPeriods, subCoords, err)
		}
		point, err := c.CartSub([]bool{false, false})
		if err != nil {
			return err
		}
		if d, _, at, err := point.CartGet(); err != nil || len(d) != 0 || len(at) != 0 || point.Size() != 1 {
			return fmt.Errorf("a grid of no dimensions: %v, %v, %w", d, at, err)
		}
		if r, err := point.CartRank(nil); r != 0 || err != nil {
			return fmt.Errorf("the rank of no coordinates: %d, %w", r, err)
		}
		plain, err := c.Split(0, 0)
		if err != nil {
			return err
		}
		for what, err := range map[string]error{
			"Get": fourth(plain.CartGet()), "Coords": second(plain.CartCoords(0)), "Rank": second(plain.CartRank(nil)), "Shift": third(plain.CartShift(0, 0)),
			"Sub": second(plain.CartSub(nil)), "Neighbors": third(plain.Neighbors()),
		} {
			if !errors.Is(err, ompi.ErrTopology) {
				return fmt.Errorf("%s without a grid: %v", what, err)
			}
		}
		for _, x := range []*ompi.Comm{plain, point, sub, e, d, c} {
			if err := x.Free(); err != nil {
				return err
			}
		}
		return nil
	})
}

func second[A any](_ A, err error) error               { return err }
func third[A, B any](_ A, _ B, err error) error        { return err }
func fourth[A, B, C any](_ A, _ B, _ C, e error) error { return e }

// all is class when every error is of it.
func all(class error, errs ...error) error {
	for i, err := range errs {
		if !errors.Is(err, class) {
			return fmt.Errorf("error %d: %v", i, err)
		}
	}
	return class
}

// is is nil when every error is of the class.
func is(class error, errs ...error) error {
	if err := all(class, errs...); err != class {
		return err
	}
	return nil
}

func TestCartSmallerThanItsParent(t *testing.T) {
	eachSize(t, func(w *ompi.Comm) error {
		n, me := w.Size(), w.Rank()
		size := n - n/3
		c, err := w.CartCreate([]int{size}, []bool{true}, false)
		if err != nil || (c != nil) != (me < size) {
			return fmt.Errorf("%v, %w", c, err)
		}
		if c != nil {
			// A periodic dimension of one or two: the same neighbour twice.
			sources, _, err := c.Neighbors()
			if want := []int{(me + size - 1) % size, (me + 1) % size}; err != nil || !slices.Equal(sources, want) {
				return fmt.Errorf("neighbours %v, want %v, %w", sources, want, err)
			}
			if err := c.Free(); err != nil {
				return err
			}
		}
		point, err := w.CartCreate(nil, nil, false)
		if err != nil || (point != nil) != (me == 0) {
			return fmt.Errorf("no dimensions: %v, %w", point, err)
		}
		if point != nil {
			if err := third(point.CartShift(0, 1)); !errors.Is(err, ompi.ErrArg) {
				return fmt.Errorf("a shift along no dimension: %v", err)
			}
			if err := point.Free(); err != nil {
				return err
			}
		}
		return is(ompi.ErrDims, second(w.CartCreate([]int{n + 1}, []bool{true}, false)), second(w.CartCreate([]int{1 << 62, 4}, []bool{true, true}, false)),
			second(w.CartCreate([]int{0}, []bool{true}, false)), second(w.CartCreate([]int{-1}, []bool{true}, false)))
	})
}

func TestGraph(t *testing.T) {
	job(t, 5, func(w *ompi.Comm) error {
		index, edges := []int{2, 3, 4, 6}, []int{1, 3, 0, 3, 0, 2} // MPI-3.1, example 7.3
		c, err := w.GraphCreate(index, edges, true)
		if err != nil || (c != nil) != (w.Rank() < 4) {
			return fmt.Errorf("%v, %w", c, err)
		}
		if c != nil {
			want := [][]int{{1, 3}, {0}, {3}, {0, 2}}[w.Rank()]
			sources, destinations, err := c.Neighbors()
			if err != nil || !slices.Equal(sources, want) || !slices.Equal(destinations, want) {
				return fmt.Errorf("neighbours %v, %v, %w", sources, destinations, err)
			}
			if err := second(c.CartCoords(0)); !errors.Is(err, ompi.ErrTopology) {
				return fmt.Errorf("coordinates in a graph: %v", err)
			}
			if err := c.Free(); err != nil {
				return err
			}
		}
		if c, err := w.GraphCreate(nil, nil, false); c != nil || err != nil {
			return fmt.Errorf("no nodes: %v, %v", c, err)
		}
		for i, err := range []error{
			second(w.GraphCreate([]int{2, 1}, []int{0, 0}, false)),
			second(w.GraphCreate([]int{1, 2}, []int{0}, false)),
			second(w.GraphCreate([]int{1}, []int{1}, false)),
			second(w.GraphCreate([]int{1}, []int{-1}, false)),
			second(w.GraphCreate([]int{-1}, nil, false)),
			second(w.GraphCreate(make([]int, 6), nil, false)),
		} {
			if !errors.Is(err, ompi.ErrArg) {
				return fmt.Errorf("bad graph %d: %v", i, err)
			}
		}
		return nil
	})
}

// TestDistGraph: the same random multigraph, told by the ranks that own the edges and by others, gives the same neighbours.
func TestDistGraph(t *testing.T) {
	eachSize(t, func(w *ompi.Comm) error {
		n, me := w.Size(), w.Rank()
		type arc struct{ from, to, weight, teller int }
		var arcs []arc
		for i := range 3 * n {
			arcs = append(arcs, arc{i * 7 % n, i * i % n, i, (i * 5) % n})
		}
		var sources, degrees, destinations, weights, in, out, inW, outW []int
		for teller := range n { // neighbours come in the tellers' order
			for _, a := range arcs {
				if a.teller != teller {
					continue
				}
				if teller == me {
					sources, degrees = append(sources, a.from), append(degrees, 1)
					destinations, weights = append(destinations, a.to), append(weights, a.weight)
				}
				if a.to == me {
					in, inW = append(in, a.from), append(inW, a.weight)
				}
				if a.from == me {
					out, outW = append(out, a.to), append(outW, a.weight)
				}
			}
		}
		hint := ompi.NewInfo()
		if err := hint.Set("k", "v"); err != nil {
			return err
		}
		general, err := w.DistGraphCreate(sources, degrees, destinations, weights, hint, true)
		if err != nil {
			return err
		}
		plain, err := w.DistGraphCreate(sources, degrees, destinations, nil, nil, false)
		if err != nil {
			return err
		}
		adjacent, err := w.DistGraphCreateAdjacent(in, inW, out, outW, nil, true)
		if err != nil {
			return err
		}
		dup, err := general.Dup()
		if err != nil {
			return err
		}
		if v, _ := general.Info().Get("k"); v != "v" {
			return fmt.Errorf("the hint is %q", v)
		}
		for _, c := range []*ompi.Comm{general, plain, adjacent, dup} {
			s, d, err := c.Neighbors()
			if err != nil || !slices.Equal(s, in) || !slices.Equal(d, out) {
				return fmt.Errorf("neighbours %v and %v, want %v and %v: %w", s, d, in, out, err)
			}
			if err := errors.Join(works(c, upTo(n)), c.Free()); err != nil {
				return err
			}
		}
		// One rank is wrong: all get an error, that one its own.
		wrong := me == n-1
		for i, call := range []func() error{
			func() error { return second(w.DistGraphCreate([]int{0}, []int{2}, []int{0}, nil, nil, false)) },
			func() error { return second(w.DistGraphCreate([]int{0}, []int{0}, []int{0}, nil, nil, false)) },
			func() error { return second(w.DistGraphCreate([]int{0}, nil, []int{0}, nil, nil, false)) },
			func() error { return second(w.DistGraphCreate([]int{0}, []int{1}, []int{0}, []int{}, nil, false)) },
			func() error { return second(w.DistGraphCreate([]int{0}, []int{1}, []int{0}, []int{-1}, nil, false)) },
			func() error { return second(w.DistGraphCreateAdjacent([]int{0}, []int{}, nil, nil, nil, false)) },
		} {
			err := error(nil)
			if wrong {
				if err = call(); !errors.Is(err, ompi.ErrArg) {
					return fmt.Errorf("wrong %d: %v", i, err)
				}
			} else if i < 5 {
				err = second(w.DistGraphCreate(nil, nil, nil, nil, nil, false))
			} else {
				err = second(w.DistGraphCreateAdjacent(nil, nil, nil, nil, nil, false))
			}
			if err == nil {
				return fmt.Errorf("wrong %d went well", i)
			}
		}
		return nil
	})
}

package ompi_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// refused tells what is wrong when err is not of the class.
func refused(what string, err error, class ompi.ErrorClass) error {
	if errors.Is(err, class) {
		return nil
	}
	return fmt.Errorf("%s: got %v, want %v", what, err, class)
}

// TestReductionsHaveOneDatatype: buffers of different elements are refused before anything is written to the smaller one.
func TestReductionsHaveOneDatatype(t *testing.T) {
	for _, n := range []int{1, 2} {
		job(t, n, func(w *ompi.Comm) error {
			w.SetErrhandler(ompi.ErrorsReturn)
			sums, guard := make([]float64, 8), make([]int32, 8)
			in, out := ompi.Slice(sums), ompi.Slice(guard)
			counts := make([]int, n)
			for r := range counts {
				counts[r] = 8 / n
			}
			var errs []error
			for range 3 { // a board is in use from the second on
				errs = append(errs,
					refused("allreduce", w.Allreduce(in, out, ompi.Sum), ompi.ErrType),
					refused("reduce", w.Reduce(in, out, ompi.Sum, w.Rank()), ompi.ErrType),
					refused("scan", w.Scan(in, out, ompi.Sum), ompi.ErrType),
					refused("reduce_scatter", w.ReduceScatter(in, out, counts, ompi.Sum), ompi.ErrType),
					refused("reduce_scatter_block", w.ReduceScatterBlock(in, out, ompi.Sum), ompi.ErrType))
				_, err := w.Iallreduce(in, out, ompi.Sum).Wait()
				errs = append(errs, refused("iallreduce", err, ompi.ErrType))
			}
			for _, v := range guard {
				if v != 0 {
					errs = append(errs, fmt.Errorf("written to: %v", guard))
				}
			}
			return errors.Join(errs...)
		})
	}
}

// TestReductionOfEqualTypes: two types that are the same in memory will do.
func TestReductionOfEqualTypes(t *testing.T) {
	job(t, 3, func(w *ompi.Comm) error {
		everyOther := func() *datatype.Type {
			t, err := datatype.Vector(2, 1, 2, datatype.Int64)
			if err != nil {
				panic(err)
			}
			return t
		}
		add := ompi.NewRawOp(true, func(in, inout unsafe.Pointer, n int, _ *datatype.Type) {
			for i := range n {
				for _, at := range []int{24 * i, 24*i + 16} {
					*(*int64)(unsafe.Add(inout, at)) += *(*int64)(unsafe.Add(in, at))
				}
			}
		})
		in, out := []int64{1, 7, 3, 4, 7, 6}, []int64{0, -1, 0, 0, -1, 0}
		err := w.Allreduce(ompi.Typed(in, 2, everyOther()), ompi.Typed(out, 2, everyOther()), add)
		if want := []int64{3, -1, 9, 12, -1, 18}; err != nil || !slices.Equal(out, want) {
			return fmt.Errorf("got %v, want %v: %w", out, want, err)
		}
		return nil
	})
}

// TestExscanOfTheFirstRank: what rank 0 receives into is of no meaning.
func TestExscanOfTheFirstRank(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		job(t, n, func(w *ompi.Comm) error {
			w.SetErrhandler(ompi.ErrorsReturn)
			me := w.Rank()
			in, out := int64(me+1), int64(-1)
			recv := ompi.Value(&out)
			if me == 0 {
				recv = ompi.Buffer{}
			}
			check := func(what string, err error) error {
				if want := int64(me * (me + 1) / 2); err != nil || me > 0 && out != want {
					return fmt.Errorf("%s: rank %d of %d has %d, want %d: %w", what, me, n, out, want, err)
				}
				return nil
			}
			err := check("exscan", w.Exscan(ompi.Value(&in), recv, ompi.Sum))
			out = -1
			_, later := w.Iexscan(ompi.Value(&in), recv, ompi.Sum).Wait()
			return errors.Join(err, check("iexscan", later))
		})
	}
}

// TestDisplacementsThatOverflow: a block must not pass the check because its end is no int any more.
func TestDisplacementsThatOverflow(t *testing.T) {
	job(t, 1, func(w *ompi.Comm) error {
		w.SetErrhandler(ompi.ErrorsReturn)
		v := []int64{1, 2}
		return errors.Join(
			refused("allgatherv", w.Allgatherv(ompi.Slice(v[:1]), ompi.Slice(v[1:]), []int{1}, []int{math.MaxInt}), ompi.ErrArg),
			refused("alltoallv", w.Alltoallv(ompi.Slice(v), []int{2}, []int{math.MaxInt}, ompi.Slice(v[1:]), []int{1}, nil), ompi.ErrArg))
	})
}

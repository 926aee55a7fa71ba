package ompi_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestDisagreement: ranks that share memory and call different operations, or with other sizes or roots, are told, and the communicator
// goes on.
func TestDisagreement(t *testing.T) {
	const n = 3
	for name, call := range map[string]struct {
		op    func(w *ompi.Comm) error
		class ompi.ErrorClass
	}{
		"operation": {func(w *ompi.Comm) error {
			if w.Rank() == 0 {
				return w.Barrier()
			}
			x := []int{1}
			return w.Allreduce(ompi.InPlace(), ompi.Slice(x), ompi.Sum)
		}, ompi.ErrArg},
		"size": {func(w *ompi.Comm) error {
			return w.Allreduce(ompi.InPlace(), ompi.Slice(make([]int, 10+w.Rank())), ompi.Sum)
		}, ompi.ErrArg},
	} {
		t.Run(name, func(t *testing.T) {
			job(t, n, func(w *ompi.Comm) error {
				var m must
				for range 5 {
					m.ok(w.Barrier())
				}
				err := call.op(w)
				m.that(errors.Is(err, call.class), "rank %d: %v", w.Rank(), err)
				for i := range 10 {
					x := []int{i}
					m.ok(w.Allreduce(ompi.InPlace(), ompi.Slice(x), ompi.Sum))
					m.that(x[0] == n*i, "%d afterwards, want %d", x[0], n*i)
				}
				return m.err
			})
		})
	}
	t.Run("reduce", func(t *testing.T) {
		job(t, n, func(w *ompi.Comm) error {
			var m must
			for range 5 {
				m.ok(w.Barrier())
			}
			// Who is no root and does not come last need not wait, and hears nothing.
			x, y := []int{1}, []int{0}
			err := w.Reduce(ompi.Slice(x), ompi.Slice(y), ompi.Sum, w.Rank()%2)
			m.that(errors.Is(err, ompi.ErrArg) || w.Rank() == 2, "rank %d: %v", w.Rank(), err)
			m.ok(w.Barrier())
			m.ok(w.Barrier())
			return m.err
		})
	})
	t.Run("finalize", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		err := ompi.Run(ctx, n, func(w *ompi.Comm) error {
			for range 5 {
				if err := w.Barrier(); err != nil {
					return err
				}
			}
			if w.Rank() == 0 {
				return nil
			}
			return w.Barrier()
		})
		if !errors.Is(err, ompi.ErrArg) {
			t.Errorf("one rank has ended and the others wait for it: %v", err)
		}
	})
	t.Run("bcast", func(t *testing.T) {
		job(t, n, func(w *ompi.Comm) error {
			var m must
			for range 5 {
				m.ok(w.Barrier())
			}
			x := []int{w.Rank()}
			err := w.Bcast(ompi.Slice(x), w.Rank()%2)
			if errors.Is(err, ompi.ErrRoot) {
				x[0] = 100
			}
			sum := []int{x[0]}
			m.ok(w.Allreduce(ompi.InPlace(), ompi.Slice(sum), ompi.Sum))
			m.that(sum[0] >= 100, "nobody noticed")
			return m.err
		})
	})
}

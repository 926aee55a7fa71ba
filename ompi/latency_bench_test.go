package ompi_test

import (
	"context"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// BenchmarkSelf is eight bytes from a rank to itself: all that a message costs besides its way to another core.
func BenchmarkSelf(b *testing.B) {
	in, out := new(int64), new(int64)
	for name, once := range map[string]func(w *ompi.Comm) error{
		"Send Recv": func(w *ompi.Comm) error {
			if err := w.Send(ompi.Value(out), 0, 1); err != nil {
				return err
			}
			_, err := w.Recv(ompi.Value(in), 0, 1)
			return err
		},
		"Irecv Isend Wait": func(w *ompi.Comm) error {
			r, s := w.Irecv(ompi.Value(in), 0, 1), w.Isend(ompi.Value(out), 0, 1)
			if _, err := r.Wait(); err != nil {
				return err
			}
			_, err := s.Wait()
			return err
		},
		"WaitAll": func(w *ompi.Comm) error {
			return ompi.WaitAll(w.Irecv(ompi.Value(in), 0, 1), w.Isend(ompi.Value(out), 0, 1))
		},
	} {
		for _, seen := range []bool{false, true} {
			var opts []ompi.Option
			title := name
			if seen {
				title += ", intercepted"
				opts = append(opts, ompi.WithInterceptor(func(_ ompi.Call, next func() error) error { return next() }))
			}
			b.Run(title, func(b *testing.B) {
				b.ReportAllocs()
				if err := ompi.Run(context.Background(), 1, func(w *ompi.Comm) error {
					for range b.N {
						if err := once(w); err != nil {
							return err
						}
					}
					return nil
				}, opts...); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

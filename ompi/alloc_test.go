package ompi_test

import (
	"fmt"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestAllocations: a message allocates nothing, at neither end, by every protocol and call that is hot.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const runs = 50
	for _, n := range []int{0, 8, 200, 4000, 100_000} {
		buf := make([]byte, n)
		calls := map[string]func(w *ompi.Comm, first bool, peer int) error{
			"Send/Recv": func(w *ompi.Comm, first bool, peer int) error {
				if first {
					if err := w.Send(ompi.Slice(buf), peer, 1); err != nil {
						return err
					}
				}
				if _, err := w.Recv(ompi.Slice(buf), peer, 1); err != nil || first {
					return err
				}
				return w.Send(ompi.Slice(buf), peer, 1)
			},
			"Isend/Irecv/Wait": func(w *ompi.Comm, _ bool, peer int) error {
				r, s := w.Irecv(ompi.Slice(buf), peer, 2), w.Isend(ompi.Slice(buf), peer, 2)
				if _, err := r.Wait(); err != nil {
					return err
				}
				_, err := s.Wait()
				return err
			},
		}
		for name, call := range calls {
			t.Run(fmt.Sprintf("sm/%s/%d", name, n), func(t *testing.T) {
				job(t, 2, func(w *ompi.Comm) error {
					var failure error
					once := func() {
						if err := call(w, w.Rank() == 0, 1-w.Rank()); err != nil && failure == nil {
							failure = err
						}
					}
					const warm = 100
					for range warm {
						once()
					}
					if w.Rank() == 1 {
						for range runs + 1 { // AllocsPerRun runs once more, first
							once()
						}
						return failure
					}
					if a := testing.AllocsPerRun(runs, once); a != 0 {
						t.Errorf("%v allocations", a)
					}
					return failure
				})
			})
		}
		t.Run(fmt.Sprintf("self/Isend/Irecv/Wait/%d", n), func(t *testing.T) {
			in := make([]byte, n)
			job(t, 1, func(w *ompi.Comm) error {
				var failure error
				once := func() {
					r, s := w.Irecv(ompi.Slice(in), 0, 2), w.Isend(ompi.Slice(buf), 0, 2)
					if _, err := r.Wait(); err != nil {
						failure = err
					}
					if _, err := s.Wait(); err != nil {
						failure = err
					}
				}
				for range 100 {
					once()
				}
				if a := testing.AllocsPerRun(runs, once); a != 0 {
					t.Errorf("%v allocations", a)
				}
				return failure
			})
		})
	}
}

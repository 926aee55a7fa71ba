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
			"Irecv/Isend/WaitAll": func(w *ompi.Comm, _ bool, peer int) error {
				return ompi.WaitAll(w.Irecv(ompi.Slice(buf), peer, 3), w.Isend(ompi.Slice(buf), peer, 3))
			},
			"Irecv/Isend/WaitAny": func(w *ompi.Comm, _ bool, peer int) error {
				reqs := [2]ompi.Request{w.Irecv(ompi.Slice(buf), peer, 3), w.Isend(ompi.Slice(buf), peer, 3)}
				for range reqs {
					if _, _, err := ompi.WaitAny(reqs[:]...); err != nil {
						return err
					}
				}
				return nil
			},
			"Isend/Recv of anything": func(w *ompi.Comm, _ bool, peer int) error {
				s := w.Isend(ompi.Slice(buf), peer, 3)
				if _, err := w.Recv(ompi.Slice(buf), ompi.AnySource, ompi.AnyTag); err != nil {
					return err
				}
				_, err := s.Wait()
				return err
			},
			"Isendrecv": func(w *ompi.Comm, _ bool, peer int) error {
				_, err := w.Isendrecv(ompi.Slice(buf), peer, 3, ompi.Slice(buf), peer, 3).Wait()
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

// TestPartitionAllocations: a round of a partitioned operation allocates nothing, whatever its partitions' size.
func TestPartitionAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, each := range []int{8, 5000} {
		const parts, runs = 10, 50
		job(t, 2, func(w *ompi.Comm) error {
			out, in := make([]byte, parts*each), make([]byte, parts*each)
			s, r := w.PsendInit(ompi.Slice(out), parts, 1-w.Rank(), 0), w.PrecvInit(ompi.Slice(in), parts, 1-w.Rank(), 0)
			var failure error
			note := func(err error) {
				if failure == nil {
					failure = err
				}
			}
			once := func() {
				note(s.Start())
				note(r.Start())
				for k := range parts {
					note(s.Pready(k))
				}
				note(ompi.WaitAll(s, r))
			}
			for range 100 {
				once()
			}
			if w.Rank() == 1 {
				for range runs + 1 {
					once()
				}
				return failure
			}
			if a := testing.AllocsPerRun(runs, once); a != 0 {
				t.Errorf("%v allocations a round of partitions of %d bytes", a, each)
			}
			return failure
		})
	}
}

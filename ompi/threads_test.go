package ompi_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// threads runs f in n goroutines of a rank and returns what went wrong.
func threads(n int, f func(k int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for k := range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[k] = f(k)
		}()
	}
	wg.Wait()
	return errors.Join(errs...)
}

// TestThreadMultiple: eight goroutines of each rank talk over one communicator at once, in every way (MPI-3.1 §12.4).
func TestThreadMultiple(t *testing.T) {
	const ranks, goroutines, rounds = 3, 8, 40
	for _, btl := range []string{"self,sm", "self,tcp"} {
		t.Run(btl, func(t *testing.T) {
			job(t, ranks, func(w *ompi.Comm) error {
				to, from := (w.Rank()+1)%ranks, (w.Rank()+ranks-1)%ranks
				return threads(goroutines, func(k int) error {
					for round := range rounds {
						n := []int{0, 8, 300, 20_000, 100_000}[(round+k)%5]
						out, in := make([]byte, n), make([]byte, n)
						fillMessage(out, w.Rank()*1000+k)
						var st ompi.Status
						var err error
						switch round % 4 {
						case 0:
							st, err = w.Sendrecv(ompi.Slice(out), to, k, ompi.Slice(in), from, k)
						case 1:
							r := w.Irecv(ompi.Slice(in), from, k)
							if err = w.Ssend(ompi.Slice(out), to, k); err == nil {
								st, err = r.Wait()
							}
						case 2:
							s := w.Isend(ompi.Slice(out), to, k)
							var m *ompi.Message
							if m, _, err = w.Mprobe(from, k); err == nil {
								st, err = m.Recv(ompi.Slice(in))
							}
							if _, e := s.Wait(); err == nil {
								err = e
							}
						case 3:
							s, r := w.Issend(ompi.Slice(out), to, k), w.Irecv(ompi.Slice(in), from, k)
							for ok := false; !ok && err == nil; {
								st, ok, err = r.Test()
							}
							if _, e := s.Wait(); err == nil {
								err = e
							}
						}
						want := make([]byte, n)
						fillMessage(want, from*1000+k)
						if err != nil || st.Source != from || st.Tag != k || string(in) != string(want) {
							return fmt.Errorf("goroutine %d round %d: %+v, %w", k, round, st, err)
						}
					}
					return nil
				})
			}, ompi.WithParam("btl", btl))
		})
	}
}

// TestMprobeConcurrent: many goroutines of a rank probe and receive the same stream; each message goes to exactly one of them
// (the reason for matched probes, MPI-3.1 §3.8.2).
func TestMprobeConcurrent(t *testing.T) {
	const goroutines, messages = 8, 400
	job(t, 2, func(w *ompi.Comm) error {
		if w.Rank() == 0 {
			for i := range messages + goroutines {
				size := 1 + i%50
				if i >= messages {
					size = 0 // the end, once for each
				} else if i%37 == 0 {
					size = 70_000
				}
				b := make([]byte, size)
				fillMessage(b, size)
				if err := w.Send(ompi.Slice(b), 1, 5); err != nil {
					return err
				}
			}
			return nil
		}
		var mu sync.Mutex
		got := 0
		err := threads(goroutines, func(k int) error {
			for {
				var m *ompi.Message
				var st ompi.Status
				var err error
				ok := true
				if k%2 == 0 {
					m, st, err = w.Mprobe(ompi.AnySource, 5)
				} else {
					m, st, ok, err = w.Improbe(0, ompi.AnyTag)
				}
				if err != nil {
					return err
				}
				if !ok {
					time.Sleep(10 * time.Microsecond)
					continue
				}
				b := make([]byte, st.Bytes())
				if _, err := m.Recv(ompi.Slice(b)); err != nil {
					return err
				}
				if _, err := m.Recv(ompi.Slice(b)); !errors.Is(err, ompi.ErrRequest) {
					return fmt.Errorf("a message was received twice: %w", err)
				}
				if len(b) == 0 {
					return nil
				}
				want := make([]byte, len(b))
				fillMessage(want, len(b))
				if string(b) != string(want) {
					return fmt.Errorf("a message of %d bytes is mixed with another", len(b))
				}
				mu.Lock()
				got++
				mu.Unlock()
			}
		})
		if err == nil && got != messages {
			err = fmt.Errorf("%d messages, want %d", got, messages)
		}
		return err
	})
}

// TestThreadsOrder: messages of one goroutine to one goroutine stay in order while others send, too.
func TestThreadsOrder(t *testing.T) {
	const goroutines, messages = 8, 300
	job(t, 2, func(w *ompi.Comm) error {
		return threads(goroutines, func(k int) error {
			for i := range messages {
				v := int64(k*messages + i)
				if w.Rank() == 0 {
					if err := w.Send(ompi.Value(&v), 1, k); err != nil {
						return err
					}
					continue
				}
				var got int64
				if _, err := w.Recv(ompi.Value(&got), 0, k); err != nil || got != v {
					return fmt.Errorf("goroutine %d message %d is %d: %w", k, i, got-int64(k*messages), err)
				}
			}
			return nil
		})
	})
}

// TestSelfAsleep: a rank talks to itself while another goroutine of it drives the engine, and has gone to sleep over its own wait.
func TestSelfAsleep(t *testing.T) {
	for _, ranks := range []int{1, 2} {
		job(t, ranks, func(w *ompi.Comm) error {
			other := make(chan error)
			go func() {
				_, err := w.Recv(ompi.Slice[byte](nil), w.Rank(), 99)
				other <- err
			}()
			for round := range 3 {
				time.Sleep(30 * time.Millisecond)
				for _, n := range []int{8, 100_000} {
					out, in := make([]byte, n), make([]byte, n)
					fillMessage(out, round)
					r := w.Irecv(ompi.Slice(in), w.Rank(), 1)
					if err := w.Send(ompi.Slice(out), w.Rank(), 1); err != nil {
						return err
					}
					if _, err := r.Wait(); err != nil || string(in) != string(out) {
						return fmt.Errorf("round %d: %w", round, err)
					}
				}
			}
			if err := w.Send(ompi.Slice[byte](nil), w.Rank(), 99); err != nil {
				return err
			}
			return <-other
		})
	}
}

package ompi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// job runs a job of goroutine ranks and fails the test when it fails or hangs.
func job(t testing.TB, n int, body func(world *ompi.Comm) error, opts ...ompi.Option) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(context.Background(), 60*time.Second, errors.New("the test's job hangs"))
	defer cancel()
	if err := ompi.Run(ctx, n, body, opts...); err != nil {
		t.Fatal(err)
	}
}

func TestRing(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8, 17} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			job(t, n, func(w *ompi.Comm) error {
				next, prev := (w.Rank()+1)%n, (w.Rank()+n-1)%n
				token := []int64{0}
				for round := range 10 {
					if w.Rank() == 0 {
						token[0]++
						r := w.Irecv(ompi.Slice(token), prev, round)
						out := []int64{token[0]}
						if err := w.Send(ompi.Slice(out), next, round); err != nil {
							return err
						}
						if _, err := r.Wait(); err != nil {
							return err
						}
						continue
					}
					st, err := w.Recv(ompi.Slice(token), prev, round)
					if err != nil {
						return err
					}
					if st.Source != prev || st.Tag != round || st.Bytes() != 8 {
						return fmt.Errorf("status %+v", st)
					}
					token[0]++
					if err := w.Send(ompi.Slice(token), next, round); err != nil {
						return err
					}
				}
				if w.Rank() == 0 && token[0] != int64(10*n) {
					return fmt.Errorf("token %d, want %d", token[0], 10*n)
				}
				return nil
			})
		})
	}
}

func TestSizes(t *testing.T) {
	job(t, 2, func(w *ompi.Comm) error {
		for _, n := range []int{0, 1, 8, 39, 40, 41, 255, 256, 257, 4096, 16<<10 - 16, 16 << 10, 16<<10 + 1, 100_000, 1 << 20, 5<<20 + 3} {
			buf := make([]byte, n)
			if w.Rank() == 0 {
				for i := range buf {
					buf[i] = byte(i * 7)
				}
				if err := w.Send(ompi.Slice(buf), 1, 5); err != nil {
					return err
				}
				continue
			}
			st, err := w.Recv(ompi.Slice(buf), ompi.AnySource, ompi.AnyTag)
			if err != nil {
				return err
			}
			if st.Bytes() != int64(n) || st.Source != 0 || st.Tag != 5 {
				return fmt.Errorf("size %d: status %+v", n, st)
			}
			for i := range buf {
				if buf[i] != byte(i*7) {
					return fmt.Errorf("size %d: byte %d is %d", n, i, buf[i])
				}
			}
		}
		return nil
	})
}

func TestWindowOfRequests(t *testing.T) {
	const k = 200
	job(t, 4, func(w *ompi.Comm) error {
		in, out := make([]int32, 4*k), make([]int32, 4*k)
		var reqs []ompi.Request
		for p := range 4 {
			for i := range k {
				reqs = append(reqs, w.Irecv(ompi.Slice(in[p*k+i:p*k+i+1]), p, i))
			}
		}
		for p := range 4 {
			for i := k - 1; i >= 0; i-- {
				out[p*k+i] = int32(w.Rank()*1000 + i)
				reqs = append(reqs, w.Isend(ompi.Slice(out[p*k+i:p*k+i+1]), p, i))
			}
		}
		if err := ompi.WaitAll(reqs...); err != nil {
			return err
		}
		for p := range 4 {
			for i := range k {
				if in[p*k+i] != int32(p*1000+i) {
					return fmt.Errorf("from %d tag %d: %d", p, i, in[p*k+i])
				}
			}
		}
		return nil
	})
}

func TestTruncation(t *testing.T) {
	job(t, 2, func(w *ompi.Comm) error {
		for _, n := range []int{100, 50_000, 1 << 20} {
			if w.Rank() == 0 {
				big := slices.Repeat([]byte{7}, n)
				if err := w.Send(ompi.Slice(big), 1, 0); err != nil {
					return fmt.Errorf("the sender of a truncated message: %w", err)
				}
				continue
			}
			small := make([]byte, n/2)
			st, err := w.Recv(ompi.Slice(small), 0, 0)
			if !errors.Is(err, ompi.ErrTruncate) {
				return fmt.Errorf("size %d: error %v, want ErrTruncate", n, err)
			}
			if st.Bytes() != int64(n/2) || slices.ContainsFunc(small, func(b byte) bool { return b != 7 }) {
				return fmt.Errorf("size %d: the first bytes did not come: %+v", n, st)
			}
		}
		return nil
	})
}

// TestForgivingErrhandler: a call whose arguments are wrong does nothing, also when the error handler makes no error of that; and a
// handler hears of each error once.
func TestForgivingErrhandler(t *testing.T) {
	job(t, 1, func(w *ompi.Comm) error {
		var m must
		heard := 0
		w.SetErrhandler(func(*ompi.Comm, error) error { heard++; return nil })
		b := ompi.Slice(make([]byte, 4))
		send := []func(ompi.Buffer, int, int) error{w.Send, w.Ssend, w.Rsend, w.Bsend}
		for _, f := range send {
			m.ok(f(b, 5, 0))
		}
		start := []func(ompi.Buffer, int, int) ompi.Request{w.Isend, w.Issend, w.Irsend, w.Ibsend, w.Irecv, w.SendInit, w.RecvInit, w.BsendInit}
		for _, f := range start {
			_, err := f(b, 5, 0).Wait()
			m.ok(err)
		}
		_, err := w.Recv(b, 5, 0)
		m.ok(err)
		_, _, err = w.Iprobe(0, -7)
		m.ok(err)
		_, err = w.Sendrecv(b, 5, 0, b, 5, 0)
		m.ok(err)
		_, err = w.SendrecvReplace(b, 0, 0, 5, 0)
		m.ok(err)
		_, err = w.Isendrecv(b, 5, 0, b, 5, 0).Wait()
		m.ok(err)
		m.ok(ompi.WaitAll(w.PsendInit(b, 3, 0, 0), w.PrecvInit(b, 2, 9, 0)))
		want := len(send) + len(start) + 7
		m.that(heard == want, "the handler heard of %d errors, want %d", heard, want)
		return m.err
	})
}

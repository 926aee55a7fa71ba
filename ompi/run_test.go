package ompi_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// blockForever waits for messages that nobody sends, in as many ways as there are.
func blockForever(w *ompi.Comm) error {
	var b [1]byte
	buf := ompi.Slice(b[:])
	var err error
	switch w.Rank() % 6 {
	case 0:
		_, err = w.Recv(buf, (w.Rank()+1)%w.Size(), 77)
	case 1:
		_, err = w.Recv(buf, ompi.AnySource, 77)
	case 2:
		_, err = w.Probe(ompi.AnySource, 77)
	case 3:
		err = w.Ssend(buf, 0, 99)
	case 4:
		err = ompi.WaitAll(w.Irecv(buf, 0, 78), w.Issend(ompi.Slice(make([]byte, 1<<20)), 1, 98))
	case 5:
		_, _, err = ompi.WaitAny(w.Irecv(buf, 0, 78), w.Irecv(buf, 1, 78))
	}
	return err
}

// ended runs a job that must end with an error soon.
func ended(t *testing.T, n int, ctx context.Context, body func(w *ompi.Comm) error) *ompi.Error {
	t.Helper()
	result := make(chan error, 1)
	go func() { result <- ompi.Run(ctx, n, body) }()
	select {
	case err := <-result:
		var e *ompi.Error
		if !errors.As(err, &e) {
			t.Fatalf("Run: %v, want an *Error", err)
		}
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("the job does not end")
	}
	return nil
}

// TestRunCancelled: the end of the context fails everything pending with its cause.
func TestRunCancelled(t *testing.T) {
	mine := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	var pending, causes atomic.Int32
	e := ended(t, 7, ctx, func(w *ompi.Comm) error {
		if w.Rank() == 6 {
			for pending.Load() < 6 {
				runtime.Gosched()
			}
			time.Sleep(2 * time.Millisecond)
			cancel(mine)
			return w.Barrier()
		}
		pending.Add(1)
		err := blockForever(w)
		if errors.Is(err, mine) {
			causes.Add(1)
		}
		return err
	})
	if !errors.Is(e, mine) || causes.Load() != 6 {
		t.Errorf("Run: %v; %d of 6 calls ended with the cause", e, causes.Load())
	}
	if e := ended(t, 2, ctx, func(*ompi.Comm) error { return nil }); !errors.Is(e, mine) {
		t.Errorf("Run with a context that has ended: %v", e)
	}
}

// TestRunEnds: a rank that fails, panics, aborts or vanishes ends the job; the others' calls return.
func TestRunEnds(t *testing.T) {
	mine := errors.New("no such lattice")
	for _, c := range []struct {
		name string
		rank int
		end  func(w *ompi.Comm) error
		want func(*ompi.Error) bool
	}{
		{"Error", 2, func(*ompi.Comm) error { return fmt.Errorf("reading: %w", mine) }, func(e *ompi.Error) bool { return errors.Is(e, mine) && e.Peer == 2 }},
		{"MPIError", 1, func(w *ompi.Comm) error { return w.Send(ompi.Slice([]byte{1}), 99, 0) }, func(e *ompi.Error) bool { return errors.Is(e, ompi.ErrRank) && e.Peer == 1 }},
		{"Panic", 0, func(*ompi.Comm) error { panic("ouch") }, func(e *ompi.Error) bool {
			return e.Peer == 0 && strings.Contains(e.Error(), "ouch") && strings.Contains(e.Error(), "run_test.go")
		}},
		{"Abort", 2, func(w *ompi.Comm) error { w.Abort(7); return nil }, func(e *ompi.Error) bool {
			return errors.Is(e, ompi.ErrProcAborted) && e.Peer == 2 && strings.Contains(e.Error(), "7")
		}},
		{"Goexit", 1, func(*ompi.Comm) error { runtime.Goexit(); return nil }, func(e *ompi.Error) bool { return e.Peer == 1 }},
		{"Fatal", 1, func(w *ompi.Comm) error {
			w.SetErrhandler(ompi.ErrorsAreFatal)
			return w.Send(ompi.Slice([]byte{1}), 99, 0)
		}, func(e *ompi.Error) bool { return e.Peer == 1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var returned atomic.Int32
			e := ended(t, 3, context.Background(), func(w *ompi.Comm) error {
				err := w.Barrier() // which may fail at who is late to leave it
				if w.Rank() == c.rank {
					return c.end(w)
				}
				if err == nil {
					err = blockForever(w)
				}
				returned.Add(1)
				if err == nil {
					t.Errorf("rank %d: a call that nobody answers succeeded", w.Rank())
				}
				return err
			})
			if !c.want(e) {
				t.Errorf("Run: %+v: %v", e, e)
			}
			if returned.Load() != 2 {
				t.Errorf("%d of 2 calls returned", returned.Load())
			}
		})
	}
}

// TestRunLeavesNothing: after a job its goroutines are gone, however it ended.
func TestRunLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	for i := range 10 {
		_ = ompi.Run(context.Background(), 4, func(w *ompi.Comm) error {
			if i%2 == 0 && w.Rank() == 1 {
				return errors.New("stop")
			}
			return w.Barrier()
		})
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
	}
}

// TestCallsAfterFinalize are refused.
func TestCallsAfterFinalize(t *testing.T) {
	job(t, 2, func(w *ompi.Comm) error {
		var m must
		m.ok(w.Instance().Finalize())
		b := ompi.Slice([]byte{1})
		m.that(w.Instance().Finalize() != nil, "Finalize twice")
		m.that(w.Barrier() != nil, "Barrier after Finalize")
		_, err := w.Irecv(b, 0, 0).Wait()
		m.that(err != nil, "Irecv after Finalize")
		_, err = w.Isend(b, 0, 0).Wait()
		m.that(err != nil, "Isend after Finalize")
		_, err = w.Dup()
		m.that(err != nil, "Dup after Finalize")
		return m.err
	})
}

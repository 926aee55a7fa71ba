package sm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// job runs a whole job of goroutine ranks with the component as it is built in.
func job(t *testing.T, ctx context.Context, n int, body func(world *ompi.Comm) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(ctx, 60*time.Second, errors.New("the test's job hangs"))
	defer cancel()
	return ompi.Run(ctx, n, body)
}

// Communicators come and go, as copies and as parts, and their boards with them.
func TestCommunicatorsComeAndGo(t *testing.T) {
	err := job(t, context.Background(), 5, func(w *ompi.Comm) error {
		for round := range 40 {
			part, err := w.Split(round%2*(w.Rank()%2), -w.Rank())
			if err != nil {
				return err
			}
			dup, err := part.Dup()
			if err != nil {
				return err
			}
			for _, c := range []*ompi.Comm{part, dup, w} {
				for range round % 5 {
					in, out := []int64{1}, []int64{0}
					if err := errors.Join(c.Barrier(), c.Allreduce(ompi.Slice(in), ompi.Slice(out), ompi.Sum)); err != nil {
						return err
					}
					if out[0] != int64(c.Size()) {
						return fmt.Errorf("round %d: sum %d on %d ranks", round, out[0], c.Size())
					}
				}
			}
			if err := errors.Join(dup.Free(), part.Free()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// While one goroutine of a rank waits in a barrier, messages of its other goroutines move on, and the other way round.
func TestBarrierBesideMessages(t *testing.T) {
	const n, rounds = 4, 300
	err := job(t, context.Background(), n, func(w *ompi.Comm) error {
		mine, err := w.Dup()
		if err != nil {
			return err
		}
		failed := make(chan error, 1)
		go func() {
			buf := make([]byte, 3000)
			for i := range rounds {
				if w.Rank()%2 == 0 {
					err = w.Send(ompi.Slice(buf), w.Rank()+1, i)
				} else {
					_, err = w.Recv(ompi.Slice(buf), w.Rank()-1, i)
				}
				if err != nil {
					break
				}
			}
			failed <- err
		}()
		for range rounds {
			if err := mine.Barrier(); err != nil {
				return err
			}
		}
		return errors.Join(<-failed, mine.Free())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A job that is cancelled, or that loses a rank, while the others wait on a board ends.
func TestJobEndsWhileWaiting(t *testing.T) {
	for name, leave := range map[string]func(cancel func(), others <-chan struct{}) error{
		"cancelled": func(cancel func(), others <-chan struct{}) error {
			cancel()
			<-others
			return context.Canceled // else it would come to the barrier after all, that of Finalize
		},
		"error": func(func(), <-chan struct{}) error { return errors.New("this rank has had enough") },
		"panic": func(func(), <-chan struct{}) error { panic("this rank falls") },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			others := make(chan struct{})
			err := job(t, ctx, 4, func(w *ompi.Comm) error {
				for range 5 {
					if err := w.Barrier(); err != nil {
						return err
					}
				}
				if w.Rank() == 3 {
					time.Sleep(2 * time.Millisecond) // the others wait by now, most likely
					return leave(cancel, others)
				}
				if w.Rank() == 0 {
					defer close(others)
				}
				err := w.Barrier()
				if err == nil {
					t.Error("a barrier ended without one rank")
				}
				return err
			})
			if err == nil || ctx.Err() != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("the job ended with %v", err)
			}
		})
	}
}

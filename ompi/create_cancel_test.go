package ompi_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestCancelledCreations: wherever the making and freeing of communicators is when the job is cancelled, all of it ends.
func TestCancelledCreations(t *testing.T) {
	const threadsEach = 3
	for round := range 40 {
		ctx, cancel := context.WithCancelCause(context.Background())
		why := errors.New("enough")
		delay := time.Duration(rand.IntN(8000)) * time.Microsecond
		timer := time.AfterFunc(delay, func() { cancel(why) })
		done := make(chan error, 1)
		go func() {
			done <- ompi.Run(ctx, 2+round%3, func(w *ompi.Comm) error {
				comms := make([]*ompi.Comm, threadsEach)
				for n := range comms {
					var err error
					if comms[n], err = w.Dup(); err != nil {
						return err
					}
				}
				return errors.Join(threads(threadsEach, func(n int) error {
					for c := comms[n]; ; {
						if _, _, err := c.Idup(); err != nil { // never waited for
							return err
						}
						d, r, err := c.Idup()
						if err != nil {
							return err
						}
						x, err := c.CreateGroup(c.Group(), n)
						if err != nil {
							return err
						}
						if _, err := r.Wait(); err != nil {
							return err
						}
						if err := errors.Join(x.Free(), d.Free()); err != nil {
							return err
						}
					}
				}))
			})
		}()
		select {
		case err := <-done:
			if !errors.Is(err, why) {
				t.Errorf("round %d: %v", round, err)
			}
		case <-time.After(20 * time.Second):
			panic("it hangs") // with all stacks
		}
		timer.Stop()
		cancel(nil)
	}
}

package portals4_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// job runs a whole job of goroutine ranks in which the component serves all that it can.
func job(t *testing.T, ctx context.Context, n int, body func(world *ompi.Comm) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(ctx, 60*time.Second, errors.New("the test's job hangs"))
	defer cancel()
	return ompi.Run(ctx, n, body, ompi.WithParam("coll", "self,inter,portals4,sm,nbc,tuned,basic"), ompi.WithParam("coll_portals4_priority", "60"))
}

// Over pml cm non-blocking operations are this component's without a word, over ob1 they are not.
func TestWhoServes(t *testing.T) {
	for pml, want := range map[string]bool{"cm": true, "ob1": false} {
		err := ompi.Run(context.Background(), 2, func(w *ompi.Comm) error {
			one := []int32{1}
			if err := ompi.WaitAll(w.Ibarrier(), w.Iallreduce(ompi.InPlace(), ompi.Slice(one), ompi.Sum)); err != nil || one[0] != 2 {
				return fmt.Errorf("%w, %d", err, one[0])
			}
			list, err := w.Instance().Metrics().Gather()
			if err != nil {
				return err
			}
			mine := 0
			for _, family := range list {
				for _, m := range family.GetMetric() {
					for _, l := range m.GetLabel() {
						if family.GetName() == "ompi_coll_operations_total" && l.GetName() == "component" && l.GetValue() == "portals4" {
							mine++
						}
					}
				}
			}
			if (mine == 2) != want {
				return fmt.Errorf("pml %s: %d kinds of operations by the component", pml, mine)
			}
			return nil
		}, ompi.WithParam("pml", pml))
		if err != nil {
			t.Error(err)
		}
	}
}

// Communicators come and go, as copies and as parts, with operations that their last messages outlive.
func TestCommunicatorsComeAndGo(t *testing.T) {
	err := job(t, context.Background(), 5, func(w *ompi.Comm) error {
		for round := range 20 {
			part, err := w.Split(round%2*(w.Rank()%2), -w.Rank())
			if err != nil {
				return err
			}
			dup, req, err := part.Idup()
			if err != nil {
				return err
			}
			if _, err := req.Wait(); err != nil {
				return err
			}
			for _, c := range []*ompi.Comm{part, dup, w} {
				for k := range round % 5 {
					in, out, cast := []int64{1}, []int64{0}, []int64{0}
					if c.Rank() == k%c.Size() {
						cast[0] = int64(round + 1)
					}
					if err := errors.Join(c.Barrier(), c.Allreduce(ompi.Slice(in), ompi.Slice(out), ompi.Sum), c.Bcast(ompi.Slice(cast), k%c.Size())); err != nil {
						return err
					}
					if out[0] != int64(c.Size()) || cast[0] != int64(round+1) {
						return fmt.Errorf("round %d: sum %d on %d ranks, %d from the root", round, out[0], c.Size(), cast[0])
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

// Many ranks, non-blocking and blocking operations of all kinds in a row, with others of the components below in between.
func TestManyRanks(t *testing.T) {
	for _, n := range []int{17, 32} {
		err := job(t, context.Background(), n, func(w *ompi.Comm) error {
			for round := range 5 {
				sums, cast, all := make([]float64, 300), make([]int32, 3000), make([]int32, n)
				for i := range sums {
					sums[i] = float64(w.Rank() + i)
				}
				if w.Rank() == round {
					for i := range cast {
						cast[i] = int32(i * round)
					}
				}
				all[w.Rank()] = int32(w.Rank())
				reqs := []ompi.Request{w.Ibarrier(), w.Iallreduce(ompi.InPlace(), ompi.Slice(sums), ompi.Sum), w.Ibcast(ompi.Slice(cast), round),
					w.Iallgather(ompi.InPlace(), ompi.Slice(all)), w.Ibarrier()}
				if err := ompi.WaitAll(reqs...); err != nil {
					return err
				}
				for i := range sums {
					if want := float64(n*(n-1)/2 + n*i); sums[i] != want {
						return fmt.Errorf("round %d: sum %d is %v, want %v", round, i, sums[i], want)
					}
				}
				for i := range cast {
					if cast[i] != int32(i*round) {
						return fmt.Errorf("round %d: element %d is %d", round, i, cast[i])
					}
				}
				for i := range all {
					if all[i] != int32(i) {
						return fmt.Errorf("round %d: block %d is %d", round, i, all[i])
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%d ranks: %v", n, err)
		}
	}
}

// A job that is cancelled, or that loses a rank, while the others wait ends.
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

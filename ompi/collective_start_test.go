package ompi_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestNonBlockingCollectivesOverlap: many are under way at once, on data that tells them apart, and complete in any order.
func TestNonBlockingCollectivesOverlap(t *testing.T) {
	for n := 1; n <= 7; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			err := ompi.Run(context.Background(), n, func(w *ompi.Comm) error {
				const k = 40
				in, sum := make([]int64, k), make([]int64, k)
				all := make([][]int64, k)
				var reqs []ompi.Request
				for i := range k {
					in[i] = int64(i*100 + w.Rank())
					reqs = append(reqs, w.Iallreduce(ompi.Value(&in[i]), ompi.Value(&sum[i]), ompi.Sum))
					all[i] = make([]int64, n)
					reqs = append(reqs, w.Iallgather(ompi.Value(&in[i]), ompi.Slice(all[i])))
					if i%5 == 0 {
						reqs = append(reqs, w.Ibarrier())
						if err := w.Barrier(); err != nil {
							return err
						}
					}
				}
				for i := len(reqs) - 1; i >= 0; i-- {
					if _, err := reqs[i].Wait(); err != nil {
						return err
					}
				}
				for i := range k {
					want := int64(i*100*n + n*(n-1)/2)
					if sum[i] != want {
						return fmt.Errorf("sum %d is %d, want %d", i, sum[i], want)
					}
					for r := range n {
						if all[i][r] != int64(i*100+r) {
							return fmt.Errorf("gathered %v in round %d", all[i], i)
						}
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestPersistentCollective starts one again and again.
func TestPersistentCollective(t *testing.T) {
	err := ompi.Run(context.Background(), 5, func(w *ompi.Comm) error {
		data := make([]int32, 20000)
		r := w.BcastInit(ompi.Slice(data), 3)
		sum := make([]int32, len(data))
		s := w.AllreduceInit(ompi.Slice(data), ompi.Slice(sum), ompi.Sum)
		for round := range 20 {
			if w.Rank() == 3 {
				for i := range data {
					data[i] = int32(round + i)
				}
			}
			if err := r.Start(); err != nil {
				return err
			}
			if _, err := r.Wait(); err != nil {
				return err
			}
			if err := s.Start(); err != nil {
				return err
			}
			if _, err := s.Wait(); err != nil {
				return err
			}
			if data[7] != int32(round+7) || sum[9] != 5*int32(round+9) {
				return fmt.Errorf("round %d: %d, %d", round, data[7], sum[9])
			}
		}
		return ompi.WaitAll(r, s)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestOperatorPanics: as anywhere in a rank, it ends the job, whose other ranks do not hang.
func TestOperatorPanics(t *testing.T) {
	for _, persistent := range []bool{false, true} {
		err := ompi.Run(context.Background(), 3, func(w *ompi.Comm) error {
			op := ompi.NewOp(false, func(in, inout []int64) { panic("the operator's") }) // which ranks combine is the algorithm's business
			in, out := int64(1), int64(0)
			var r ompi.Request
			if persistent {
				r = w.AllreduceInit(ompi.Value(&in), ompi.Value(&out), op)
				if err := r.Start(); err != nil {
					return err
				}
			} else {
				r = w.Iallreduce(ompi.Value(&in), ompi.Value(&out), op)
			}
			if err := ompi.WaitAll(r); err != nil {
				return err
			}
			return w.Barrier()
		})
		if err == nil || !strings.Contains(err.Error(), "the operator's") {
			t.Errorf("persistent %v: %v", persistent, err)
		}
	}
}

// TestOperatorAborts: an operator may abort the job (MPI-3.1 §5.9.5), whoever drives it.
func TestOperatorAborts(t *testing.T) {
	done := make(chan error, 1)
	go func() {
		done <- ompi.Run(context.Background(), 3, func(w *ompi.Comm) error {
			op := ompi.NewOp(true, func(in, inout []int64) { w.Abort(7) })
			in, out := int64(1), int64(0)
			if _, err := w.Iallreduce(ompi.Value(&in), ompi.Value(&out), op).Wait(); err != nil {
				return err
			}
			return w.Barrier()
		})
	}()
	select {
	case err := <-done:
		if !errors.Is(err, ompi.ErrProcAborted) || !strings.Contains(err.Error(), "called Abort") {
			t.Errorf("got %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the job hangs")
	}
}

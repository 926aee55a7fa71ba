package ompi_test

import (
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestNonBlockingCollectiveAllocations: in the steady state a non-blocking collective allocates nothing but its arguments.
func TestNonBlockingCollectiveAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	job(t, 1, func(w *ompi.Comm) error {
		in, out := []int64{1, 2, 3}, make([]int64, 3)
		n := testing.AllocsPerRun(100, func() {
			if _, err := w.Iallreduce(ompi.Slice(in), ompi.Slice(out), ompi.Sum).Wait(); err != nil {
				t.Error(err)
			}
		})
		if n > 1 {
			t.Errorf("%v allocations", n)
		}
		r := w.AllreduceInit(ompi.Slice(in), ompi.Slice(out), ompi.Sum)
		n = testing.AllocsPerRun(100, func() {
			if err := r.Start(); err != nil {
				t.Error(err)
			}
			if _, err := r.Wait(); err != nil {
				t.Error(err)
			}
		})
		if n > 0 {
			t.Errorf("persistent: %v allocations", n)
		}
		return r.Free()
	})
}

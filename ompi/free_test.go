package ompi_test

import (
	"fmt"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestFreeWaitsForCollectives: operations that do not block end although their communicator is freed meanwhile.
func TestFreeWaitsForCollectives(t *testing.T) {
	job(t, 3, func(w *ompi.Comm) error {
		for round := range 30 {
			c, err := w.Dup()
			if err != nil {
				return err
			}
			var reqs []ompi.Request
			outs := make([][]int64, 6)
			for k := range outs {
				outs[k] = make([]int64, 1+k*4000)
				in := make([]int64, len(outs[k]))
				in[0] = int64(w.Rank())
				reqs = append(reqs, c.Iallreduce(ompi.Slice(in), ompi.Slice(outs[k]), ompi.Sum), c.Ibarrier())
			}
			if err := c.Free(); err != nil {
				return err
			}
			if err := ompi.WaitAll(reqs...); err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
			for k := range outs {
				if outs[k][0] != 3 {
					return fmt.Errorf("round %d: %d", round, outs[k][0])
				}
			}
		}
		return nil
	})
}

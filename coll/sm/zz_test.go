package sm

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/core"
)

func TestZZ(t *testing.T) {
	if os.Getenv("ZZ") == "" {
		t.Skip()
	}
	for range 3 {
		w := newWorld(t, 8)
		const N = 50000
		d := make([]time.Duration, N)
		w.run(func(rank int, tbl *coll.Table, c *core.Comm) {
			last := time.Now()
			for i := range N {
				tbl.Barrier.Barrier()
				if rank == 0 {
					now := time.Now()
					d[i] = now.Sub(last)
					last = now
				}
			}
		})
		var sum time.Duration
		for _, x := range d {
			sum += x
		}
		slices.Sort(d)
		fmt.Println("mean", sum/N, "p5", d[N/20], "med", d[N/2], "p90", d[N*9/10], "p99", d[N*99/100], "p999", d[N*999/1000], "max", d[N-1])
	}
}

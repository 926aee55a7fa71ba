package ompi_test

import (
	"fmt"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// BenchmarkWindowContended is an exclusive lock that several ranks want at the same time.
func BenchmarkWindowContended(b *testing.B) {
	for _, n := range []int{2, 4, 8} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			job(b, n, func(c *ompi.Comm) error {
				win, mem, err := ompi.WinAllocate[int64](c, 1)
				if err != nil {
					return err
				}
				v := make([]int64, 1)
				one, at := ompi.Slice(v), ompi.At(0, 0)
				if err := c.Barrier(); err != nil {
					return err
				}
				for range b.N {
					if err := allOf(win.Lock(ompi.LockExclusive, 0, 0), win.Get(one, at)); err != nil {
						return err
					}
					v[0]++
					if err := allOf(win.Put(one, at), win.Unlock(0)); err != nil {
						return err
					}
				}
				if err := c.Barrier(); err != nil {
					return err
				}
				if c.Rank() == 0 && mem[0] != int64(b.N*n) {
					return fmt.Errorf("%d epochs of %d", mem[0], b.N*n)
				}
				return win.Free()
			})
		})
	}
}

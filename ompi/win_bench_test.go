package ompi_test

import (
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// BenchmarkWindowAtomics is what atomic operations on memory of this host cost.
func BenchmarkWindowAtomics(b *testing.B) {
	job(b, 1, func(c *ompi.Comm) error {
		win, _, err := ompi.WinAllocate[int64](c, 64)
		if err != nil {
			return err
		}
		v, old := make([]int64, 8), make([]int64, 1)
		one, eight, result := ompi.Slice(v[:1]), ompi.Slice(v), ompi.Slice(old)
		for name, f := range map[string]func() error{
			"fetch":       func() error { return win.FetchAndOp(one, result, ompi.At(0, 3), ompi.Sum) },
			"swap":        func() error { return win.CompareAndSwap(one, one, result, ompi.At(0, 3)) },
			"accumulate":  func() error { return win.Accumulate(one, ompi.At(0, 3), ompi.Sum) },
			"accumulate8": func() error { return win.Accumulate(eight, ompi.At(0, 3), ompi.BXor) },
		} {
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				if err := win.LockAll(0); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
				if err := win.UnlockAll(); err != nil {
					b.Fatal(err)
				}
			})
		}
		b.Run("lock", func(b *testing.B) {
			for b.Loop() {
				if err := allOf(win.Lock(ompi.LockExclusive, 0, 0), win.Put(one, ompi.At(0, 3)), win.Unlock(0)); err != nil {
					b.Fatal(err)
				}
			}
		})
		return win.Free()
	})
}

// BenchmarkWindow is the way of small operations on mapped memory, in one goroutine: what the face costs.
func BenchmarkWindow(b *testing.B) {
	p := &plainOSC{name: "mapped", mapped: true}
	job(b, 1, func(c *ompi.Comm) error {
		win, _, err := ompi.WinAllocate[int64](c, 64)
		if err != nil {
			return err
		}
		if err := win.LockAll(0); err != nil {
			return err
		}
		v := make([]int64, 8)
		one, eight := ompi.Slice(v[:1]), ompi.Slice(v)
		for name, f := range map[string]func() error{
			"put8":  func() error { return win.Put(one, ompi.At(0, 3)) },
			"put64": func() error { return win.Put(eight, ompi.At(0, 3)) },
			"get8":  func() error { return win.Get(one, ompi.At(0, 3)) },
			"flush": func() error { return win.Flush(0) },
		} {
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		return allOf(win.UnlockAll(), win.Free())
	}, ompi.WithComponent(p), ompi.WithParam("osc", p.name))
}

package datatype

import (
	"fmt"
	"testing"
	"time"
	"unsafe"
)

// The bars: what a Go programmer would write by hand for the same data, beside what the convertor does.

// cell is a block of 64 bytes.
type cell [8]float64

// BenchmarkBars moves blocks of 8 and of 64 bytes, twice as far apart as they are long. It reports the least times seen, taken in
// turn so that a busy machine disturbs both, in nanoseconds, and their quotient.
func BenchmarkBars(b *testing.B) {
	for _, data := range []int{8 << 10, 128 << 10, 1 << 20} {
		bar[float64](b, data)
		bar[cell](b, data)
	}
}

func bar[T any](b *testing.B, data int) {
	size := int(unsafe.Sizeof(*new(T)))
	n := data / size
	mem, packed := make([]T, 2*n), make([]T, n)
	typ := must(Vector(n, size, 2*size, Byte))
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&packed[0])), data)
	engine := func(unpack bool) func() {
		return func() {
			var c Convertor
			c.Prepare(typ, 1, unsafe.Pointer(&mem[0]))
			c.move(raw, unpack)
		}
	}
	race(b, fmt.Sprintf("block=%d/data=%d/pack", size, data), data, engine(false), func() {
		from, to := mem, packed
		for i := range to {
			to[i] = from[2*i]
		}
	})
	race(b, fmt.Sprintf("block=%d/data=%d/unpack", size, data), data, engine(true), func() {
		from, to := packed, mem
		for i := range from {
			to[2*i] = from[i]
		}
	})
}

// race runs two ways to do the same in turn.
func race(b *testing.B, name string, bytes int, engine, hand func()) {
	b.Run(name, func(b *testing.B) {
		least := [2]time.Duration{1 << 60, 1 << 60}
		for b.Loop() {
			for i, f := range []func(){engine, hand} {
				start := time.Now()
				f()
				least[i] = min(least[i], time.Since(start))
			}
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(least[0]), "engine-ns")
		b.ReportMetric(float64(least[1]), "hand-ns")
		b.ReportMetric(float64(bytes)/float64(least[0]), "GB/s")
		b.ReportMetric(float64(least[0])/float64(least[1]), "engine/hand")
	})
}

package rb

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ompi-go/ompi-go/rcache"
)

// nothing is a transport that costs nothing.
type nothing struct{}

func (nothing) Register(uintptr, int64) ([2]uint64, error) { return [2]uint64{}, nil }
func (nothing) Deregister([2]uint64)                       {}

const benchBase, benchStep, benchLen = 1 << 40, 1 << 16, 50000

func filled(b *testing.B, n int) *cache {
	c := newCache(rcache.Config{Pinned: true}, nothing{})
	for i := range n {
		r, err := c.Acquire(benchBase+uintptr(i)*benchStep, benchLen, nil)
		if err != nil {
			b.Fatal(err)
		}
		c.Release(r)
	}
	return c
}

// BenchmarkSame is the same buffer again and again, Acquire and Release.
func BenchmarkSame(b *testing.B) {
	for _, n := range []int{10, 100000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := filled(b, n)
			addr := benchBase + uintptr(n/2)*benchStep
			b.ReportAllocs()
			for b.Loop() {
				r, _ := c.Acquire(addr, benchLen, nil)
				c.Release(r)
			}
		})
	}
}

// order is a random order of n buffers.
func order(n int) []uintptr {
	o := make([]uintptr, n)
	for i, k := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		o[i] = benchBase + uintptr(k)*benchStep
	}
	return o
}

func benchRandom(b *testing.B, n int64) {
	c := filled(b, 100000)
	o := order(100000)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		r, _ := c.Acquire(o[i], n, nil)
		c.Release(r)
		if i++; i == len(o) {
			i = 0
		}
	}
}

// BenchmarkRandom is any of 100,000 buffers, Acquire and Release.
func BenchmarkRandom(b *testing.B) { benchRandom(b, benchLen) }

// BenchmarkRandomPart is a part of any of 100,000 buffers, for which only the tree has an answer.
func BenchmarkRandomPart(b *testing.B) { benchRandom(b, benchLen-1) }

// BenchmarkTree is the tree alone.
func BenchmarkTree(b *testing.B) {
	c := filled(b, 100000)
	o := order(100000)
	i := 0
	for b.Loop() {
		if c.tree.covering(o[i], o[i]+benchLen) == nil {
			b.Fatal("not found")
		}
		if i++; i == len(o) {
			i = 0
		}
	}
}

// BenchmarkMiss registers and evicts.
func BenchmarkMiss(b *testing.B) {
	c := newCache(rcache.Config{Pinned: true, Entries: 1000}, nothing{})
	o := order(100000)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		r, _ := c.Acquire(o[i], benchLen, nil)
		c.Release(r)
		if i++; i == len(o) {
			i = 0
		}
	}
}

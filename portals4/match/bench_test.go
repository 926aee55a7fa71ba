package match

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A shape is a way to fill a list of n entries and to search it: entry i and the operation that it takes.
type shape struct {
	name  string
	entry func(i int) Pattern
	query func(i int) Query
}

func exactBits(i int) uint64 { return 7<<48 | uint64(i%64)<<24 | uint64(i/64) }

var shapes = []shape{
	{"exact", // one class: all compare everything
		func(i int) Pattern { return Pattern{Bits: exactBits(i), Src: Source{A: uint32(i % 64)}} },
		func(i int) Query { return Query{Bits: exactBits(i), Src: Source{A: uint32(i % 64)}} }},
	{"anysource", // one class: MPI receives of any source, with the source in the match bits too
		func(i int) Pattern { return Pattern{Bits: uint64(i), Ignore: 0xffffff << 24, AnyA: true, AnyB: true} },
		func(i int) Query { return Query{Bits: uint64(i) | uint64(i%64)<<24, Src: Source{A: uint32(i % 64)}} }},
	{"onekey", // one queue: the first is always meant
		func(i int) Pattern { return Pattern{Bits: 5, AnyA: true, AnyB: true} },
		func(i int) Query { return Query{Bits: 5, Src: Source{A: uint32(i % 64)}} }},
	{"eight", // eight classes
		func(i int) Pattern {
			return Pattern{Bits: uint64(i), Ignore: uint64(i%8) << 60, Src: Source{A: uint32(i % 64)}}
		},
		func(i int) Query { return Query{Bits: uint64(i), Src: Source{A: uint32(i % 64)}} }},
}

var orders = []struct {
	name string
	of   func(n int) []int
}{
	{"forward", func(n int) []int { return order(n, func(i int) int { return i }) }},
	{"reverse", func(n int) []int { return order(n, func(i int) int { return n - 1 - i }) }},
	{"random", func(n int) []int { return rand.New(rand.NewPCG(1, 2)).Perm(n) }},
}

func order(n int, f func(int) int) []int {
	o := make([]int, n)
	for i := range o {
		o[i] = f(i)
	}
	return o
}

// BenchmarkFind searches for entries that stay.
func BenchmarkFind(b *testing.B) {
	run(b, func(b *testing.B, s shape, n int, order []int) {
		var l List[node]
		nodes := make([]node, n)
		for i := range nodes {
			nodes[i].Pattern = s.entry(i)
			l.Append(&nodes[i].Entry)
		}
		i := 0
		for b.Loop() {
			q := s.query(order[i])
			if l.Find(&q) == nil {
				b.Fatal("not found")
			}
			if i++; i == n {
				i = 0
			}
		}
	})
}

// BenchmarkCycle searches for entries that are used once, and appends them again: the list keeps its length.
func BenchmarkCycle(b *testing.B) {
	run(b, func(b *testing.B, s shape, n int, order []int) {
		var l List[node]
		nodes := make([]node, n)
		for i := range nodes {
			nodes[i].Pattern = s.entry(i)
			l.Append(&nodes[i].Entry)
		}
		i := 0
		for b.Loop() {
			q := s.query(order[i])
			e := l.Find(&q)
			l.Remove(e)
			l.Append(e)
			if i++; i == n {
				i = 0
			}
		}
	})
}

// BenchmarkUnexpected has headers found, removed and added again.
func BenchmarkUnexpected(b *testing.B) {
	run(b, func(b *testing.B, s shape, n int, order []int) {
		var u Unexpected[arrival]
		as := make([]arrival, n)
		for i := range as {
			as[i].Query = s.query(i)
			u.Add(&as[i].Header)
		}
		i := 0
		for b.Loop() {
			p := s.entry(order[i])
			h := u.First(&p)
			u.Remove(h)
			u.Add(h)
			if i++; i == n {
				i = 0
			}
		}
	})
}

func run(b *testing.B, f func(b *testing.B, s shape, n int, order []int)) {
	for _, s := range shapes {
		for _, o := range orders {
			for _, n := range []int{1, 10, 1000, 100000} {
				if s.name != "exact" && o.name != "random" || n == 1 && o.name != "random" {
					continue
				}
				b.Run(fmt.Sprintf("%s/%s/%d", s.name, o.name, n), func(b *testing.B) {
					b.ReportAllocs()
					f(b, s, n, o.of(n))
				})
			}
		}
	}
}

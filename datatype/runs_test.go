package datatype

import (
	"testing"

	"pgregory.net/rapid"
)

// The runs of a layout are the bytes that packing moves, in the same order, and none could have been longer.
func TestRunsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawOf(t)
		typ := randomType(d, d(0, 5))
		count := d(0, 6)
		ref := mapOf(typ)
		want := ref.offsets(count)
		var r Runs
		r.Init(typ, int64(count))
		for at := 0; at < len(want); {
			most := int64(d(1, 100))
			off, n := r.Next(most)
			if n <= 0 || n > most || int64(len(want)-at) < n {
				t.Fatalf("a run of %d bytes of at most %d, %d left", n, most, len(want)-at)
			}
			for i := range n {
				if want[at] != off+i {
					t.Fatalf("packed byte %d is at %d, want %d", at, off+i, want[at])
				}
				at++
			}
			if n < most && at < len(want) && want[at] == off+n {
				t.Fatalf("the run at %d of %d bytes ends where the next begins", off, n)
			}
		}
		for range 2 {
			if _, n := r.Next(1 << 40); n != 0 {
				t.Fatalf("%d bytes after the last run", n)
			}
		}
	})
}

func TestRunsAllocs(t *testing.T) {
	types := []*Type{Float64, must(Vector(100, 3, 5, Int32)), must(HVector(10, 1, 999, must(Indexed([]int{1, 2, 3, 1}, []int{0, 5, 10, 40}, Int16))))}
	if n := testing.AllocsPerRun(100, func() {
		for _, typ := range types {
			var r Runs
			r.Init(typ, 7)
			for n := int64(1); n > 0; {
				_, n = r.Next(24)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRuns(b *testing.B) {
	for name, typ := range map[string]*Type{"vector": must(Vector(1000, 1, 2, Float64)),
		"nested": must(HVector(250, 1, 999, must(HIndexed([]int{1, 2, 3, 1}, []int64{0, 50, 100, 400}, Int16))))} {
		b.Run(name, func(b *testing.B) {
			var r Runs
			for i := 0; i < b.N; i += 1000 {
				r.Init(typ, 1)
				for n := int64(1); n > 0; {
					_, n = r.Next(1 << 30)
				}
			}
		})
	}
}

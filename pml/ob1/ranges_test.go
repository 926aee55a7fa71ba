package ob1

import (
	"testing"

	"pgregory.net/rapid"
)

// TestRanges holds the set against a list of bytes.
func TestRanges(t *testing.T) {
	const size = 64
	rapid.Check(t, func(t *rapid.T) {
		var r ranges
		var model [size]bool
		head := rapid.Int64Range(0, size).Draw(t, "head")
		r.reset(head)
		for i := range head {
			model[i] = true
		}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			from := rapid.Int64Range(0, size).Draw(t, "from")
			to := rapid.Int64Range(from, size).Draw(t, "to")
			missing := int64(0)
			for _, there := range model[from:to] {
				if !there {
					missing++
				}
			}
			if got := r.covers(from, to); got != (missing == 0) {
				t.Fatalf("covers(%d, %d) is %v with %d bytes missing: %v", from, to, got, missing, r.list)
			}
			if rapid.Bool().Draw(t, "add") {
				if got := r.add(from, to); got != missing {
					t.Fatalf("add(%d, %d) is %d, want %d: %v", from, to, got, missing, r.list)
				}
				for i := from; i < to; i++ {
					model[i] = true
				}
			}
			at := int64(-1)
			for _, s := range r.list {
				if s.off <= at || s.off >= s.end || s.end > size {
					t.Fatalf("not in order, or touching: %v", r.list)
				}
				for i := at + 1; i < s.off; i++ {
					if model[i] {
						t.Fatalf("byte %d is missing: %v", i, r.list)
					}
				}
				for i := s.off; i < s.end; i++ {
					if !model[i] {
						t.Fatalf("byte %d is too much: %v", i, r.list)
					}
				}
				at = s.end
			}
			for i := at + 1; i < size; i++ {
				if i >= 0 && model[i] {
					t.Fatalf("byte %d is missing: %v", i, r.list)
				}
			}
		}
	})
}

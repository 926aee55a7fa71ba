package rb

import (
	"testing"

	"pgregory.net/rapid"
)

// TestIndex: against a map, with intervals that collide often.
func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x index
		model := map[span]*node{}
		interval := rapid.Custom(func(t *rapid.T) span {
			lo := uintptr(rapid.IntRange(0, 40).Draw(t, "lo")) << rapid.SampledFrom([]int{0, 12, 40}).Draw(t, "shift")
			return span{lo, lo + uintptr(rapid.IntRange(1, 3).Draw(t, "n"))}
		})
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				if s := interval.Draw(t, "interval"); model[s] == nil {
					model[s] = &node{lo: s.lo, hi: s.hi}
					x.insert(model[s])
				}
			},
			"remove": func(t *rapid.T) {
				s := interval.Draw(t, "interval")
				if n := model[s]; n != nil {
					x.remove(n)
					delete(model, s)
				} else {
					x.remove(&node{lo: s.lo, hi: s.hi})
				}
			},
			"": func(t *rapid.T) {
				if x.n != len(model) || x.n > 0 && 2*x.n > len(x.slots) {
					t.Fatalf("%d in %d slots, want %d", x.n, len(x.slots), len(model))
				}
				for s, n := range model {
					if x.find(s.lo, s.hi) != n {
						t.Fatalf("[%d, %d) is not found", s.lo, s.hi)
					}
				}
				if s := interval.Draw(t, "any"); x.find(s.lo, s.hi) != model[s] {
					t.Fatalf("[%d, %d): found %v, want %v", s.lo, s.hi, x.find(s.lo, s.hi), model[s])
				}
			},
		})
	})
}

package mca

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestEditDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "axc", 1}, {"abc", "ac", 1},
		{"ac", "abc", 1}, {"tpc", "tcp", 1}, {"inlcude", "include", 1}, {"kitten", "sitting", 3}, {"ca", "abc", 3},
	} {
		if got := editDistance(test.a, test.b); got != test.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

func TestEditDistanceProperties(t *testing.T) {
	word := rapid.StringMatching(`[abc]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := editDistance(a, b)
		if d != editDistance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) {
			t.Fatalf("editDistance(%q, %q) = %d", a, b, d)
		}
	})
}

func TestNearest(t *testing.T) {
	names := []string{"self", "sm", "tcp", "portals4"}
	for _, test := range []struct {
		name string
		want []string
	}{
		{"tpc", []string{"tcp"}}, {"TCP", []string{"tcp"}}, {"portals", []string{"portals4"}}, {"por", []string{"portals4"}},
		{"ms", []string{"sm"}}, {"openib", nil}, {"x", nil}, {"", nil},
	} {
		if got := Nearest(test.name, names); !slices.Equal(got, test.want) {
			t.Errorf("Nearest(%q) = %v, want %v", test.name, got, test.want)
		}
	}
	if got := Nearest("links", []string{"link4", "link3", "link2", "link1", "links"}); !slices.Equal(got, []string{"links", "link1", "link2"}) {
		t.Errorf("ties and limit: %v", got)
	}
	if got := didYouMean([]string{"a", "b", "c"}); got != "; did you mean a, b or c?" {
		t.Error(got)
	}
}

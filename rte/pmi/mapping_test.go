package pmi

import (
	"slices"
	"testing"
)

func TestMapping(t *testing.T) {
	for _, c := range []struct {
		text string
		size int
		want []int
	}{
		{"", 3, nil},
		{"(vector,(0,1,1))", 3, []int{0, 0, 0}},
		{"(vector,(0,2,1))", 4, []int{0, 1, 0, 1}},
		{"(vector,(0,1,2),(1,1,1))", 3, []int{0, 0, 1}},
		{"(vector,(0,1,2),(1,1,1))", 5, []int{0, 0, 1, 0, 0}},
		{"(vector,(3,2,2))", 3, []int{3, 3, 4}},
	} {
		m, err := ParseMapping(c.text)
		if err != nil || m.String() != c.text {
			t.Errorf("ParseMapping(%q) = %v, %v", c.text, m, err)
		}
		if got := m.Nodes(c.size); !slices.Equal(got, c.want) {
			t.Errorf("%q places %d ranks on %v, want %v", c.text, c.size, got, c.want)
		}
	}
	for _, text := range []string{
		"x", "(vector", "(vector,", "(vector,(0,1,1)", "(vector,(0,1))", "(vector,(0,0,1))", "(vector,(0,1,0))",
		"(vector,(-1,1,1))", "(vector,(0,1,99999999999))", "(vector,(0,1,1)))", "(vector,(0,1,1)x)", "(vector,(0,1,1",
	} {
		if m, err := ParseMapping(text); err == nil {
			t.Errorf("ParseMapping(%q) = %v, want an error", text, m)
		}
	}
	if m, err := ParseMapping("(vector)"); err != nil || m.Nodes(4) != nil {
		t.Errorf("a vector without blocks = %v, %v", m, err)
	}
}

func FuzzMapping(f *testing.F) {
	f.Add("(vector,(0,1,2),(1,1,1))")
	f.Add("(vector,(0, 2,1))")
	f.Add("(vector)")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMapping(text)
		if err != nil {
			return
		}
		again, err := ParseMapping(m.String())
		if err != nil || !slices.Equal(m, again) {
			t.Fatalf("%q: %v became %v, %v", text, m, again, err)
		}
		if nodes := m.Nodes(100); nodes != nil && len(nodes) != 100 {
			t.Fatalf("%q places %d of 100 ranks", text, len(nodes))
		}
	})
}

package core

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func group(ranks ...int) *Group { return NewGroup(ranks, 3) }

func TestGroupRanges(t *testing.T) {
	g := group(10, 11, 12, 13, 14, 15, 3)
	for _, c := range []struct {
		ranges [][3]int
		incl   []int
		err    ErrorClass
	}{
		{ranges: nil, incl: nil},
		{ranges: [][3]int{{0, 0, 1}}, incl: []int{10}},
		{ranges: [][3]int{{0, 0, -5}}, incl: []int{10}},
		{ranges: [][3]int{{0, 6, 2}}, incl: []int{10, 12, 14, 3}},
		{ranges: [][3]int{{0, 5, 2}}, incl: []int{10, 12, 14}},
		{ranges: [][3]int{{0, 11, 6}}, incl: []int{10, 3}}, // the last need not be hit, so it need not be there
		{ranges: [][3]int{{5, -1, -4}}, incl: []int{15, 11}},
		{ranges: [][3]int{{5, -1, -3}}, err: ErrRank},
		{ranges: [][3]int{{6, 0, -3}}, incl: []int{3, 13, 10}},
		{ranges: [][3]int{{1, math.MaxInt, math.MaxInt}}, incl: []int{11}},
		{ranges: [][3]int{{1, math.MinInt, math.MinInt}}, err: ErrRank},
		{ranges: [][3]int{{4, 5, 1}, {1, 0, -1}}, incl: []int{14, 15, 11, 10}},
		{ranges: [][3]int{{0, 3, 0}}, err: ErrArg},
		{ranges: [][3]int{{2, 2, 0}}, err: ErrArg},
		{ranges: [][3]int{{3, 1, 1}}, err: ErrArg},
		{ranges: [][3]int{{1, 3, -1}}, err: ErrArg},
		{ranges: [][3]int{{-1, 3, 1}}, err: ErrRank},
		{ranges: [][3]int{{0, 7, 1}}, err: ErrRank},
		{ranges: [][3]int{{7, 7, 1}}, err: ErrRank},
		{ranges: [][3]int{{0, math.MaxInt, 1}}, err: ErrRank},
		{ranges: [][3]int{{0, 2, 1}, {2, 4, 1}}, err: ErrRank},
	} {
		in, err := g.RangeIncl(c.ranges)
		ex, err2 := g.RangeExcl(c.ranges)
		if c.err != 0 {
			if !errors.Is(err, c.err) || !errors.Is(err2, c.err) {
				t.Errorf("%v: %v and %v, want %v", c.ranges, err, err2, c.err)
			}
			continue
		}
		if err != nil || err2 != nil {
			t.Errorf("%v: %v, %v", c.ranges, err, err2)
			continue
		}
		if !slices.Equal(in.JobRanks(), c.incl) {
			t.Errorf("RangeIncl(%v) is %v, want %v", c.ranges, in.JobRanks(), c.incl)
		}
		rest, err := g.Difference(in)
		if err != nil || rest.Compare(ex) != Ident {
			t.Errorf("RangeExcl(%v) is %v, want %v (%v)", c.ranges, ex.JobRanks(), rest.JobRanks(), err)
		}
	}
}

func TestGroupErrors(t *testing.T) {
	g := group(1, 2, 3)
	for what, call := range map[string]func() error{
		"Incl twice":      func() error { _, err := g.Incl([]int{0, 0}); return err },
		"Incl outside":    func() error { _, err := g.Incl([]int{3}); return err },
		"Incl negative":   func() error { _, err := g.Incl([]int{ProcNull}); return err },
		"Excl twice":      func() error { _, err := g.Excl([]int{1, 1}); return err },
		"Excl outside":    func() error { _, err := g.Excl([]int{-1}); return err },
		"translate":       func() error { _, err := g.TranslateRanks([]int{0, 3}, g); return err },
		"translate any":   func() error { _, err := g.TranslateRanks([]int{AnySource}, g); return err },
		"incl of nothing": func() error { _, err := group().Incl([]int{0}); return err },
	} {
		var e *Error
		if err := call(); !errors.Is(err, ErrRank) || !errors.As(err, &e) || e.Op == "" {
			t.Errorf("%s: %v, want ErrRank", what, err)
		}
	}
	for what, call := range map[string]func() error{
		"Union":        func() error { _, err := g.Union(nil); return err },
		"Intersection": func() error { _, err := g.Intersection(nil); return err },
		"Difference":   func() error { _, err := g.Difference(nil); return err },
		"translate":    func() error { _, err := g.TranslateRanks(nil, nil); return err },
	} {
		if err := call(); !errors.Is(err, ErrGroup) {
			t.Errorf("%s with nil: %v, want ErrGroup", what, err)
		}
	}
	if g.Compare(nil) != Unequal {
		t.Error("a group equals nil")
	}
}

func TestTranslateRanks(t *testing.T) {
	got, err := group(5, 6, 7).TranslateRanks([]int{2, ProcNull, 0, 1, 2}, group(7, 5))
	if want := []int{0, ProcNull, 1, Undefined, 0}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// Groups behave as lists without repetition.
func TestGroupModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfNDistinct(rapid.IntRange(0, 11), 0, 8, rapid.ID[int])
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		g, o := group(a...), group(b...)
		check := func(what string, got *Group, err error, want []int) {
			if err != nil || !slices.Equal(got.JobRanks(), want) {
				t.Fatalf("%s of %v and %v: %v, %v, want %v", what, a, b, got, err, want)
			}
			me := slices.Index(want, 3)
			if me < 0 {
				me = Undefined
			}
			if got.Rank() != me || got.Size() != len(want) {
				t.Fatalf("%s: rank %d of %d, want %d of %d", what, got.Rank(), got.Size(), me, len(want))
			}
		}
		in := func(s []int, keep bool) func(int) bool {
			return func(r int) bool { return slices.Contains(s, r) != keep }
		}
		union, err := g.Union(o)
		check("union", union, err, append(slices.Clone(a), slices.DeleteFunc(slices.Clone(b), in(a, false))...))
		inter, err := g.Intersection(o)
		check("intersection", inter, err, slices.DeleteFunc(slices.Clone(a), in(b, true)))
		diff, err := g.Difference(o)
		check("difference", diff, err, slices.DeleteFunc(slices.Clone(a), in(b, false)))

		want := Unequal
		sa, sb := slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
		if slices.Equal(a, b) {
			want = Ident
		} else if slices.Equal(sa, sb) {
			want = Similar
		}
		if got := g.Compare(o); got != want {
			t.Fatalf("%v and %v compare as %v, want %v", a, b, got, want)
		}
	})
}

package suite

import (
	"slices"
	"strings"
	"testing"
)

func TestLookup(t *testing.T) {
	for _, name := range Names() {
		if test, err := Lookup(name); err != nil || test.Name != name || test.Size == "" || test.Title == "" || test.Unit == "" {
			t.Errorf("%s: %+v, %v", name, test, err)
		}
	}
	if _, err := Lookup("latenzy"); err == nil || !strings.Contains(err.Error(), "latency") {
		t.Errorf("unknown test: %v", err)
	}
}

func TestRange(t *testing.T) {
	for _, c := range []struct {
		in       string
		min, max int64
		bad      bool
	}{
		{in: "1:8", min: 1, max: 8}, {in: "64", min: 64, max: 64}, {in: "0:0"}, {in: "0:2147483647", max: 2147483647},
		{in: "8:1", bad: true}, {in: "-1:3", bad: true}, {in: ":", bad: true}, {in: "", bad: true}, {in: "1:", bad: true},
		{in: "1:2:3", bad: true}, {in: "1k:2k", bad: true}, {in: "0:2147483648", bad: true},
	} {
		var r Range
		err := r.Set(c.in)
		if (err != nil) != c.bad || r.Min != c.min || r.Max != c.max || r.Given == c.bad {
			t.Errorf("%q: %+v, %v", c.in, r, err)
		}
	}
}

func TestSizes(t *testing.T) {
	latency, _ := Lookup("latency")
	barrier, _ := Lookup("barrier")
	for _, c := range []struct {
		test Test
		p    Params
		want []int64
	}{
		{latency, Params{Range: Range{0, 4, true}}, []int64{0, 1, 2, 4}},
		{latency, Params{Range: Range{3, 20, true}}, []int64{3, 6, 12}},
		{latency, Params{Range: Range{0, 0, true}}, []int64{0}},
		{barrier, Params{Range: Range{1, 64, true}}, []int64{0}},
	} {
		if got := c.test.Sizes(c.p); !slices.Equal(got, c.want) {
			t.Errorf("%s %v: %v, want %v", c.test.Name, c.p.Range, got, c.want)
		}
	}
	if got := latency.Sizes(Params{}); len(got) != 23 || got[22] != 4<<20 {
		t.Errorf("default sizes of latency: %v", got)
	}
}

func TestLoop(t *testing.T) {
	latency, _ := Lookup("latency")
	if l, fixed := latency.Loop(8192, Params{Warmup: -1}); l != latency.Small || fixed {
		t.Errorf("small: %+v %v", l, fixed)
	}
	if l, fixed := latency.Loop(8193, Params{Warmup: -1}); l != latency.Large || fixed {
		t.Errorf("large: %+v %v", l, fixed)
	}
	if l, fixed := latency.Loop(8, Params{Iterations: 7, Warmup: 0}); l != (Loop{7, 0}) || !fixed {
		t.Errorf("given: %+v %v", l, fixed)
	}
	if got := (Loop{1000, 10}).Fit(1e-6); got.Iterations != 1000 {
		t.Errorf("fast loop cut to %d", got.Iterations)
	}
	if got := (Loop{1000, 10}).Fit(0.1); got.Iterations != 20 {
		t.Errorf("slow loop has %d iterations", got.Iterations)
	}
	if got := (Loop{1000, 10}).Fit(60); got.Iterations != Repetitions {
		t.Errorf("very slow loop has %d iterations", got.Iterations)
	}
}

func TestArgs(t *testing.T) {
	p := Params{Range: Range{1, 8, true}, Iterations: 10, Warmup: 0}
	if got := strings.Join(p.Args(), " "); got != "-m 1:8 -i 10 -x 0" {
		t.Errorf("arguments %q", got)
	}
	if got := (Params{Warmup: -1}).Args(); len(got) != 0 {
		t.Errorf("arguments %q of no options", got)
	}
}

func TestChecks(t *testing.T) {
	mbw, _ := Lookup("mbw_mr")
	for n, ok := range map[int]bool{1: false, 2: true, 3: false, 4: true} {
		if err := mbw.CheckRanks(n); (err == nil) != ok {
			t.Errorf("%d ranks: %v", n, err)
		}
	}
	for _, p := range []Params{{Iterations: -1}, {Warmup: -2}, {Iterations: 2_000_000_000}} {
		if p.Check() == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
}

func TestForms(t *testing.T) {
	for name, want := range map[string]Form{
		"latency": NotCollective, "overlap": NotCollective, "reduce_scatter": Blocking, "ireduce_scatter": NonBlocking, "reduce_scatter_persistent": Persistent,
	} {
		test, err := Lookup(name)
		if err != nil || test.Form != want || want != NotCollective && test.Collective.Name != "reduce_scatter" {
			t.Errorf("%s: %+v, %v", name, test, err)
		}
		if (len(test.More) == 3) != (want == NonBlocking || name == "overlap") || test.Overlap != (len(test.More) == 3) {
			t.Errorf("%s has the further columns %q", name, test.More)
		}
	}
	seen := map[string]bool{}
	for _, name := range Names() {
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
	}
	if _, err := Lookup("latncy"); err == nil || !strings.Contains(err.Error(), `unknown test "latncy"; did you mean latency`) {
		t.Errorf("a slip: %v", err)
	}
}

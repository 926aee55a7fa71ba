package mca

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

type tunable struct {
	Low   int      `mca:"low" default:"1" max:"100" settable:"true" help:"h"`
	High  int      `mca:"high" default:"10" settable:"true" help:"h"`
	Names []string `mca:"names" default:"a" enum:"a|b" settable:"true" help:"h"`
	Fixed int      `mca:"fixed" help:"h"`
}

func (o *tunable) Validate() error {
	if o.Low > o.High {
		return errors.New("low is above high")
	}
	return nil
}

func tunables(t *testing.T) *Params {
	t.Helper()
	reg, err := BuildRegistry([]Framework{{Name: "x", Flat: true, Options: func() any { return new(tunable) }}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Load(reg, Input{Settings: []Setting{{Name: "x_high", Value: "20", Layer: LayerAPI, Where: "test"}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSet(t *testing.T) {
	p := tunables(t)
	var applied []tunable
	if err := p.Watch("x", "", func(into any) (func(), error) {
		o := into.(*tunable)
		if o.High == 77 {
			return nil, errors.New("the component refuses")
		}
		return func() { applied = append(applied, *o) }, nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := p.Watch("y", "", nil); err == nil {
		t.Error("what does not exist can be watched")
	}
	for _, c := range []struct{ name, value, err string }{
		{"x_low", "15", ""}, {"x_low", "21", "low is above high"}, {"x_low", "101", "too large"}, {"x_low", "few", `bad value "few" (run time)`},
		{"x_fixed", "1", "cannot be set at run time"}, {"x_lo", "1", "x_low"}, {"x_high", "77", "the component refuses"},
		{"x_names", "a,b", ""}, {"x_names", "c", "not a known value"},
	} {
		before, _, _ := p.Lookup(c.name)
		n := len(applied)
		err := p.Set(c.name, c.value)
		got, src, _ := p.Lookup(c.name)
		switch {
		case c.err == "":
			if err != nil || got != c.value || src.Source() != "run time" || len(applied) != n+1 {
				t.Errorf("%s=%s: %v, now %s (%s)", c.name, c.value, err, got, src.Source())
			}
		case err == nil || !strings.Contains(err.Error(), c.err) || got != before || len(applied) != n:
			t.Errorf("%s=%s: %v, now %s; want an error with %q", c.name, c.value, err, got, c.err)
		}
	}
	last := applied[len(applied)-1]
	if fmt.Sprint(last) != fmt.Sprint(tunable{15, 20, []string{"a", "b"}, 0}) {
		t.Errorf("the watcher has %+v", last)
	}
	last.Names[0] = "z"
	if got, _, _ := p.Lookup("x_names"); got != "a,b" {
		t.Errorf("a watcher's list is ours: %s", got)
	}
	var o tunable
	if err := p.Decode("x", "", &o); err != nil || o.Low != 15 {
		t.Errorf("Decode: %+v, %v", o, err)
	}
	if _, err := Load(p.reg, Input{Settings: []Setting{{Name: "x_low", Value: "2", Layer: LayerRunTime}}}); err == nil {
		t.Error("a setting can come from run time")
	}
}

// TestSetConcurrent: readers see one value or the other while it is set.
func TestSetConcurrent(t *testing.T) {
	p := tunables(t)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 200 {
				var o tunable
				if err := p.Decode("x", "", &o); err != nil || o.Low < 1 || o.Low > 9 {
					t.Errorf("%+v, %v", o, err)
				}
				p.Infos()
			}
		})
	}
	for i := range 200 {
		if err := p.Set("x_low", fmt.Sprint(i%9+1)); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}

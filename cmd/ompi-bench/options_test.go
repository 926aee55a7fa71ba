package main

import (
	"errors"
	"flag"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
)

func TestParseTest(t *testing.T) {
	for _, args := range []string{
		"latency -m 1:8 -i 10 -x 0 --json a.json --plot b.svg -n 4",
		"-m 1:8 -i 10 latency -x 0 -json a.json -plot=b.svg -n 4",
		"-n 4 --m=1:8 -i 10 -x 0 --json a.json --plot b.svg latency",
	} {
		c, err := parse(strings.Fields(args))
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		want := suite.Params{Range: suite.Range{Min: 1, Max: 8, Given: true}, Iterations: 10, Warmup: 0}
		if c.test.Name != "latency" || c.params != want || c.json != "a.json" || c.plot != "b.svg" || c.goroutines != 4 || c.compare != nil {
			t.Errorf("%q: %+v", args, c)
		}
	}
}

func TestParseCompare(t *testing.T) {
	c, err := parse(strings.Fields("compare latency -n 4 --with mpich,goroutines --reps 3 --btl tcp bw -m 8:8 --json x"))
	if err != nil {
		t.Fatal(err)
	}
	o := c.compare
	if o == nil || len(o.Tests) != 2 || o.Tests[1].Name != "bw" || o.Ranks != 4 || o.Reps != 3 || o.BTL != "tcp" || o.JSON != "x" ||
		!reflect.DeepEqual(o.With, []string{"mpich", "goroutines"}) || o.Params.Range.String() != "8:8" {
		t.Errorf("%+v", o)
	}
	if c, err = parse([]string{"compare", "barrier"}); err != nil || c.compare.Ranks != 2 || len(c.compare.With) != 2 || c.compare.Reps != 5 {
		t.Errorf("defaults: %+v, %v", c.compare, err)
	}
}

func TestParseOneSided(t *testing.T) {
	c, err := parse(strings.Fields("compare --window allocate --sync lock_all+flush --calls 2 put_latency latency"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"--window allocate --sync lock_all+flush --calls 2", ""} {
		test := c.compare.Tests[i]
		if got := strings.Join(test.Args(c.compare.Params), " "); got != want {
			t.Errorf("%s: arguments %q", test.Name, got)
		}
	}
	bibw, err := suite.Lookup("put_bibw")
	if err != nil {
		t.Fatal(err)
	}
	if o := bibw.OneSidedOf(suite.Params{}); o != (suite.OneSided{Window: "allocate", Sync: suite.SyncPSCW, Calls: 1}) {
		t.Errorf("put_bibw's own: %+v", o)
	}
}

func TestParseRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"":                              "name a test",
		"latenzy":                       "unknown test",
		"overlapp":                      "did you mean overlap",
		"latency bw":                    "want one test",
		"latency -m 8:1":                "invalid value",
		"latency -i 0":                  "at least one iteration",
		"latency -x -1":                 "0 or more",
		"latency -n 0":                  "at least one rank",
		"latency --plot a.pdf":          ".svg or .png",
		"latency --reps 3":              "not defined",
		"latency -n 2 --mca btl self":   "OMPI_MCA_NAME=VALUE",
		"limits -n 2":                   "no option",
		"limits -i 3":                   "no option",
		"limits -x 3":                   "no option",
		"put_latency --window shared":   "want one of create",
		"put_latency --sync flush_all":  "want one of lock",
		"put_latency --calls 0":         "at least one call",
		"put_bibw --sync lock":          "pscw or fence",
		"sync_fence --sync lock":        "its own synchronisation",
		"hammer --calls 3":              "its own number",
		"latency --window create":       "for one-sided tests",
		"compare hammer":                "no test hammer",
		"compare latency --sync lock":   "for one-sided tests",
		"compare":                       "name a test",
		"compare latency -n 1":          "at least 2 ranks",
		"compare latency --with impi":   "--with",
		"compare latency --btl rdma":    "--btl",
		"compare mbw_mr -n 3":           "even number",
		"compare barrier limits":        "unknown test",
		"compare latency --bind-to all": "--bind-to",
	} {
		if _, err := parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", args, err, want)
		}
	}
	for _, args := range []string{"-h", "latency --help", "compare -h"} {
		if _, err := parse(strings.Fields(args)); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestUsageNamesEveryTest(t *testing.T) {
	text := usage()
	words := strings.Fields(text)
	for _, test := range suite.All() {
		if test.Form != suite.NonBlocking && test.Form != suite.Persistent && !slices.Contains(words, test.Name) {
			t.Errorf("usage lacks %s", test.Name)
		}
	}
	for _, want := range []string{"latency -i 10000 -x 100 and -i 1000 -x 10;", "match_depth -i 20 -x 2."} {
		if !strings.Contains(strings.Join(words, " "), want) {
			t.Errorf("usage lacks %q", want)
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > 120 {
			t.Errorf("long line %q", line)
		}
	}
}

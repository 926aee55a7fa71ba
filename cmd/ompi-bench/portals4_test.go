package main

import (
	"errors"
	"flag"
	"strings"
	"testing"
)

func TestParsePortals(t *testing.T) {
	for _, line := range []string{
		"put_latency match -n 2 --nal shm,tcp --event ct -i 10 -x 0 -m 10:1000 --json f",
		"-n 2 --event=ct put_latency --nal shm,tcp -i 10 --json f match -m 10:1000 -x 0",
	} {
		o, err := parsePortals(strings.Fields(line))
		if err != nil || len(o.Tests) != 2 || o.Tests[1].Name != "match" || o.Goroutines != 2 || o.NAL != "shm,tcp" || !o.Counting || o.NoMatching ||
			o.Params.Iterations != 10 || o.Params.Warmup != 0 || o.Params.Range.String() != "10:1000" || o.JSON != "f" {
			t.Errorf("%q: %+v, %v", line, o, err)
		}
	}
	for line, want := range map[string]string{
		"":                                "name a test",
		"put_latenzy":                     "did you mean put_latency",
		"put_latency -n 3":                "1 or 2 ranks",
		"put_latency -n 1 --nal shm":      "without",
		"put_latency -i 0":                "at least one",
		"put_latency -x -1":               "0 or more",
		"put_latency --event q":           "eq or ct",
		"put_latency --entry x":           "me or le",
		"atomic_bw -m 4:8":                "multiples of 8",
		"fetch_latency -m 0:8":            "multiples of 8",
		"match --entry le":                "match list entries",
		"match -m 10:10000000":            "1 to 1000000",
		"put_latency --btl sm":            "not defined",
		"put_latency -m 8:4 --event eq":   "invalid value",
		"put_latency get_latency -i 1 zz": "unknown test",
	} {
		if o, err := parsePortals(strings.Fields(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want %q", line, o, err, want)
		}
	}
	if _, err := parsePortals([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}

package main

import (
	"errors"
	"flag"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	defaults := options{steps: 1000, every: 100, exchange: "two-sided"}
	for _, c := range []struct {
		args string
		want options
	}{
		{"", defaults},
		{"--in a.png --steps 7", options{in: "a.png", steps: 7, every: 100, exchange: "two-sided"}},
		{"-out d --every 5 --speedup", options{out: "d", steps: 1000, every: 5, speedup: true, exchange: "two-sided"}},
		{"--exchange=one-sided", options{steps: 1000, every: 100, exchange: "one-sided"}},
	} {
		if got, err := parse(strings.Fields(c.args)); err != nil || got != c.want {
			t.Errorf("%q: %+v, %v", c.args, got, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--steps 0":              "at least one step",
		"--steps -3":             "at least one step",
		"--steps many":           "invalid value",
		"--every 5":              "needs --out",
		"--out d --every 0":      "at least one step between",
		"--exchange no-sided":    "want two-sided or one-sided",
		"--frobnicate":           "not defined",
		"picture.png":            "unexpected argument",
		"--steps 3 more --in -x": "unexpected argument",
	} {
		if _, err := parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", args, err, want)
		}
	}
	if _, err := parse([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}

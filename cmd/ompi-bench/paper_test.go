package main

import (
	"errors"
	"flag"
	"strings"
	"testing"
)

func TestParsePaper(t *testing.T) {
	for _, line := range []string{"kim-2018 --out d", "--out d -n 2 kim-2018 --reps 3"} {
		o, err := parsePaper(strings.Fields(line))
		if err != nil || o.Dir != "d" || o.Ranks != 2 || o.Reps != 3 {
			t.Errorf("%q: %+v, %v", line, o, err)
		}
	}
	for _, line := range []string{"", "--out d", "kim-2018", "kim-2019 --out d", "kim-2018 --out d x", "kim-2018 --out d -n 4", "kim-2018 --out d --reps 0",
		"kim-2018 --out d -i 100", "kim-2018 --out d --osc sm", "hassani-2013 --out d --osc ucx", "hassani-2013 --out d -n 1", "christgau-2012 --out d -i -4",
	} {
		if _, err := parsePaper(strings.Fields(line)); err == nil {
			t.Errorf("%q: accepted", line)
		}
	}
	o, err := parsePaper(strings.Fields("hassani-2013 --out d --osc sm,pt2pt"))
	if err != nil || o.Ranks != 8 || o.Reps != 1 || o.Iterations != 400 || o.OSC != "sm,pt2pt" {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := parsePaper([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}

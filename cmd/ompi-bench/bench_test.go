package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
	"github.com/ompi-go/ompi-go/ompi"
)

// Every test of the table runs, over goroutine ranks, and gives a sensible value for every size.
func TestEveryTestRuns(t *testing.T) {
	for _, test := range suite.All() {
		t.Run(test.Name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "r.json")
			args := []string{test.Name, "-m", "4:64", "-i", "10", "-x", "2", "--json", file}
			switch test.Name {
			case "idle":
				args[4] = "1"
			case "ddt":
				args[2] = "400:1100"
			case "sync":
				args[2] = "0:1"
			}
			c, err := parse(append(args, "-n", "4"))
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer // only rank 0 writes
			err = ompi.Run(context.Background(), c.goroutines, func(world *ompi.Comm) error {
				b := newBench(world, *c, time.Now(), &out)
				if err := b.fits(); err != nil {
					return err
				}
				return b.run()
			})
			if err != nil {
				t.Fatal(err)
			}
			check(t, c, out.String(), file)
		})
	}
}

func check(t *testing.T, c *commandLine, out, file string) {
	t.Helper()
	sizes := len(c.test.Sizes(c.params))
	switch c.test.Name {
	case "sync":
		sizes *= len(suite.Epochs())
	case "hammer":
		sizes = 2
	}
	if c.test.Layouts {
		sizes = 3 // NAS_LU_x:480, NAS_LU_y:480 and SPECFEM3D_oc:1024
	}
	rows := 0
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		rows++
		v, err := strconv.ParseFloat(strings.Fields(line)[1], 64)
		if err != nil || v < 0 || v == 0 && c.test.Name != "idle" {
			t.Errorf("line %q", line)
		}
	}
	if rows != sizes {
		t.Errorf("%d rows, want %d:\n%s", rows, sizes, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r report.Result
	if err := json.Unmarshal(data, &r); err != nil || len(r.Rows) != sizes || r.Test != c.test.Name || r.Ranks != 4 {
		t.Errorf("JSON %s, %v", data, err)
	}
}

// Every test of the table has a measurement or a course, every collective its calls, and there are no others.
func TestTableIsComplete(t *testing.T) {
	m, c := measurements(), courses()
	for _, test := range suite.All() {
		_, loop := m[test.Name]
		_, course := c[test.Name]
		if loop == course || course != (test.Once || test.Layouts || test.Overlap || test.Course) {
			t.Errorf("%s: loop %v, course %v", test.Name, loop, course)
		}
	}
	if len(m)+len(c) != len(suite.All()) {
		t.Errorf("%d measurements for %d tests", len(m)+len(c), len(suite.All()))
	}
	for _, of := range suite.Collectives() {
		if o := collectives()[of.Name]; o.call == nil || o.start == nil || o.prepare == nil {
			t.Errorf("%s: %+v", of.Name, o)
		}
	}
	if len(collectives()) != len(suite.Collectives()) {
		t.Errorf("%d collectives with calls, %d in the table", len(collectives()), len(suite.Collectives()))
	}
}

func TestShares(t *testing.T) {
	for want, got := range map[string][]int{"[2 2 1]": shares(5, 3), "[0 0]": shares(0, 2), "[1 0 0 0]": shares(1, 4)} {
		if fmt.Sprint(got) != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}

func TestNoLayoutOfThatSizeIsRefused(t *testing.T) {
	c, err := parse([]string{"ddt", "-m", "1:100", "-n", "2"})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{cmd: *c, test: c.test, ranks: 2}
	if err := b.fits(); err == nil || !strings.Contains(err.Error(), "no layout of -m 1:100 bytes") {
		t.Errorf("error %v", err)
	}
}

func TestTooMuchMemoryIsRefused(t *testing.T) {
	c, err := parse([]string{"alltoall", "-m", "1:2147483647", "-n", "4"})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{cmd: *c, test: c.test, ranks: 4}
	if err := b.fits(); err == nil || !strings.Contains(err.Error(), "-m MIN:MAX") {
		t.Errorf("error %v", err)
	}
}

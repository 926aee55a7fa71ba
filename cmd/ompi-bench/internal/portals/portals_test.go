package portals

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
	_ "github.com/ompi-go/ompi-go/ompi" // the BTLs that carry Portals
)

// run measures everything shortly.
func run(t *testing.T, o Options) (text string, results []report.Result) {
	t.Helper()
	o.Params.Iterations, o.Params.Warmup = 4, 1
	o.JSON = filepath.Join(t.TempDir(), "r.json")
	for _, test := range Tests() {
		if test.op == matching && (o.NoMatching || o.Goroutines > 1) {
			continue
		}
		o.Tests = append(o.Tests, test)
	}
	o.Params.Range = suite.Range{Min: 8, Max: 16, Given: true}
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer // rank 0 alone writes
	if err := Run(t.Context(), o, &out); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(o.JSON)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &results); err != nil {
		t.Fatal(err)
	}
	return out.String(), results
}

// TestEverything: every test runs, to itself and between two ranks over every NAL, with every kind of entry and event, and gives a sensible value
// for each size.
func TestEverything(t *testing.T) {
	for _, c := range []struct {
		ranks int
		nal   string
	}{{1, ""}, {2, ""}, {2, "shm"}, {2, "tcp"}, {2, "udp"}} {
		for _, counting := range []bool{false, true} {
			for _, noMatching := range []bool{false, true} {
				if c.ranks == 2 && counting != noMatching {
					continue // the way of the bytes is what is new here
				}
				t.Run(fmt.Sprint(c.ranks, c.nal, "/ct=", counting, "/le=", noMatching), func(t *testing.T) {
					text, results := run(t, Options{Goroutines: c.ranks, NAL: c.nal, Counting: counting, NoMatching: noMatching})
					want := 8
					if c.ranks == 1 && !noMatching {
						want++ // match
					}
					if len(results) != want {
						t.Errorf("%d results, want %d", len(results), want)
					}
					lines := 0
					for line := range strings.Lines(text) {
						if strings.HasPrefix(line, "#") {
							continue
						}
						lines++
						for _, word := range strings.Fields(line) {
							if v, err := strconv.ParseFloat(word, 64); err != nil || v <= 0 {
								t.Errorf("line %q", line)
							}
						}
					}
					rows := 0
					for _, r := range results {
						rows += len(r.Rows)
					}
					if rows != lines || rows < 8*2 {
						t.Errorf("%d rows, %d lines", rows, lines)
					}
				})
			}
		}
	}
}

func TestSizesOfLists(t *testing.T) {
	match, err := Lookup("match")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(match.sizes(suite.Params{})); got != "[10 100 1000 10000 100000]" {
		t.Errorf("%s", got)
	}
}

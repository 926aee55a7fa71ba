package tune

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/coll/rules"
	"github.com/ompi-go/ompi-go/ompi"
)

func times(m map[string]float64, k alg.Kind) map[candidate]float64 {
	out := map[candidate]float64{}
	for name, us := range m {
		name, piece, _ := strings.Cut(name, "/")
		c := candidate{algorithm: alg.Named(k, name)}
		if piece != "" {
			c.segment = 8192
		}
		out[c] = us
	}
	return out
}

func TestDecisions(t *testing.T) {
	at := func(ranks int, bytes int64) point { return point{alg.Bcast, true, ranks, bytes} }
	r := results{
		at(2, 4): times(map[string]float64{"linear": 1, "binomial": 2}, alg.Bcast),
		// Hardly better is not enough, better is.
		at(2, 16): times(map[string]float64{"linear": 1.04, "binomial": 1}, alg.Bcast),
		at(2, 64): times(map[string]float64{"linear": 1.06, "binomial": 1}, alg.Bcast),
		// As with two ranks.
		at(4, 4):  times(map[string]float64{"linear": 1, "binomial": 2}, alg.Bcast),
		at(4, 64): times(map[string]float64{"linear": 3, "binomial": 2}, alg.Bcast),
		// What serves only some numbers of ranks gets another to stand by; segments are kept.
		at(8, 4):   times(map[string]float64{"scatter_allgather": 1, "linear": 3, "pipeline/8k": 2}, alg.Bcast),
		at(8, 64):  times(map[string]float64{"scatter_allgather": 2, "linear": 3, "pipeline/8k": 1}, alg.Bcast),
		at(8, 256): times(map[string]float64{"scatter_allgather": 2, "linear": 3, "pipeline/8k": 1}, alg.Bcast),

		{alg.Scan, false, 3, 16}: times(map[string]float64{"linear": 1, "recursive_doubling": 2}, alg.Scan),
	}
	table, err := r.table()
	if err != nil {
		t.Fatal(err)
	}
	const want = `version 1
include default

bcast
    ranks 1
        bytes 0     linear
        bytes 64    binomial
    ranks 8
        bytes 0     scatter_allgather|pipeline
        bytes 64    pipeline segment 8k

scan noncommutative
    ranks 1
        bytes 0     linear
`
	if table.String() != want {
		t.Errorf("the table is\n%s, want\n%s", table, want)
	}
}

// A run over goroutine ranks writes a table that can be read, and an instance takes it.
func TestRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "rules")
	o := Options{Out: out, Goroutines: 3, Min: 4, Max: 16, Budget: 50 * time.Microsecond}
	if err := Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rules.Parse(out, string(text), new(rules.Table)); err != nil {
		t.Error(err)
	}
	for _, k := range DefaultKinds() {
		if !strings.Contains(string(text), "\n"+k.String()) {
			t.Errorf("no rules for %s in\n%s", k, text)
		}
	}
	err = ompi.Run(context.Background(), 3, func(w *ompi.Comm) error { return w.Barrier() }, ompi.WithParam("coll_tuned_rules_file", out))
	if err != nil {
		t.Error(err)
	}
}

func TestWhatCannotBeMeasured(t *testing.T) {
	o := Options{Out: filepath.Join(t.TempDir(), "rules"), Goroutines: 2, Ranks: []int{4}, Min: 4, Max: 4, Budget: time.Millisecond}
	if err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "4 ranks are to be measured, the job has 2") {
		t.Error(err)
	}
	t.Setenv("OMPI_MCA_coll", "basic")
	o.Ranks = nil
	if err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "parameter coll leaves out component tune") {
		t.Error(err)
	}
}

package ompi

import (
	"context"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/metrics"
)

var updateMetrics = flag.Bool("update-metrics", false, "write the table of docs/metrics.md anew")

// inside runs f in one rank of a job of two.
func inside(t *testing.T, f func(i *Instance), opts ...Option) {
	t.Helper()
	err := Run(context.Background(), 2, func(w *Comm) error {
		if w.Rank() == 1 {
			f(w.Instance())
		}
		return nil
	}, opts...)
	if err != nil {
		t.Fatal(err)
	}
}

// TestMetricsDoc: docs/metrics.md lists the counters of a rank with all built-in components.
func TestMetricsDoc(t *testing.T) {
	const file, begin, end = "../docs/metrics.md", "<!-- counters: begin -->\n", "<!-- counters: end -->\n"
	var sources []metrics.Source
	for _, transports := range []string{"self,sm", "self,tcp", "self,udp", "self,unimem", "self,portals4"} { // in one process, tcp stands back where there is sm
		inside(t, func(i *Instance) { sources = append(sources, i.sources()...) }, WithParam("pml", "ob1"), WithParam("btl", transports))
	}
	inside(t, func(i *Instance) { sources = append(sources, i.sources()...) }, WithParam("pml", "cm"))
	descs, err := metrics.Describe(sources...)
	if err != nil {
		t.Fatal(err)
	}
	table := metrics.Markdown(descs)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", file)
	}
	if *updateMetrics {
		if err := os.WriteFile(file, []byte(head+begin+table+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != table {
		t.Errorf("%s is out of date; go test ./ompi -run TestMetricsDoc -update-metrics writes it. It should list\n%s", file, table)
	}
}

func TestFallbacksAreCounted(t *testing.T) {
	inside(t, func(i *Instance) {
		i.engine.Lock()
		i.said["sm-cma"] = 1 // the first is printed
		(*upcalls)(i).Say("sm-cma", "no")
		i.engine.Unlock()
		text, err := i.scrape()
		if want := "ompi_fallbacks_total{rank=\"1\",what=\"sm-cma\"} 2\n"; err != nil || !strings.Contains(string(text), want) {
			t.Errorf("no %q, error %v, in\n%s", want, err, text)
		}
	})
}

package paper

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
)

// figures are those of one component.
type figures struct {
	c                             sided
	empty, one                    []report.Row // figure 2: by ranks
	bandwidth, latency, amortised []report.Row // figures 3, 4, 5: by size
}

// newFigures takes the cost of an empty epoch off where the paper does: of latencies, and of many puts in one epoch their share of it.
func newFigures(c sided, v values) figures {
	f := figures{
		c: c, empty: v.rows("empty epoch", suite.Epochs(), "us"), one: v.rows("epoch of one put", suite.Epochs(), "us"),
		bandwidth: v.rows("bandwidth", []string{putEpoch, getEpoch, sendReceive}, "MB/s"),
		latency:   v.rows("latency", latencySeries(), "us"),
	}
	lock, _ := at(f.empty, "lock_shared", 2)
	for i := range f.latency {
		if r := &f.latency[i]; r.Series == putEpoch || r.Series == getEpoch {
			takeOff(r, lock.Value)
		}
	}
	f.amortised = v.rows("puts", batchNames(), "us")
	for i := range f.amortised {
		n, _ := strconv.Atoi(f.amortised[i].Series)
		takeOff(&f.amortised[i], lock.Value/float64(n))
	}
	return f
}

func takeOff(r *report.Row, us float64) {
	r.Value, r.Median, r.Min, r.Max = r.Value-us, r.Median-us, r.Min-us, r.Max-us
}

func latencySeries() []string { return []string{putEpoch, getEpoch, sendReceive, putFlush, getFlush} }

func batchNames() []string {
	var names []string
	for _, n := range batches {
		names = append(names, strconv.Itoa(n))
	}
	return names
}

func (f figures) parts() []part {
	name := func(s string) string { return "osc/" + f.c.osc + ": " + s }
	return []part{
		{name("empty epoch"), f.empty}, {name("epoch of one put"), f.one}, {name("bandwidth"), f.bandwidth}, {name("latency"), f.latency}, {name("puts in an epoch"), f.amortised},
	}
}

// write is the text: a verdict, and the tables.
func (f figures) write(b *strings.Builder) {
	fmt.Fprintf(b, "## osc/%s, beside pml/%s\n\n", f.c.osc, f.c.pml)
	f.verdict(b)
	fmt.Fprintf(b, "Figure 2: microseconds of an empty epoch, by ranks (flush: a flush of nothing)\n\n")
	table(b, "ranks", suite.Epochs(), f.empty)
	fmt.Fprintf(b, "Figure 2: microseconds of an epoch with one put of 8 bytes\n\n")
	table(b, "ranks", suite.Epochs(), f.one)
	fmt.Fprintf(b, "Figure 3: bandwidth in MB/s, %d operations between two flushes or messages in flight\n\n", suite.Window)
	table(b, "bytes", []string{putEpoch, getEpoch, sendReceive}, f.bandwidth)
	fmt.Fprintf(b, "Figure 4: latency in microseconds; put and get in an epoch of a shared lock, less the cost of an empty one; with flush: whole\n\n")
	table(b, "bytes", latencySeries(), f.latency)
	fmt.Fprintf(b, "Figure 5: microseconds of a put by the number of puts in the epoch of a lock, less their share of an empty epoch\n\n")
	table(b, "bytes", batchNames(), f.amortised)
}

// verdict holds the outcome against what the paper found.
func (f figures) verdict(b *strings.Builder) {
	say := func(what string, rows []report.Row, series string, size int64, against string, of int64) {
		x, ok1 := at(rows, series, size)
		y, ok2 := at(rows, against, of)
		if ok1 && ok2 && y.Value > 0 {
			fmt.Fprintf(b, "- %s: %s against %s, %.2f times\n", what, digits(x.Value), digits(y.Value), x.Value/y.Value)
		}
	}
	say("latency of 8 bytes, put (less the epoch) against send/receive", f.latency, putEpoch, 8, sendReceive, 8)
	say("latency of 8 bytes, get (less the epoch) against send/receive", f.latency, getEpoch, 8, sendReceive, 8)
	say("latency of 8 bytes, put and flush against send/receive", f.latency, putFlush, 8, sendReceive, 8)
	say("latency of 8 bytes, get and flush against send/receive", f.latency, getFlush, 8, sendReceive, 8)
	say("bandwidth of 1 MiB, put against send/receive", f.bandwidth, putEpoch, 1<<20, sendReceive, 1<<20)
	if ranks := sizesOf(f.one); len(ranks) > 0 {
		most := ranks[len(ranks)-1]
		say(fmt.Sprintf("put and flush among %d ranks against 2", most), f.one, "flush", most, "flush", 2)
	}
	fmt.Fprintln(b)
}

func (f figures) plot(dir string) error {
	for _, p := range []struct {
		file, title, value, size string
		rows                     []report.Row
	}{
		{"figure2", "figure 2, empty epochs", "Epoch(us)", "Ranks", f.empty},
		{"figure2-one-put", "figure 2, epochs of one put", "Epoch(us)", "Ranks", f.one},
		{"figure3", "figure 3, bandwidth", "Bandwidth(MB/s)", "Size", f.bandwidth},
		{"figure4", "figure 4, latency", "Latency(us)", "Size", f.latency},
		{"figure5", "figure 5, puts in an epoch", "us/put", "Size", f.amortised},
	} {
		t := chart("osc/"+f.c.osc+": hassani-2013 "+p.title, p.value, p.size)
		path := filepath.Join(dir, p.file+"-"+f.c.osc+".svg")
		if err := report.Plot(path, t, report.Result{Test: t.Name, Ranks: 2, Rows: p.rows}); err != nil {
			return err
		}
	}
	return nil
}

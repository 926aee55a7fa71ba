package paper

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
)

// values are what was measured: a value a repetition.
type values map[key][]float64

type key struct {
	test, series string
	size         int64
}

func newValues() values { return values{} }

func (v values) add(test, series string, size int64, value float64) {
	k := key{test, series, size}
	v[k] = append(v[k], value)
}

// parse enters what a job of ompi-bench has printed.
func (v values) parse(test, series, out string) error {
	lines := bufio.NewScanner(strings.NewReader(out))
	n := 0
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) < 2 {
			return fmt.Errorf("output has the line %.80q, want a size and a value", lines.Text())
		}
		size, err1 := strconv.ParseInt(f[0], 10, 64)
		value, err2 := strconv.ParseFloat(f[1], 64)
		if err := errors.Join(err1, err2); err != nil || size < 0 || math.IsNaN(value) || math.IsInf(value, 0) {
			return fmt.Errorf("output has the line %.80q, want a size and a value", lines.Text())
		}
		v.add(test, series, size, value)
		n++
	}
	if n == 0 {
		return errors.New("the job printed no results")
	}
	return lines.Err()
}

// rows lists the medians of a test, series by series.
func (v values) rows(test string, names []string, unit string) []report.Row {
	var all []report.Row
	keys := slices.SortedFunc(maps.Keys(v), func(a, b key) int { return int(max(min(a.size-b.size, 1), -1)) })
	for _, name := range names {
		for _, k := range keys {
			if k.test == test && k.series == name {
				row := report.NewRow(k.size, unit, v[k])
				row.Series = name
				all = append(all, row)
			}
		}
	}
	return all
}

// at finds the row of a series and size.
func at(rows []report.Row, name string, size int64) (report.Row, bool) {
	for _, r := range rows {
		if r.Series == name && r.Size == size {
			return r, true
		}
	}
	return report.Row{}, false
}

// sizesOf lists the sizes of rows, each once.
func sizesOf(rows []report.Row) []int64 {
	var sizes []int64
	for _, r := range rows {
		if !slices.Contains(sizes, r.Size) {
			sizes = append(sizes, r.Size)
		}
	}
	slices.Sort(sizes)
	return sizes
}

// tables prints a column for each series.
func tables(out io.Writer, names []string, halves ...[]report.Row) {
	for i, rows := range halves {
		fmt.Fprintf(out, "# kim-2018 figure 1, %s: medians\n", []string{"latency (us)", "bandwidth (MB/s)"}[i])
		w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintf(w, "# size\t%s\t\n", strings.Join(names, "\t"))
		for _, size := range sizesOf(rows) {
			fmt.Fprintf(w, "%d\t", size)
			for _, name := range names {
				if r, ok := at(rows, name, size); ok {
					fmt.Fprintf(w, "%.2f", r.Value)
				}
				fmt.Fprint(w, "\t")
			}
			fmt.Fprintln(w)
		}
		w.Flush()
	}
}

// verdict holds the outcome against the paper's.
func verdict(out io.Writer, latency, bandwidth []report.Row, names []string) {
	steps := kimSteps()
	if first, ok := at(latency, steps[0].name, 0); ok {
		best := first
		for _, s := range steps {
			if r, ok := at(latency, s.name, 0); ok && !s.future && r.Value < best.Value {
				best = r
			}
		}
		ratio := best.Value / first.Value
		word := "better than"
		if ratio >= paperRatio {
			word = "NOT better than"
		}
		fmt.Fprintf(out, "# 0 bytes: %q %.2f us, %q %.2f us: ratio %.3f (of the least times %.3f), %s the paper's %.2f (14.47 us of 23.41 us)\n",
			first.Series, first.Value, best.Series, best.Value, ratio, best.Min/first.Min, word, paperRatio)
	}
	for _, name := range names {
		var peak report.Row
		for _, r := range bandwidth {
			if r.Series == name && r.Value > peak.Value {
				peak = r
			}
		}
		if peak.Value > 0 {
			fmt.Fprintf(out, "# peak bandwidth, %s: %.2f MB/s at %d bytes\n", name, peak.Value, peak.Size)
		}
	}
	fmt.Fprintln(out, "# each step keeps those before it. The cost of a registration is a parameter of the model (btl_unimem_register_cost, 10 us); all else is this machine")
}

// writeCSV writes the numbers of both halves.
func writeCSV(path string, halves ...[]report.Row) error {
	var parts []part
	for i, rows := range halves {
		parts = append(parts, part{[]string{"latency", "bandwidth"}[i], rows})
	}
	return writeParts(path, "size_bytes", parts)
}

// part is what a file says of one metric.
type part struct {
	metric string
	rows   []report.Row
}

// writeParts writes the numbers of several metrics.
func writeParts(path, size string, parts []part) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("paper: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := csv.NewWriter(f)
	lines := [][]string{{"metric", "step", size, "unit", "median", "min", "max", "repetitions"}}
	num := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	for _, p := range parts {
		for _, r := range p.rows {
			lines = append(lines, []string{p.metric, r.Series, strconv.FormatInt(r.Size, 10), r.Unit, num(r.Median), num(r.Min), num(r.Max), strconv.Itoa(r.Reps)})
		}
	}
	return w.WriteAll(lines)
}

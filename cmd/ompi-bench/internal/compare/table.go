package compare

import (
	"fmt"
	"io"
	"slices"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
)

// writeTable prints one test: what was run and how, the raw limits of the same minutes, then a line a point, then the means.
func writeTable(w io.Writer, s setting, commands []command, failed map[string]error, r report.Result) {
	faster := "below 1 ours is better"
	if s.test.HigherBetter {
		faster = "above 1 ours is better"
	}
	fmt.Fprintf(w, "# %s, %d ranks on %d cores, %s, bound to: %s, %d interleaved repetitions\n",
		s.test.Name, s.o.Ranks, s.cores, s.o.BTL, s.binding(), s.o.Reps)
	fmt.Fprintf(w, "# values: medians in %s; ratio: ours / theirs in the same repetition, median (least to greatest), %s\n", s.test.Unit, faster)
	for _, c := range commands {
		if err := failed[c.id()]; err != nil {
			fmt.Fprintf(w, "# %s is left out: %v\n", c.id(), err)
			continue
		}
		fmt.Fprintf(w, "# %s: %s\n", c.id(), c)
	}
	for _, l := range r.Limits {
		report.LimitLine(w, "# limit: ", l)
	}
	names := sides(commands)
	first := 12
	for _, row := range r.Rows {
		first = max(first, len(row.Label())+2)
	}
	fmt.Fprintf(w, "# %-*s%12s", first-2, s.test.Size, names[0])
	for _, name := range names[1:] {
		fmt.Fprintf(w, "  %14s%8s %-16s", name, "ratio", "(spread)")
	}
	fmt.Fprintln(w)
	points := 0
	for rows := r.Rows; len(rows) > 0; points++ {
		n := samePoint(rows)
		writeRow(w, first, names, rows[:n])
		rows = rows[n:]
	}
	if points > 1 {
		writeMeans(w, "", r.Means)
	}
	fmt.Fprintln(w)
}

// writeRow prints the rows of one point; a side without a value is a dash, and so is a ratio that says nothing.
func writeRow(w io.Writer, first int, names []string, rows []report.Row) {
	fmt.Fprintf(w, "%-*s%12.3f", first, rows[0].Label(), rows[0].Value)
	for _, name := range names[1:] {
		i := slices.IndexFunc(rows, func(r report.Row) bool { return r.Series == name })
		if i < 0 {
			fmt.Fprintf(w, "  %14s%8s %-16s", "-", "-", "")
			continue
		}
		q := rows[i].Ratio
		if q == nil {
			fmt.Fprintf(w, "  %14.3f%8s %-16s", rows[i].Value, "-", "")
			continue
		}
		fmt.Fprintf(w, "  %14.3f%8s %-16s", rows[i].Value, ratio(q.Median), "("+ratio(q.Min)+" to "+ratio(q.Max)+")")
	}
	fmt.Fprintln(w)
}

// ratio keeps two digits that say something, also where one side is a hundred times the other.
func ratio(v float64) string {
	switch {
	case v >= 0.1 || v == 0:
		return fmt.Sprintf("%.2f", v)
	case v >= 0.01:
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.4f", v)
}

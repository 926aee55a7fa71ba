package paper

import (
	"fmt"
	"strings"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
)

// sided is a one-sided component with the point to point of the same transport.
type sided struct {
	osc, pml, btl string
}

// components lists what papers about one-sided communication are measured with.
func components() []sided {
	return []sided{{"portals4", "cm", "self,sm"}, {"rdma", "ob1", "self,sm"}, {"pt2pt", "ob1", "self,sm"}, {"sm", "ob1", "self,sm"}}
}

// choose gives the components of these names; none is all of them.
func choose(names string) ([]sided, error) {
	if names == "" {
		return components(), nil
	}
	var chosen []sided
	for name := range strings.SplitSeq(names, ",") {
		known := false
		for _, c := range components() {
			if c.osc == name {
				chosen, known = append(chosen, c), true
			}
		}
		if !known {
			return nil, fmt.Errorf("--osc %s: want some of portals4,rdma,pt2pt,sm", name)
		}
	}
	return chosen, nil
}

// job is the command of a program over this component.
func (s sided) job(mpirun string, ranks int, program ...string) []string {
	command := []string{
		mpirun, "-n", fmt.Sprint(ranks), "--bind-to", "none",
		"--mca", "osc", s.osc, "--mca", "pml", s.pml, "--mca", "btl", s.btl,
	}
	if s.osc == "portals4" { // the paper's protocol is what is measured
		command = append(command, "--mca", "osc_portals4_direct", "false")
	}
	return append(command, program...)
}

// chart names the axes of a figure.
func chart(title, value, size string) suite.Test {
	return suite.Test{Name: title, Title: value, Size: size}
}

// table writes rows as markdown: a line for each size, a column for each series.
func table(b *strings.Builder, first string, names []string, rows []report.Row) {
	fmt.Fprintf(b, "| %s | %s |\n|---:%s|\n", first, strings.Join(names, " | "), strings.Repeat("|---:", len(names)))
	for _, size := range sizesOf(rows) {
		fmt.Fprintf(b, "| %d |", size)
		for _, name := range names {
			if r, ok := at(rows, name, size); ok {
				fmt.Fprintf(b, " %s |", digits(r.Value))
			} else {
				fmt.Fprint(b, " |")
			}
		}
		fmt.Fprintln(b)
	}
	fmt.Fprintln(b)
}

// digits writes a value with about four digits.
func digits(v float64) string {
	switch {
	case v >= 1000 || v <= -1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 100 || v <= -100:
		return fmt.Sprintf("%.1f", v)
	case v >= 10 || v <= -10:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// reason gives an error's text without the command that it begins with: why a component does not take part.
func reason(err error) string {
	text := err.Error()
	if _, why, ok := strings.Cut(text, "exit status"); ok {
		_, why, _ = strings.Cut(why, ": ")
		text = why
	}
	return strings.ReplaceAll(text, "\n", " ")
}

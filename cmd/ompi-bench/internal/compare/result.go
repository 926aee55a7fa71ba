package compare

import (
	"slices"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
)

// sides lists the sides in the order of their commands.
func sides(commands []command) []string {
	var names []string
	for _, c := range commands {
		if !slices.Contains(names, c.side) {
			names = append(names, c.side)
		}
	}
	return names
}

// result turns values into rows: point by point, ours first, then each side's best command with the ratio to ours.
func (s setting) result(commands []command, values map[string]measured) report.Result {
	r := report.Result{Test: s.test.Name, Ranks: s.o.Ranks, Params: s.params(commands)}
	for _, p := range inOrder(values[ours]) {
		mine := values[ours][p]
		for _, side := range sides(commands) {
			theirs, variant := s.best(commands, values, side, p)
			if theirs == nil {
				continue
			}
			row := report.NewRow(p.size, s.unit(p), theirs)
			row.Series, row.Variant, row.Case, row.Checksum = side, variant, p.what, p.sum
			// per cent of overlap may be none: only times have a ratio
			if side != ours && p.what != suite.Overlap {
				ratio := report.Ratios(mine, theirs)
				row.Ratio = &ratio
			}
			r.Rows = append(r.Rows, row)
		}
	}
	t := newTally()
	t.add(r.Rows, s.test.HigherBetter)
	r.Means = t.means(s.test.HigherBetter)
	return r
}

// best gives the values of a side's better command for one point, and its variant; nil if it has none.
func (s setting) best(commands []command, values map[string]measured, side string, p point) (best []float64, variant string) {
	for _, c := range commands {
		v := values[c.id()][p]
		if c.side != side || len(v) == 0 {
			continue
		}
		if best == nil || s.better(p, report.Summarise(v).Median, report.Summarise(best).Median) {
			best, variant = v, c.variant
		}
	}
	return best, variant
}

func (s setting) better(p point, a, b float64) bool {
	if s.test.HigherBetter || p.what == suite.Overlap {
		return a > b
	}
	return a < b
}

func (s setting) unit(p point) string {
	if p.what == suite.Overlap {
		return "%"
	}
	return s.test.Unit
}

func (s setting) params(commands []command) map[string]any {
	lines := map[string]string{}
	for _, c := range commands {
		lines[c.id()] = c.String()
	}
	p := map[string]any{"btl": s.o.BTL, "bind": s.binding(), "reps": s.o.Reps, "commands": lines}
	if s.o.Params.Range.Given {
		p["range"] = s.o.Params.Range.String()
	}
	if s.o.Params.Iterations > 0 {
		p["iterations"] = s.o.Params.Iterations
	}
	if s.o.Params.Warmup >= 0 {
		p["warmup"] = s.o.Params.Warmup
	}
	if s.test.Window {
		o := s.test.OneSidedOf(s.o.Params)
		p["window_kind"], p["sync"], p["calls"] = o.Window, o.Sync, o.Calls
	}
	return p
}

// limitLog gathers the raw limits of all repetitions.
type limitLog struct {
	order  []report.Limit
	values [][]float64
}

func newLimitLog() *limitLog { return &limitLog{} }

// add takes one measurement of all limits. One that fails as a whole is kept as a missing limit: the comparison stands without it.
func (l *limitLog) add(limits []report.Limit, err error) {
	if err != nil {
		limits = []report.Limit{{Name: "raw limits", Missing: err.Error()}}
	}
	for _, x := range limits {
		i := slices.IndexFunc(l.order, func(o report.Limit) bool { return o.Name == x.Name && o.Size == x.Size })
		if i < 0 {
			i = len(l.order)
			l.order = append(l.order, x)
			l.values = append(l.values, nil)
		}
		if x.Missing == "" {
			l.values[i] = append(l.values[i], x.Median)
		}
	}
}

// summary is, for every limit, the median over the repetitions and how far they reach.
func (l *limitLog) summary() []report.Limit {
	out := slices.Clone(l.order)
	for i := range out {
		if len(l.values[i]) > 0 {
			out[i].Spread = report.Summarise(l.values[i])
			out[i].Missing = ""
		}
	}
	return out
}

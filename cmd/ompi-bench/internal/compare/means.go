package compare

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
)

// tally gathers the ratios ours / theirs of many rows for their geometric means. It keeps them so that below 1 ours is better, also
// where more is better.
type tally struct {
	names []string // of the sides, as they came
	logs  map[string][]float64
}

func newTally() *tally { return &tally{logs: map[string][]float64{}} }

// add takes the rows of one result.
func (t *tally) add(rows []report.Row, higherBetter bool) {
	for len(rows) > 0 {
		n := samePoint(rows)
		t.addPoint(rows[:n], higherBetter)
		rows = rows[n:]
	}
}

// addPoint takes all sides' rows of one point. The best of the other implementations is the one that makes ours look worst; our own
// goroutines are none of them.
func (t *tally) addPoint(rows []report.Row, higherBetter bool) {
	worst, peers := math.Inf(-1), 0
	for _, r := range rows {
		if r.Ratio == nil || r.Ratio.Median <= 0 {
			continue
		}
		log := math.Log(r.Ratio.Median)
		if higherBetter {
			log = -log
		}
		t.enter(r.Series, log)
		if r.Series != goroutines {
			worst = max(worst, log)
			peers++
		}
	}
	if peers > 0 {
		t.enter(theBest, worst)
	}
}

// theBest is the series of the means against the best of the others.
const theBest = "the best of them"

func (t *tally) enter(name string, log float64) {
	if !slices.Contains(t.names, name) {
		t.names = append(t.names, name)
	}
	t.logs[name] = append(t.logs[name], log)
}

// means gives one mean a side, and that against the best of several others. They turn as the ratios of the rows do when higherBetter
// is said again.
func (t *tally) means(higherBetter bool) []report.Mean {
	peers := 0
	for _, name := range t.names {
		if name != goroutines && name != theBest {
			peers++
		}
	}
	var all, last []report.Mean
	for _, name := range t.names {
		sum := 0.0
		for _, l := range t.logs[name] {
			sum += l
		}
		mean := sum / float64(len(t.logs[name]))
		if higherBetter {
			mean = -mean
		}
		m := report.Mean{Series: name, Ratio: math.Exp(mean)}
		switch {
		case name != theBest:
			all = append(all, m)
		case peers == 2:
			m.Series = "the better of both"
			last = append(last, m)
		case peers > 2:
			last = append(last, m)
		}
	}
	return append(all, last...)
}

// writeMeans prints one line, or none where nothing was compared.
func writeMeans(w io.Writer, over string, means []report.Mean) {
	if len(means) == 0 {
		return
	}
	var parts []string
	for _, m := range means {
		parts = append(parts, m.Series+" "+ratio(m.Ratio))
	}
	fmt.Fprintf(w, "# geometric mean of ratios%s: %s\n", over, strings.Join(parts, ", "))
}

// samePoint counts the first rows that are about the same point.
func samePoint(rows []report.Row) int {
	n := 1
	for n < len(rows) && rows[n].Size == rows[0].Size && rows[n].Case == rows[0].Case {
		n++
	}
	return n
}

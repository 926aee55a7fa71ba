package compare

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
)

// point is one thing that a test measures; sides are compared point by point.
type point struct {
	what string // a layout of ddt, a phase of a test of overlap, else ""
	size int64
	sum  string // checksum of the bytes sent, where the test has one: other bytes are another point
}

func (p point) String() string {
	s := strconv.FormatInt(p.size, 10)
	if p.what != "" {
		s = p.what + ":" + s
	}
	if p.sum != "" {
		s += " (checksum " + p.sum + ")"
	}
	return s
}

// inOrder lists points by what they are, then by size.
func inOrder[V any](values map[point]V) []point {
	return slices.SortedFunc(maps.Keys(values), func(a, b point) int {
		return cmp.Or(strings.Compare(a.what, b.what), cmp.Compare(a.size, b.size), strings.Compare(a.sum, b.sum))
	})
}

// parseColumns reads a program's output: `#` comment lines, then lines of a size and values. What is neither is an error that quotes
// the line.
func parseColumns(stdout string, t suite.Test) (map[point]float64, error) {
	values := map[point]float64{}
	lines := bufio.NewScanner(strings.NewReader(stdout))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if !parseLine(values, strings.Fields(line), t) {
			return nil, fmt.Errorf("output has the line %.80q, want a size and a value", line)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	return values, nil
}

// parseLine enters the values of one line; further columns are ignored.
func parseLine(values map[point]float64, f []string, t suite.Test) bool {
	enter := func(p point, size string, column int) bool {
		if column >= len(f) {
			return false
		}
		n, err1 := strconv.ParseInt(size, 10, 64)
		v, err2 := strconv.ParseFloat(f[column], 64)
		p.size = n
		values[p] = v
		return err1 == nil && err2 == nil && n >= 0 && !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	switch {
	case t.Layouts:
		name, size, named := strings.Cut(f[0], ":")
		return named && len(f) == 4 && enter(point{what: name, sum: f[3]}, size, 1)
	case t.Overlap:
		return enter(point{what: suite.Overall}, f[0], 1) && enter(point{what: suite.Pure}, f[0], 3) && enter(point{what: suite.Overlap}, f[0], 4)
	}
	if name, size, named := strings.Cut(f[0], ":"); named && t.Course {
		return enter(point{what: name}, size, 1)
	}
	return enter(point{}, f[0], 1)
}

// sameAs says why values cannot stand beside ours: they are not about the same points.
func sameAs(ours, theirs map[point]float64) error {
	for _, p := range inOrder(theirs) {
		if _, ok := ours[p]; !ok {
			return fmt.Errorf("it measured %s, ours did not: the two are not comparable", p)
		}
	}
	for _, p := range inOrder(ours) {
		if _, ok := theirs[p]; !ok {
			return fmt.Errorf("ours measured %s, it did not: the two are not comparable", p)
		}
	}
	return nil
}

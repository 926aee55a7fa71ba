package mca

import (
	"slices"
	"strings"
)

// suggestions is how many near names a message offers.
const suggestions = 3

// Nearest returns the candidates a person may have meant by name, the likeliest
// first and at most three; nil when none is near. Messages about unknown flags
// and names use it everywhere.
func Nearest(name string, candidates []string) []string { return nearest(name, candidates) }

func nearest(name string, candidates []string) []string {
	type scored struct {
		name     string
		distance int
	}
	name = strings.ToLower(name)
	limit := max(1, len(name)/3)
	var found []scored
	for _, c := range candidates {
		d := editDistance(name, strings.ToLower(c))
		// A name cut short is far away in letters but near in meaning.
		if d > limit && len(name) >= 3 && strings.HasPrefix(c, name) {
			d = limit
		}
		if d <= limit && d < max(len(name), len(c)) {
			found = append(found, scored{c, d})
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		if a.distance != b.distance {
			return a.distance - b.distance
		}
		return strings.Compare(a.name, b.name)
	})
	var names []string
	for _, f := range found[:min(len(found), suggestions)] {
		names = append(names, f.name)
	}
	return names
}

// didYouMean turns near names into the end of a sentence, "" when there are none.
func didYouMean(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "; did you mean " + names[0] + "?"
	}
	last := len(names) - 1
	return "; did you mean " + strings.Join(names[:last], ", ") + " or " + names[last] + "?"
}

// editDistance counts insertions, deletions, replacements and swaps of
// neighbouring bytes (the optimal string alignment distance).
func editDistance(a, b string) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}

package tune

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/coll/rules"
)

// candidate is a way to carry out an operation.
type candidate struct {
	algorithm *alg.Algorithm
	segment   int64 // 0: its own, or none
}

// point is what candidates are compared at.
type point struct {
	kind        alg.Kind
	commutative bool
	ranks       int
	bytes       int64
}

// results are the microseconds that each candidate took at each point.
type results map[point]map[candidate]float64

// keep is by how much another candidate must be faster than the one that served the next smaller size: noise shall not write rules.
const keep = 0.05

// table makes the decisions. Of several sizes that one candidate serves only the first is written; numbers of ranks with the same rules
// are one section.
func (r results) table() (*rules.Table, error) {
	type section struct {
		kind        alg.Kind
		commutative bool
	}
	points := map[section][]point{}
	for p := range r {
		s := section{p.kind, p.commutative}
		points[s] = append(points[s], p)
	}
	t := new(rules.Table)
	order := func(a, b section) int { return cmp.Compare(a.kind, b.kind) }
	for _, s := range slices.SortedFunc(maps.Keys(points), order) {
		if err := t.Set(s.kind, s.commutative, r.section(points[s])); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// section are the rules of one operation. The least number of ranks measured stands for all below it, the least size likewise.
func (r results) section(points []point) []rules.Ranks {
	slices.SortFunc(points, func(a, b point) int { return cmp.Or(cmp.Compare(a.ranks, b.ranks), cmp.Compare(a.bytes, b.bytes)) })
	var out []rules.Ranks
	var before candidate
	for i, p := range points {
		if i == 0 || p.ranks != points[i-1].ranks {
			out = append(out, rules.Ranks{From: p.ranks})
			before = candidate{}
		}
		rs := &out[len(out)-1]
		best := r.best(p, before)
		if best != before {
			rs.Rules = append(rs.Rules, rules.Rule{From: p.bytes, Algorithms: r.withFallback(p, best), Segment: best.segment})
		}
		before = best
	}
	for i := range out {
		out[i].Rules[0].From = 0
	}
	out[0].From = 1
	return slices.CompactFunc(out, func(a, b rules.Ranks) bool { return slices.EqualFunc(a.Rules, b.Rules, sameRule) })
}

func sameRule(a, b rules.Rule) bool {
	return a.From == b.From && a.Segment == b.Segment && slices.Equal(a.Algorithms, b.Algorithms)
}

// ranked are the candidates of a point, the fastest first.
func (r results) ranked(p point) []candidate {
	return slices.SortedFunc(maps.Keys(r[p]), func(a, b candidate) int {
		return cmp.Or(cmp.Compare(r[p][a], r[p][b]), cmp.Compare(a.algorithm.Name, b.algorithm.Name), cmp.Compare(a.segment, b.segment))
	})
}

// best is the fastest candidate, or before if that is hardly slower.
func (r results) best(p point, before candidate) candidate {
	first := r.ranked(p)[0]
	if v, ok := r[p][before]; ok && v <= r[p][first]*(1+keep) {
		return before
	}
	return first
}

// withFallback adds, to an algorithm that does not serve every number of ranks, the fastest that does.
func (r results) withFallback(p point, best candidate) []*alg.Algorithm {
	list := []*alg.Algorithm{best.algorithm}
	for _, c := range r.ranked(p) {
		if list[len(list)-1].Fits == nil {
			break
		}
		if c.algorithm.Fits == nil {
			list = append(list, c.algorithm)
		}
	}
	return list
}

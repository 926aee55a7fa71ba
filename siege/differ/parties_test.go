package differ

import (
	"slices"
	"strings"
)

// Steps about communicators and groups. The author keeps who is in what, to draw ranks that exist.

func (g *author) communicator(p party) {
	one := len(p.parts) == 1
	full := g.next >= slots || len(p.parts) == 0
	switch n := g.IntN(29); {
	case n >= 26 && !full && one && p.most() > 1:
		g.newInter(p)
	case n >= 20 && !full && p.dims != nil && g.coin(2):
		g.subgrid(p)
	case n >= 20 && !full && one:
		g.topology(p)
	case n < 2 && !full:
		g.made(p, party{parts: p.parts, neighbours: p.neighbours, dims: p.dims}, []string{"dup", "idup"}[g.IntN(2)])
	case n < 8 && !full:
		g.split(p)
	case n < 12 && !full && one:
		text, members := g.group(p.parts[0], 2)
		q := party{parts: [][]int{members}}
		if len(members) == 0 {
			q.parts = nil
		}
		if len(members) > 0 && g.coin(2) {
			g.made(p, q, "cgroup", g.next, g.id%100, text)
			return
		}
		g.made(p, q, "create", g.next, text)
	case n < 14:
		q := g.parties[g.IntN(len(g.parties))]
		if q.inter {
			return
		}
		g.emit(p.slot, 0, []int{q.slot}, "compare", q.slot)
	case n < 18 && one:
		a, _ := g.group(p.parts[0], 3)
		b, _ := g.group(p.parts[0], 3)
		g.emit(p.slot, 0, nil, "groups", a, b)
	case n == 18 && len(g.parties) > 1:
		i := 1 + g.IntN(len(g.parties)-1)
		g.emit(g.parties[i].slot, 0, nil, "free")
		g.parties = slices.Delete(g.parties, i, i+1)
	}
}

// made enters a new communicator; its slot is the first word behind the name.
func (g *author) made(from, q party, name string, parts ...any) {
	q.slot = g.next
	if len(parts) == 0 {
		parts = []any{g.next}
	}
	g.emit(from.slot, g.next, nil, append([]any{name}, parts...)...)
	g.in[g.next] = slices.Concat(q.parts...)
	g.next++
	if len(q.parts) > 0 {
		g.parties = append(g.parties, q)
	}
}

func (g *author) split(p party) {
	n := p.most()
	colors := g.list(n, func() int { return g.IntN(3) - g.IntN(3)/2 })
	keys := g.list(n, func() int { return g.IntN(5) - 2 })
	var q party
	for _, members := range p.parts {
		for color := range 3 {
			var ranks []int
			for r := range members {
				if colors[r] == color {
					ranks = append(ranks, r)
				}
			}
			slices.SortStableFunc(ranks, func(a, b int) int { return keys[a] - keys[b] })
			part := make([]int, len(ranks))
			for i, r := range ranks {
				part[i] = members[r]
			}
			if len(part) > 0 {
				q.parts = append(q.parts, part)
			}
		}
	}
	g.made(p, q, "split", g.next, n, colors, keys)
}

// group draws a group of members of here, nested at most depth deep.
func (g *author) group(here []int, depth int) (text string, members []int) {
	if depth == 0 || g.coin(5) {
		return "here", here
	}
	text, members = g.group(here, depth-1)
	n := len(members)
	switch g.IntN(7) {
	case 0:
		some := g.Perm(n)[:g.between(0, n)]
		return words("incl", len(some), some, text), pick(members, some)
	case 1:
		some := g.Perm(n)[:g.between(0, n)]
		return words("excl", len(some), some, text), drop(members, some)
	case 2, 3:
		ranges, ranks := g.ranges(n)
		if g.coin(2) {
			return words("rincl", len(ranges)/3, ranges, text), pick(members, ranks)
		}
		return words("rexcl", len(ranges)/3, ranges, text), drop(members, ranks)
	}
	other, others := g.group(here, depth-1)
	in := func(r int) bool { return slices.Contains(others, r) }
	var both, first []int
	for _, r := range members {
		if in(r) {
			both = append(both, r)
		} else {
			first = append(first, r)
		}
	}
	name := []string{"union", "inter", "diff"}[g.IntN(3)]
	switch {
	case strings.HasPrefix(name, "i"):
		return words(name, text, other), both
	case strings.HasPrefix(name, "d"):
		return words(name, text, other), first
	}
	all := slices.Clone(members)
	for _, r := range others {
		if !slices.Contains(members, r) {
			all = append(all, r)
		}
	}
	return words(name, text, other), all
}

func pick(from, ranks []int) []int {
	out := make([]int, len(ranks))
	for i, r := range ranks {
		out[i] = from[r]
	}
	return out
}

func drop(from, ranks []int) []int {
	var out []int
	for i, r := range from {
		if !slices.Contains(ranks, i) {
			out = append(out, r)
		}
	}
	return out
}

// ranges draws first, last, stride triplets without a rank twice, upwards and downwards.
func (g *author) ranges(n int) (ranges, ranks []int) {
	for range g.between(0, 3) {
		if n == 0 {
			break
		}
		first, last, stride := g.IntN(n), g.IntN(n), g.between(1, 3)
		if last < first {
			stride = -stride
		}
		var these []int
		for r := first; stride > 0 && r <= last || stride < 0 && r >= last; r += stride {
			these = append(these, r)
		}
		if slices.ContainsFunc(these, func(r int) bool { return slices.Contains(ranks, r) }) {
			continue
		}
		ranges, ranks = append(ranges, first, last, stride), append(ranks, these...)
	}
	return ranges, ranks
}

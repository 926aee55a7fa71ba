package core

import "slices"

// Group is an ordered set of processes, named by their rank in the job (MPI-3.1 §6.3). It is immutable.
type Group struct {
	ranks []int // job ranks by group rank
	me    int   // my group rank, Undefined when not a member
	self  int   // my job rank
}

// Comparison is the result of comparing groups or communicators.
type Comparison int

// Results of comparisons; Congruent is for communicators only.
const (
	Ident Comparison = iota
	Congruent
	Similar
	Unequal
)

// NewGroup makes a group of job ranks as seen by the process of job rank self. It keeps ranks.
func NewGroup(ranks []int, self int) *Group {
	me := slices.Index(ranks, self)
	if me < 0 {
		me = Undefined
	}
	return &Group{ranks: ranks, me: me, self: self}
}

// Size is the number of members.
func (g *Group) Size() int { return len(g.ranks) }

// Rank is the caller's rank in the group, or Undefined when it is not a member.
func (g *Group) Rank() int { return g.me }

// JobRank is the rank in the job of the group's member rank.
func (g *Group) JobRank(rank int) int { return g.ranks[rank] }

// JobRanks are all members' ranks in the job, by group rank; not to be changed.
func (g *Group) JobRanks() []int { return g.ranks }

func (g *Group) index() map[int]int {
	m := make(map[int]int, len(g.ranks))
	for i, r := range g.ranks {
		m[r] = i
	}
	return m
}

// Union has all members of g, then those of o that are not in g.
func (g *Group) Union(o *Group) (*Group, error) {
	if o == nil {
		return nil, noGroup("Group_union")
	}
	in := g.index()
	out := slices.Clone(g.ranks)
	for _, r := range o.ranks {
		if _, ok := in[r]; !ok {
			out = append(out, r)
		}
	}
	return NewGroup(out, g.self), nil
}

// Intersection has the members of g that are also in o, in g's order.
func (g *Group) Intersection(o *Group) (*Group, error) {
	if o == nil {
		return nil, noGroup("Group_intersection")
	}
	return g.filter(o, true), nil
}

// Difference has the members of g that are not in o, in g's order.
func (g *Group) Difference(o *Group) (*Group, error) {
	if o == nil {
		return nil, noGroup("Group_difference")
	}
	return g.filter(o, false), nil
}

func (g *Group) filter(o *Group, keep bool) *Group {
	in := o.index()
	var out []int
	for _, r := range g.ranks {
		if _, ok := in[r]; ok == keep {
			out = append(out, r)
		}
	}
	return NewGroup(out, g.self)
}

// noGroup is the error of an operation on no group.
func noGroup(op string) error { return groupError(op, ErrGroup, Undefined, "the other group is nil") }

func groupError(op string, class ErrorClass, peer int, format string, args ...any) error {
	err := NewError(class, format, args...)
	err.Op, err.Peer = op, peer
	return err
}

// Incl has the members of g with the given ranks, in that order. A rank that is not in g, or is named twice, is ErrRank.
func (g *Group) Incl(ranks []int) (*Group, error) { return g.incl("Group_incl", ranks) }

func (g *Group) incl(op string, ranks []int) (*Group, error) {
	if err := g.check(op, ranks); err != nil {
		return nil, err
	}
	out := make([]int, len(ranks))
	for i, r := range ranks {
		out[i] = g.ranks[r]
	}
	return NewGroup(out, g.self), nil
}

// Excl has the members of g but those with the given ranks, in g's order. Errors are those of Incl.
func (g *Group) Excl(ranks []int) (*Group, error) { return g.excl("Group_excl", ranks) }

func (g *Group) excl(op string, ranks []int) (*Group, error) {
	if err := g.check(op, ranks); err != nil {
		return nil, err
	}
	drop := make(map[int]bool, len(ranks))
	for _, r := range ranks {
		drop[r] = true
	}
	var out []int
	for i, r := range g.ranks {
		if !drop[i] {
			out = append(out, r)
		}
	}
	return NewGroup(out, g.self), nil
}

func (g *Group) check(op string, ranks []int) error {
	seen := make(map[int]bool, len(ranks))
	for _, r := range ranks {
		if r < 0 || r >= len(g.ranks) {
			return groupError(op, ErrRank, r, "rank %d of a group of %d", r, len(g.ranks))
		}
		if seen[r] {
			return groupError(op, ErrRank, r, "rank %d is named twice", r)
		}
		seen[r] = true
	}
	return nil
}

// RangeIncl is Incl of the ranks that the triplets first, last, stride describe: first, first+stride and so on up to last, or down to
// it when the stride is negative; last itself need not be hit. A stride of 0, or one that leads away from last, is ErrArg; ranks
// outside of g or named twice are ErrRank (MPI-3.1 §6.3.2).
func (g *Group) RangeIncl(ranges [][3]int) (*Group, error) {
	const op = "Group_range_incl"
	ranks, err := g.expand(op, ranges)
	if err != nil {
		return nil, err
	}
	return g.incl(op, ranks)
}

// RangeExcl is Excl of the ranks that the triplets first, last, stride describe; see RangeIncl.
func (g *Group) RangeExcl(ranges [][3]int) (*Group, error) {
	const op = "Group_range_excl"
	ranks, err := g.expand(op, ranges)
	if err != nil {
		return nil, err
	}
	return g.excl(op, ranks)
}

func (g *Group) expand(op string, ranges [][3]int) ([]int, error) {
	var out []int
	for _, t := range ranges {
		first, last, stride := t[0], t[1], t[2]
		switch {
		case stride == 0:
			return nil, groupError(op, ErrArg, Undefined, "range %v has stride 0", t)
		case last != first && (last > first) != (stride > 0):
			return nil, groupError(op, ErrArg, Undefined, "range %v leads away from its last rank", t)
		case first < 0 || first >= len(g.ranks):
			return nil, groupError(op, ErrRank, first, "range %v begins outside of a group of %d", t, len(g.ranks))
		}
		// The steps are counted with unsigned numbers, since last may be any, and a range that leaves the group is not expanded.
		var steps uint64
		if stride > 0 {
			steps = (uint64(last) - uint64(first)) / uint64(stride)
		} else {
			steps = (uint64(first) - uint64(last)) / -uint64(stride)
		}
		if steps >= uint64(len(g.ranks)) {
			return nil, groupError(op, ErrRank, Undefined, "range %v leaves a group of %d", t, len(g.ranks))
		}
		for r, n := first, uint64(0); n <= steps; r, n = r+stride, n+1 {
			out = append(out, r)
		}
	}
	return out, nil
}

// TranslateRanks gives for ranks of g the ranks of the same processes in to, Undefined for those that are not in it.
// ProcNull stays ProcNull.
func (g *Group) TranslateRanks(ranks []int, to *Group) ([]int, error) {
	const op = "Group_translate_ranks"
	if to == nil {
		return nil, noGroup(op)
	}
	in := to.index()
	out := make([]int, len(ranks))
	for i, r := range ranks {
		if r == ProcNull {
			out[i] = ProcNull
			continue
		}
		if r < 0 || r >= len(g.ranks) {
			return nil, groupError(op, ErrRank, r, "rank %d of a group of %d", r, len(g.ranks))
		}
		n, ok := in[g.ranks[r]]
		if !ok {
			n = Undefined
		}
		out[i] = n
	}
	return out, nil
}

// Compare is Ident for the same members in the same order, Similar for the same members, else Unequal.
func (g *Group) Compare(o *Group) Comparison {
	if o == nil {
		return Unequal
	}
	if slices.Equal(g.ranks, o.ranks) {
		return Ident
	}
	if len(g.ranks) != len(o.ranks) {
		return Unequal
	}
	in := o.index()
	for _, r := range g.ranks {
		if _, ok := in[r]; !ok {
			return Unequal
		}
	}
	return Similar
}

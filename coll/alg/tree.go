package alg

// none is no rank.
const none = -1

// node is a rank's place in a tree in which everybody has two children at most. All ranks of the left subtree are lower than the
// rank itself, all of the right one higher: so a reduction may combine left, own, right and keeps operands in order.
type node struct{ parent, left, right int }

// inOrder is the place of a rank in the balanced tree of n ranks whose root is top.
func inOrder(n, top, rank int) node {
	lo, hi, at := 0, n, top
	parent := none
	for at != rank {
		parent = at
		if rank < at {
			hi = at
		} else {
			lo = at + 1
		}
		at = (lo + hi) / 2
	}
	nd := node{parent, none, none}
	if lo < at {
		nd.left = (lo + at) / 2
	}
	if at+1 < hi {
		nd.right = (at + 1 + hi) / 2
	}
	return nd
}

// inLine is the place of a rank in the tree of two chains from either end to top.
func inLine(n, top, rank int) node {
	nd := node{none, none, none}
	if rank <= top && rank > 0 {
		nd.left = rank - 1
	}
	if rank >= top && rank < n-1 {
		nd.right = rank + 1
	}
	switch {
	case rank < top:
		nd.parent = rank + 1
	case rank > top:
		nd.parent = rank - 1
	}
	return nd
}

// turned counts ranks from another one on: shape's tree with top where rank root is.
func turned(shape func(n, top, rank int) node, n, top, root, rank int) node {
	shift := (root - top + n) % n
	nd := shape(n, top, (rank-shift+n)%n)
	for _, r := range []*int{&nd.parent, &nd.left, &nd.right} {
		if *r != none {
			*r = (*r + shift) % n
		}
	}
	return nd
}

// team is 2^k members made of all ranks: of the first pairs of ranks (0,1), (2,3), ..., as many as are too many, one rank acts
// for both. So the ranks behind members 0 to i are always the first ones, and operands can be kept in order.
type team struct {
	size, extra int
	even        int // the even rank that acts for its pair, where all other pairs have the odd one; none
}

// newTeam makes the team of n ranks in which rank keep, if not none, acts itself.
func newTeam(n, keep int) team {
	size := floorPow2(n)
	t := team{size: size, extra: n - size, even: none}
	if keep < 2*t.extra && keep&1 == 0 {
		t.even = keep
	}
	return t
}

// member is the number of the member that rank is or belongs to; acts is false when the other of its pair acts.
func (t *team) member(rank int) (me int, acts bool) {
	if rank >= 2*t.extra {
		return rank - t.extra, true
	}
	return rank / 2, t.rank(rank/2) == rank
}

// rank is who acts for a member.
func (t *team) rank(member int) int {
	switch {
	case member >= t.extra:
		return member + t.extra
	case t.even == 2*member:
		return t.even
	}
	return 2*member + 1
}

// paired reports whether the member stands for two ranks.
func (t *team) paired(member int) bool { return member < t.extra }

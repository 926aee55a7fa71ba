package portals4

// tree is the place of a rank in the k-ary tree over all ranks of a communicator, whose root is rank 0: the children of rank r are k*r+1 to
// k*r+k.
type tree struct {
	rank, size, radix int
	parent            int // -1 for rank 0
	first, kids       int // children are first to first+kids-1
}

func treeOf(rank, size, radix int) tree {
	t := tree{rank: rank, size: size, radix: radix, parent: -1}
	if rank > 0 {
		t.parent = (rank - 1) / radix
	}
	t.first = min(radix*rank+1, size)
	t.kids = min(radix, size-t.first)
	return t
}

// Sides of a rank other than children, which are numbered from 0.
const (
	sideParent = -1
	sideSelf   = -2
)

// side tells where from here rank r is.
func (t *tree) side(r int) int {
	if r == t.rank {
		return sideSelf
	}
	for r > t.rank {
		up := (r - 1) / t.radix
		if up == t.rank {
			return r - t.first
		}
		r = up
	}
	return sideParent
}

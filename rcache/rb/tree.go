package rb

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/rcache"
)

// node is a registration with its place in the tree and in the list of unused ones.
type node struct {
	rcache.Registration
	lo, hi       uintptr // what is registered: [lo, hi)
	refs         int     // users; 0 and found: it is in the list of unused ones
	older, newer *node

	max                 uintptr // largest hi in the subtree
	parent, left, right *node
	red                 bool
	found               bool // in tree and index: Acquire may find it

	keep unsafe.Pointer // nil: not memory of ours
	ulo  uintptr        // what users asked for, before it was widened
	uhi  uintptr
	gone bool // deregistered: Close came before the last user went
}

// tree is a red-black tree of intervals by their beginnings; each node knows the largest end below it. Intervals may overlap.
// Leaves are one sentinel, whose max is 0.
type tree struct {
	root *node
	leaf *node
}

func newTree() *tree {
	leaf := &node{}
	return &tree{root: leaf, leaf: leaf}
}

// covering finds an interval that contains [lo, hi), nil when there is none. Beside the way down nothing is looked at: all that begin
// left of a node that begins early enough do so, too, so that there the largest end decides.
func (t *tree) covering(lo, hi uintptr) *node {
	x := t.root
	for x.max >= hi {
		switch {
		case x.lo > lo:
			x = x.left
		case x.hi >= hi:
			return x
		case x.left.max >= hi:
			x = x.left
		default:
			x = x.right
		}
	}
	return nil
}

// overlapping appends the intervals that share a byte with [lo, hi), by their beginnings.
func (t *tree) overlapping(into []*node, lo, hi uintptr) []*node {
	return t.overlaps(into, t.root, lo, hi)
}

func (t *tree) overlaps(into []*node, x *node, lo, hi uintptr) []*node {
	if x.max <= lo { // also the leaf
		return into
	}
	into = t.overlaps(into, x.left, lo, hi)
	if x.lo >= hi {
		return into
	}
	if x.hi > lo {
		into = append(into, x)
	}
	return t.overlaps(into, x.right, lo, hi)
}

func (t *tree) before(a, b *node) bool { return a.lo < b.lo || a.lo == b.lo && a.hi < b.hi }

// measure makes x.max right when its children's are.
func (x *node) measure() { x.max = max(x.hi, x.left.max, x.right.max) }

// insert enters a node that is in no tree.
func (t *tree) insert(z *node) {
	y, x := t.leaf, t.root
	for x != t.leaf {
		x.max = max(x.max, z.hi)
		y = x
		if t.before(z, x) {
			x = x.left
		} else {
			x = x.right
		}
	}
	z.parent, z.left, z.right, z.red, z.max = y, t.leaf, t.leaf, true, z.hi
	switch {
	case y == t.leaf:
		t.root = z
	case t.before(z, y):
		y.left = z
	default:
		y.right = z
	}
	t.balanceInsert(z)
}

func (t *tree) balanceInsert(z *node) {
	for z.parent.red {
		p, g := z.parent, z.parent.parent
		if p == g.left {
			if u := g.right; u.red {
				p.red, u.red, g.red = false, false, true
				z = g
				continue
			}
			if z == p.right {
				z = p
				t.rotateLeft(z)
			}
			z.parent.red, z.parent.parent.red = false, true
			t.rotateRight(z.parent.parent)
			continue
		}
		if u := g.left; u.red {
			p.red, u.red, g.red = false, false, true
			z = g
			continue
		}
		if z == p.left {
			z = p
			t.rotateRight(z)
		}
		z.parent.red, z.parent.parent.red = false, true
		t.rotateLeft(z.parent.parent)
	}
	t.root.red = false
}

// remove takes a node out of the tree it is in.
func (t *tree) remove(z *node) {
	var x *node // what moves up: it may be one black short
	black := !z.red
	switch {
	case z.left == t.leaf:
		x = z.right
		t.replace(z, x)
	case z.right == t.leaf:
		x = z.left
		t.replace(z, x)
	default:
		y := z.right
		for y.left != t.leaf {
			y = y.left
		}
		black, x = !y.red, y.right
		if y.parent == z {
			x.parent = y // the leaf's, perhaps: balanceRemove wants it
		} else {
			t.replace(y, x)
			y.right = z.right
			y.right.parent = y
		}
		t.replace(z, y)
		y.left = z.left
		y.left.parent = y
		y.red = z.red
	}
	for p := x.parent; p != t.leaf; p = p.parent {
		p.measure()
	}
	if black {
		t.balanceRemove(x)
	}
	t.leaf.parent = nil
	z.parent, z.left, z.right = nil, nil, nil
}

func (t *tree) balanceRemove(x *node) {
	for x != t.root && !x.red {
		p := x.parent
		if x == p.left {
			w := p.right
			if w.red {
				w.red, p.red = false, true
				t.rotateLeft(p)
				w = p.right
			}
			if !w.left.red && !w.right.red {
				w.red = true
				x = p
				continue
			}
			if !w.right.red {
				w.left.red, w.red = false, true
				t.rotateRight(w)
				w = p.right
			}
			w.red, p.red, w.right.red = p.red, false, false
			t.rotateLeft(p)
			x = t.root
			continue
		}
		w := p.left
		if w.red {
			w.red, p.red = false, true
			t.rotateRight(p)
			w = p.left
		}
		if !w.left.red && !w.right.red {
			w.red = true
			x = p
			continue
		}
		if !w.left.red {
			w.right.red, w.red = false, true
			t.rotateLeft(w)
			w = p.left
		}
		w.red, p.red, w.left.red = p.red, false, false
		t.rotateRight(p)
		x = t.root
	}
	x.red = false
}

// replace puts v in u's place under u's parent.
func (t *tree) replace(u, v *node) {
	switch {
	case u.parent == t.leaf:
		t.root = v
	case u == u.parent.left:
		u.parent.left = v
	default:
		u.parent.right = v
	}
	v.parent = u.parent
}

func (t *tree) rotateLeft(x *node) {
	y := x.right
	x.right = y.left
	if y.left != t.leaf {
		y.left.parent = x
	}
	t.replace(x, y)
	y.left, x.parent = x, y
	x.measure()
	y.measure()
}

func (t *tree) rotateRight(x *node) {
	y := x.left
	x.left = y.right
	if y.right != t.leaf {
		y.right.parent = x
	}
	t.replace(x, y)
	y.right, x.parent = x, y
	x.measure()
	y.measure()
}

package portals4

import "testing"

// The trees of all ranks are one: children name their parent, sides lead to the rank that they are for.
func TestTree(t *testing.T) {
	for size := 1; size < 40; size++ {
		for radix := 1; radix < 10; radix++ {
			edges := 0
			for r := range size {
				me := treeOf(r, size, radix)
				edges += me.kids
				for kid := range me.kids {
					if c := treeOf(me.first+kid, size, radix); c.parent != r {
						t.Fatalf("%d ranks, radix %d: child %d of rank %d has parent %d", size, radix, me.first+kid, r, c.parent)
					}
				}
				for to := range size {
					if at := walk(t, r, to, size, radix); at != to {
						t.Fatalf("%d ranks, radix %d: the way from %d to %d ends at %d", size, radix, r, to, at)
					}
				}
			}
			if edges != size-1 {
				t.Fatalf("%d ranks, radix %d: %d edges", size, radix, edges)
			}
		}
	}
}

// walk goes from one rank to the side where the other is, until it is there.
func walk(t *testing.T, from, to, size, radix int) int {
	at := from
	for range 2 * size {
		me := treeOf(at, size, radix)
		switch side := me.side(to); {
		case side == sideSelf:
			return at
		case side == sideParent:
			at = me.parent
		case side >= me.kids:
			t.Fatalf("rank %d has no child %d", at, side)
		default:
			at = me.first + side
		}
	}
	return -1
}

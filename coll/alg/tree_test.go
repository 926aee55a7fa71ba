package alg

import "testing"

// Trees: everybody but the root is the child of its parent, on the side where it belongs, and the root is reached from everywhere.
func TestTrees(t *testing.T) {
	shapes := map[string]func(n, top, rank int) node{"in order": inOrder, "in line": inLine}
	for name, shape := range shapes {
		for n := 1; n <= 40; n++ {
			for top := range n {
				for rank := range n {
					nd := shape(n, top, rank)
					if nd.left >= rank || nd.right != none && nd.right <= rank || nd.right >= n {
						t.Fatalf("%s: %d of %d: %+v", name, rank, n, nd)
					}
					for _, child := range []int{nd.left, nd.right} {
						if child != none && shape(n, top, child).parent != rank {
							t.Fatalf("%s: %d of %d has child %d, whose parent is %d", name, rank, n, child, shape(n, top, child).parent)
						}
					}
					at := rank
					for steps := 0; at != top; steps++ {
						p := shape(n, top, at)
						if parent := shape(n, top, p.parent); steps > n || parent.left != at && parent.right != at {
							t.Fatalf("%s: %d of %d does not lead to %d", name, rank, n, top)
						}
						at = p.parent
					}
				}
			}
		}
	}
}

// TestTeams: every member has one rank that acts for it, and the ranks behind the first members are the first ranks.
func TestTeams(t *testing.T) {
	for n := 1; n <= 40; n++ {
		for keep := none; keep < n; keep++ {
			tm := newTeam(n, keep)
			acting := 0
			before := 0
			for rank := range n {
				me, acts := tm.member(rank)
				if me < before || me >= tm.size {
					t.Fatalf("%d ranks, %d kept: rank %d is of member %d, the one before of %d", n, keep, rank, me, before)
				}
				before = me
				if acts {
					acting++
				}
				if acts != (tm.rank(me) == rank) || rank == keep && !acts {
					t.Fatalf("%d ranks, %d kept: rank %d acts for %d: %v; who does is %d", n, keep, rank, me, acts, tm.rank(me))
				}
				if partner, _ := tm.member(rank ^ 1); tm.paired(me) && partner != me {
					t.Fatalf("%d ranks: %d is not of the member of its pair", n, rank)
				}
			}
			if acting != tm.size {
				t.Fatalf("%d ranks, %d kept: %d act for %d members", n, keep, acting, tm.size)
			}
		}
	}
}

func TestShares(t *testing.T) {
	for _, total := range []int64{0, 1, 5, 64, 1<<62 + 3} {
		for n := 1; n < 20; n++ {
			if share(total, 0, n) != 0 || share(total, n, n) != total {
				t.Fatalf("%d in %d parts: from %d to %d", total, n, share(total, 0, n), share(total, n, n))
			}
			for i := range n {
				if k := share(total, i+1, n) - share(total, i, n); k != total/int64(n) && k != total/int64(n)+1 {
					t.Fatalf("%d in %d parts: part %d has %d", total, n, i, k)
				}
			}
		}
	}
}

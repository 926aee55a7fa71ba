package match

import "math/bits"

// table finds the heads of queues by hash. A group of it is one cache line: seven nodes with a byte of their hashes each, so that a lookup that
// finds nothing ends in this line, and nearly always without a look at a node. A group that is full sends what belongs to it to the next
// and counts that: lookups go on only as far as something went on, and removal leaves no marks behind.
//
// The table does not know keys: the lookups of its users compare those of the nodes that match offers.
type table[N any] struct {
	groups []group[N] // a power of two; nil at first
	used   int
}

type group[N any] struct {
	tags  uint64 // byte i: tag of nodes[i], 0 when that is nil; the last: how many went on from here, strayed or more if ever so many
	nodes [perGroup]*N
}

const (
	perGroup    = 7
	leastGroups = 4
	strayed     = 0xff // stays
	perByte     = 0x0101010101010101
	oneStray    = 1 << 56
)

// tagOf gives a byte of the hash that is not used for the choice of the group. It is not zero, and not next to it.
func tagOf(hash uint64) uint64 { return hash>>56 | 0x80 }

// home is the group that a lookup begins with. The table has groups.
func (t *table[N]) home(hash uint64) *group[N] { return &t.groups[hash&uint64(len(t.groups)-1)] }

// match gives bits at 8i+7 for the nodes that may be meant; there is a node for every bit.
func (g *group[N]) match(hash uint64) uint64 {
	x := g.tags ^ tagOf(hash)*perByte
	return (x - perByte) &^ x & (0x80 * perByte >> 8)
}

// at gives the node of the lowest bit of a match.
func (g *group[N]) at(match uint64) *N { return g.nodes[uint(bits.TrailingZeros64(match))/8%8] }

// goesOn reports whether nodes that belong here went on.
func (g *group[N]) goesOn() bool { return g.tags >= oneStray }

// after gives the group that nodes go on to after i steps from the hash's home; nil when they have been in all.
func (t *table[N]) after(hash uint64, i int) *group[N] {
	if i >= len(t.groups) {
		return nil
	}
	return t.home(hash + uint64(i))
}

// full reports whether the table must grow before the next insertion: 4.5 of 7 places are used.
func (t *table[N]) full() bool { return 2*t.used >= 9*len(t.groups) }

// grow doubles the table. hashOf gives the hashes of the nodes in it.
func (t *table[N]) grow(hashOf func(*N) uint64) {
	old := t.groups
	t.groups = make([]group[N], max(2*len(old), leastGroups))
	for i := range old {
		for _, n := range old[i].nodes {
			if n != nil {
				t.place(hashOf(n), n)
			}
		}
	}
}

// insert enters a node whose key is not in the table.
func (t *table[N]) insert(hash uint64, n *N) {
	t.place(hash, n)
	t.used++
}

func (t *table[N]) place(hash uint64, n *N) {
	for i := uint64(0); ; i++ {
		g := t.home(hash + i)
		if vacant := ^g.tags & (0x80 * perByte >> 8); vacant != 0 {
			k := bits.TrailingZeros64(vacant) / 8
			g.nodes[k] = n
			g.tags |= tagOf(hash) << (8 * k)
			return
		}
		if g.tags>>56 != strayed {
			g.tags += oneStray
		}
	}
}

// remove takes out a node that is in the table.
func (t *table[N]) remove(hash uint64, n *N) {
	t.used--
	for i := uint64(0); ; i++ {
		g := t.home(hash + i)
		for k := range g.nodes {
			if g.nodes[k] == n {
				g.nodes[k] = nil
				g.tags &^= 0xff << (8 * k)
				return
			}
		}
		if g.tags>>56 != strayed {
			g.tags -= oneStray
		}
	}
}

// replace puts another node of the same key in the place of one.
func (t *table[N]) replace(hash uint64, old, n *N) {
	for i := uint64(0); ; i++ {
		g := t.home(hash + i)
		for k := range g.nodes {
			if g.nodes[k] == old {
				g.nodes[k] = n
				return
			}
		}
	}
}

// clear empties the table. Memory for many more nodes than it has goes: its wiping would cost more than they ever did.
func (t *table[N]) clear() {
	if len(t.groups) > max(t.used, leastGroups) {
		t.groups = nil
	}
	clear(t.groups)
	t.used = 0
}

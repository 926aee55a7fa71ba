package match

// table maps hashes to the heads of queues. Keys are not in it: whoever walks a queue asks each node whether it is meant, so two keys of
// one hash share a queue and nothing breaks. A slot is 16 bytes and neighbours are tried in order, so a lookup misses the cache once
// before it comes to the node.
type table[N any] struct {
	slots []slot[N] // a power of two, at most half of them used; nil at first
	used  int
}

type slot[N any] struct {
	hash uint64
	head *N // nil: unused
}

const leastSlots = 32

// head gives the head of the hash's queue, nil when there is none. The table is not empty.
func (t *table[N]) head(hash uint64) *N {
	slots := t.slots
	last := uint64(len(slots) - 1)
	for i := hash & last; ; i = (i + 1) & last {
		if s := &slots[i]; s.hash == hash || s.head == nil {
			return s.head
		}
	}
}

// find gives the place of the hash's slot, or of the unused one that ends the search for it.
func (t *table[N]) find(hash uint64) uint64 {
	last := uint64(len(t.slots) - 1)
	i := hash & last
	for t.slots[i].head != nil && t.slots[i].hash != hash {
		i = (i + 1) & last
	}
	return i
}

// claim gives the slot of the hash. When its head is nil it is new, and the caller sets it.
func (t *table[N]) claim(hash uint64) *slot[N] {
	if 2*t.used >= len(t.slots) {
		t.grow()
	}
	s := &t.slots[t.find(hash)]
	if s.head == nil {
		s.hash = hash
		t.used++
	}
	return s
}

func (t *table[N]) grow() {
	old := t.slots
	t.slots = make([]slot[N], max(2*len(old), leastSlots))
	for i := range old {
		if old[i].head != nil {
			t.slots[t.find(old[i].hash)] = old[i]
		}
	}
}

// free makes the slot at i unused and closes the gap, so that searches end where they would have without it.
func (t *table[N]) free(i uint64) {
	last := uint64(len(t.slots) - 1)
	t.used--
	for j := (i + 1) & last; t.slots[j].head != nil; j = (j + 1) & last {
		// The slot at j may go to i unless its search begins after i.
		if (j-t.slots[j].hash)&last >= (j-i)&last {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = slot[N]{}
}

// clear empties the table and keeps its memory.
func (t *table[N]) clear() {
	clear(t.slots)
	t.used = 0
}

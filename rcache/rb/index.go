package rb

import "math/bits"

// index finds registrations by their exact interval. It is a hash table of its own because a look at one among very many costs what it
// misses in the caches: here one line of slots and the registration itself, in a map of Go's several. Slots are probed one after
// the other, at most half of them are taken, and those behind a removed one move up.
type index struct {
	slots []slot // none, or a power of two
	n     int
}

type slot struct {
	hash uintptr
	x    *node // nil: free
}

const indexMin = 16

func hashOf(lo, hi uintptr) uintptr {
	h, l := bits.Mul64(uint64(lo)^0x9e3779b97f4a7c15, uint64(hi)*0xbf58476d1ce4e5b9|1)
	return uintptr(h ^ l)
}

func (t *index) mask() uintptr { return uintptr(len(t.slots) - 1) }

// find gives the registration of [lo, hi), or nil.
func (t *index) find(lo, hi uintptr) *node {
	if t.n == 0 {
		return nil
	}
	h := hashOf(lo, hi)
	for i := h & t.mask(); ; i = (i + 1) & t.mask() {
		switch s := &t.slots[i]; {
		case s.x == nil:
			return nil
		case s.hash == h && s.x.lo == lo && s.x.hi == hi:
			return s.x
		}
	}
}

// insert enters a registration of whose interval there is none.
func (t *index) insert(x *node) {
	if 2*t.n >= len(t.slots) {
		old := t.slots
		t.slots = make([]slot, max(indexMin, 2*len(old)))
		for _, s := range old {
			if s.x != nil {
				t.put(s)
			}
		}
	}
	t.n++
	t.put(slot{hashOf(x.lo, x.hi), x})
}

func (t *index) put(s slot) {
	i := s.hash & t.mask()
	for t.slots[i].x != nil {
		i = (i + 1) & t.mask()
	}
	t.slots[i] = s
}

// remove takes a registration out, if it is there.
func (t *index) remove(x *node) {
	if t.n == 0 {
		return
	}
	i := hashOf(x.lo, x.hi) & t.mask()
	for t.slots[i].x != x {
		if t.slots[i].x == nil {
			return
		}
		i = (i + 1) & t.mask()
	}
	t.n--
	for k := (i + 1) & t.mask(); t.slots[k].x != nil; k = (k + 1) & t.mask() {
		// What stands at k may move to i when its own place is not behind i.
		if (k-t.slots[k].hash)&t.mask() >= (k-i)&t.mask() {
			t.slots[i] = t.slots[k]
			i = k
		}
	}
	t.slots[i] = slot{}
}

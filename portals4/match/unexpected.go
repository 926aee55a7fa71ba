package match

import (
	"math/bits"
	"math/rand/v2"
)

// Header is the node of an unexpected header, embedded in its T.
type Header[T any] struct {
	Query    // what its operation asked for; not changed while it is in a list
	Owner *T // what it is embedded in; the caller's

	linked     bool
	next, prev *Header[T]              // in the list
	queue      [maxViews]neighbours[T] // in the queue of its hash in each view
}

// neighbours in a queue. Of the head, older is the tail.
type neighbours[T any] struct{ later, older *Header[T] }

// Linked reports whether the header is in a list.
func (h *Header[T]) Linked() bool { return h.linked }

// Unexpected is the list of unexpected headers, in order of arrival. The zero Unexpected is empty and ready.
//
// A search looks at the first few headers. When these do not decide it, it uses the view of its mask (ignore bits and wildcards), a
// hash table of all headers by their masked keys, which is made when first wanted, so that further searches with this mask cost one lookup
// and every arrival one insertion. Views that many arrivals pass unused are given up, all are when the list is empty. A program whose searches
// have more than maxViews masks in turn walks, and now and then has the longest unused view made anew for another mask: what that costs
// has been walked before. Headers that do not fit are walked, with NoTruncate.
type Unexpected[T any] struct {
	head, tail *Header[T]
	n          int
	views      *views[T] // nil until a search wants one
}

const maxViews = 8

type views[T any] struct {
	seed   seed
	made   uint32 // set of the views in use: each has all headers
	ever   uint32 // set of those in use since the list was empty
	clock  uint64 // of searches
	walked int    // headers walked for want of a view since one was last given up for another
	masks  [maxViews]mask
	view   [maxViews]view[T]
}

type view[T any] struct {
	table table[Header[T]]
	used  uint64 // clock of the last search
	idle  int    // arrivals since
}

// Len is the number of headers.
func (u *Unexpected[T]) Len() int { return u.n }

// Add puts h, which is in no list, at the end.
func (u *Unexpected[T]) Add(h *Header[T]) {
	if h.linked {
		panic("match: add of a header that is in a list; remove it first")
	}
	h.linked = true
	h.next, h.prev = nil, u.tail
	if u.tail != nil {
		u.tail.next = h
	} else {
		u.head = h
	}
	u.tail = h
	u.n++
	if u.views != nil && u.views.made != 0 {
		u.views.add(h)
	}
}

// Remove takes h, which is in u, out of it.
func (u *Unexpected[T]) Remove(h *Header[T]) {
	if !h.linked {
		panic("match: remove of a header that is in no list")
	}
	if h.prev != nil {
		h.prev.next = h.next
	} else {
		u.head = h.next
	}
	if h.next != nil {
		h.next.prev = h.prev
	} else {
		u.tail = h.prev
	}
	u.n--
	if u.views != nil && u.views.ever != 0 {
		u.views.remove(h)
		if u.n == 0 {
			u.views.made, u.views.ever = 0, 0 // the tables are empty
		}
	}
	h.next, h.prev, h.linked = nil, nil, false
}

// First gives the oldest header that the pattern takes; nil when there is none.
func (u *Unexpected[T]) First(p *Pattern) *Header[T] {
	if u.n == 0 {
		return nil
	}
	m := p.mask()
	v := u.viewOf(m)
	if v < 0 {
		h := u.head
		for range short {
			if h == nil || p.Takes(&h.Query) {
				return h
			}
			h = h.next
		}
		if h == nil {
			return nil
		}
		if v = u.makeView(m); v < 0 {
			return u.walk(h, p)
		}
	}
	return u.views.first(v, p)
}

// Next gives the oldest header after h that the pattern takes; nil when there is none. h is in the list. So all that a pattern takes are
// found, each after Next has been asked for the one behind it free to be removed.
func (u *Unexpected[T]) Next(h *Header[T], p *Pattern) *Header[T] {
	// Headers of h's queue in the pattern's view are those that the pattern may take, if h is one of them.
	if v := u.viewOf(p.mask()); v >= 0 && p.addresses(&h.Query) {
		return after(h.queue[v].later, v, p)
	}
	for h = h.next; h != nil; h = h.next {
		if p.Takes(&h.Query) {
			return h
		}
	}
	return nil
}

// Each calls f for the headers in order, until it returns false. f may remove the header it is called for.
func (u *Unexpected[T]) Each(f func(*Header[T]) bool) {
	for h := u.head; h != nil; {
		next := h.next
		if !f(h) {
			return
		}
		h = next
	}
}

// viewOf gives the view of a mask, -1 when there is none.
func (u *Unexpected[T]) viewOf(m mask) int {
	if u.views == nil {
		return -1
	}
	for made := u.views.made; made != 0; made &= made - 1 {
		if v := bits.TrailingZeros32(made) % maxViews; u.views.masks[v] == m {
			return v
		}
	}
	return -1
}

// walk looks at h and all behind it, and remembers what that cost.
func (u *Unexpected[T]) walk(h *Header[T], p *Pattern) *Header[T] {
	for ; h != nil; h = h.next {
		u.views.walked++
		if p.Takes(&h.Query) {
			return h
		}
	}
	return nil
}

// makeView makes a view of all headers, in the place of another when walks have cost what that will; else -1.
func (u *Unexpected[T]) makeView(m mask) int {
	if u.views == nil {
		u.views = &views[T]{seed: seed{rand.Uint64(), rand.Uint64()}}
	}
	x := u.views
	v := bits.TrailingZeros32(^x.made)
	if v >= maxViews {
		const worth = 8 // headers walked to one hashed
		if x.walked < worth*u.n {
			return -1
		}
		v = x.longestUnused()
		x.drop(v)
	}
	x.walked = 0
	x.made |= 1 << v
	x.ever |= 1 << v
	x.masks[v] = m
	for h := u.head; h != nil; h = h.next {
		x.enqueue(v, h)
	}
	x.view[v].idle = 0
	return v
}

func (x *views[T]) longestUnused() int {
	v := 0
	for i := range x.view {
		if x.view[i].used < x.view[v].used {
			v = i
		}
	}
	return v
}

// drop gives a view up. What headers remember of it is overwritten when the next is made in its place.
func (x *views[T]) drop(v int) {
	x.made &^= 1 << v
	x.view[v].table.clear()
}

func (x *views[T]) first(v int, p *Pattern) *Header[T] {
	x.clock++
	w := &x.view[v]
	w.used, w.idle = x.clock, 0
	return after(x.headOf(v, x.seed.hash(x.masks[v], p.Bits, p.Src), p.Bits, p.Src), v, p)
}

// headOf gives the head of the queue of a key in a view that is not empty, nil when there is none.
func (x *views[T]) headOf(v int, hash uint64, matchBits uint64, src Source) *Header[T] {
	t, m := &x.view[v].table, x.masks[v]
	g := t.home(hash)
	for i := 1; g != nil; i++ {
		for found := g.match(hash); found != 0; found &= found - 1 {
			h := g.at(found)
			if (h.Bits^matchBits)&m.bits|(h.Src.word()^src.word())&m.src == 0 {
				return h
			}
		}
		if !g.goesOn() {
			break
		}
		g = t.after(hash, i)
	}
	return nil
}

// after gives the first header that the pattern takes of h and those behind it in its queue.
func after[T any](h *Header[T], v int, p *Pattern) *Header[T] {
	for h != nil && !p.Takes(&h.Query) {
		h = h.queue[v].later
	}
	return h
}

// add enters h in all views, but for those that have not been used for so long that giving them up is cheaper.
func (x *views[T]) add(h *Header[T]) {
	for made := x.made; made != 0; made &= made - 1 {
		v := bits.TrailingZeros32(made) % maxViews
		w := &x.view[v]
		if w.idle++; w.idle > 4*perGroup*len(w.table.groups) {
			x.drop(v)
			continue
		}
		x.enqueue(v, h)
	}
}

func (x *views[T]) enqueue(v int, h *Header[T]) {
	t, m := &x.view[v].table, x.masks[v]
	hash := x.seed.hash(m, h.Bits, h.Src)
	if t.used != 0 {
		if head := x.headOf(v, hash, h.Bits, h.Src); head != nil {
			tail := head.queue[v].older
			tail.queue[v].later = h
			h.queue[v] = neighbours[T]{nil, tail}
			head.queue[v].older = h
			return
		}
	}
	h.queue[v] = neighbours[T]{nil, h}
	if t.full() {
		t.grow(func(h *Header[T]) uint64 { return x.seed.hash(m, h.Bits, h.Src) })
	}
	t.insert(hash, h)
}

func (x *views[T]) remove(h *Header[T]) {
	for ever := x.ever; ever != 0; ever &= ever - 1 {
		v := bits.TrailingZeros32(ever) % maxViews
		if x.made>>v&1 != 0 {
			x.dequeue(v, h)
		}
		h.queue[v] = neighbours[T]{} // also of views given up: h keeps no other alive
	}
}

func (x *views[T]) dequeue(v int, h *Header[T]) {
	t := &x.view[v].table
	n := h.queue[v]
	isHead := n.older.queue[v].later == nil // its older is the tail
	if !isHead && n.later != nil {
		n.older.queue[v].later = n.later
		n.later.queue[v].older = n.older
		return
	}
	hash := x.seed.hash(x.masks[v], h.Bits, h.Src)
	switch {
	case !isHead: // the tail
		n.older.queue[v].later = nil
		x.headOf(v, hash, h.Bits, h.Src).queue[v].older = n.older
	case n.later != nil:
		n.later.queue[v].older = n.older
		t.replace(hash, h, n.later)
	default:
		t.remove(hash, h)
	}
}

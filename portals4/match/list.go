package match

import (
	"math/bits"
	"math/rand/v2"
)

// Entry is the node of a list or match list entry, embedded in its T.
type Entry[T any] struct {
	Pattern
	Owner *T // what it is embedded in; the caller's

	stamp uint64    // place in append order; 0: in no list
	later *Entry[T] // in the queue of its hash or the rest. What a search looks at ends here: one line

	older      *Entry[T] // as later; of the head of a queue, its tail
	next, prev *Entry[T] // in the list
	hash       uint64
	class      int8 // of the index; unclassed in its rest
}

// Linked reports whether the entry is in a list.
func (e *Entry[T]) Linked() bool { return e.stamp != 0 }

// List is a priority or overflow list. The zero List is empty and ready.
//
// A short list is walked. A longer one has an index: a class for each mask (ignore bits and wildcards) that its entries have, with a
// queue for each masked key, so that a search looks into as many hash tables as there are masks. Entries of more than maxClasses masks at a
// time are walked. So are those of one key that do not fit, with NoTruncate: a search may pass many that are full.
type List[T any] struct {
	head, tail *Entry[T]
	n          int
	stamp      uint64 // of the last entry appended
	indexed    bool   // all entries are in the index; else it is empty
	index      *entryIndex[T]
}

const (
	short      = 8  // so many nodes are walked sooner than hashed
	maxClasses = 16 // at most 32
	unclassed  = maxClasses
)

// entryIndex finds entries by what they compare. Classes that become empty keep their mask until another needs the place.
type entryIndex[T any] struct {
	seed    seed
	live    uint32 // set of classes that have entries
	known   int    // classes that have a mask
	last    int    // class of the last entry added
	masks   [maxClasses]mask
	tables  [maxClasses]table[Entry[T]]
	rest    *Entry[T]
	restEnd *Entry[T]
}

// Len is the number of entries.
func (l *List[T]) Len() int { return l.n }

// Append puts e at the end. It is in no list, and keeps its pattern while it is in this one (see Pattern).
func (l *List[T]) Append(e *Entry[T]) {
	if e.stamp != 0 {
		panic("match: append of an entry that is in a list; remove it first")
	}
	l.stamp++
	e.stamp = l.stamp
	e.next, e.prev = nil, l.tail
	if l.tail != nil {
		l.tail.next = e
	} else {
		l.head = e
	}
	l.tail = e
	l.n++
	if l.indexed {
		l.index.add(e)
	} else if l.n > short {
		l.makeIndex()
	}
}

func (l *List[T]) makeIndex() {
	if l.index == nil {
		l.index = &entryIndex[T]{seed: seed{rand.Uint64(), rand.Uint64()}}
	}
	l.indexed = true
	for e := l.head; e != nil; e = e.next {
		l.index.add(e)
	}
}

// Remove takes e, which is in l, out of it.
func (l *List[T]) Remove(e *Entry[T]) {
	if e.stamp == 0 {
		panic("match: remove of an entry that is in no list")
	}
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		l.head = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		l.tail = e.prev
	}
	if l.indexed {
		l.index.remove(e)
	}
	e.next, e.prev, e.stamp = nil, nil, 0
	if l.n--; l.n == 0 {
		l.indexed = false
	}
}

// Find gives the first entry, in the order of their appends, that takes the operation; nil when none does.
func (l *List[T]) Find(q *Query) *Entry[T] {
	if l.indexed {
		return l.index.find(q)
	}
	for e := l.head; e != nil; e = e.next {
		if e.Takes(q) {
			return e
		}
	}
	return nil
}

// Next gives the first entry behind e, of those with its match bits and mask, that takes the operation: one that e.Takes, for whose caller e was not the one.
func (l *List[T]) Next(e *Entry[T], q *Query) *Entry[T] {
	step := func(e *Entry[T]) *Entry[T] { return e.next }
	if l.indexed {
		step = func(e *Entry[T]) *Entry[T] { return e.later }
	}
	for e = step(e); e != nil; e = step(e) {
		if e.Takes(q) {
			return e
		}
	}
	return nil
}

// Each calls f for the entries in order, until it returns false. f may remove the entry it is called for.
func (l *List[T]) Each(f func(*Entry[T]) bool) {
	for e := l.head; e != nil; {
		next := e.next
		if !f(e) {
			return
		}
		e = next
	}
}

// classOf gives the class of a mask, made when need be, or unclassed when all are taken.
func (x *entryIndex[T]) classOf(m mask) int {
	if x.masks[x.last] == m && x.last < x.known {
		return x.last
	}
	for c := range x.known {
		if x.masks[c] == m {
			return c
		}
	}
	c := bits.TrailingZeros32(^x.live) // the first that has no entries
	if x.known < maxClasses {
		c = x.known
		x.known++
	}
	if c < maxClasses {
		x.masks[c] = m
	}
	return c
}

func (x *entryIndex[T]) add(e *Entry[T]) {
	e.later = nil
	c := x.classOf(e.mask())
	e.class = int8(c)
	if c == unclassed {
		if e.older = x.restEnd; e.older != nil {
			e.older.later = e
		} else {
			x.rest = e
		}
		x.restEnd = e
		return
	}
	x.last = c
	x.live |= 1 << c
	m := x.masks[c]
	e.hash = x.seed.hash(m, e.Bits, e.Src)
	t := &x.tables[c]
	if t.used != 0 {
		if head := headOf(t, e.hash, m, e.Bits, e.Src); head != nil {
			e.older = head.older
			e.older.later = e
			head.older = e
			return
		}
	}
	e.older = e
	if t.full() {
		t.grow(func(e *Entry[T]) uint64 { return e.hash })
	}
	t.insert(e.hash, e)
}

// headOf gives the head of the queue of a key, nil when there is none. The table is not empty.
func headOf[T any](t *table[Entry[T]], hash uint64, m mask, matchBits uint64, src Source) *Entry[T] {
	g := t.home(hash)
	for i := 1; g != nil; i++ {
		for found := g.match(hash); found != 0; found &= found - 1 {
			e := g.at(found)
			if (e.Bits^matchBits)&m.bits|(e.Src.word()^src.word())&m.src == 0 {
				return e
			}
		}
		if !g.goesOn() {
			break
		}
		g = t.after(hash, i)
	}
	return nil
}

func (x *entryIndex[T]) remove(e *Entry[T]) {
	if e.class == unclassed {
		x.removeRest(e)
	} else {
		x.removeClassed(e)
	}
	e.later, e.older = nil, nil
}

func (x *entryIndex[T]) removeClassed(e *Entry[T]) {
	t := &x.tables[e.class]
	isHead := e.older.later == nil // its older is the tail
	switch {
	case !isHead && e.later != nil:
		e.older.later = e.later
		e.later.older = e.older
	case !isHead:
		e.older.later = nil
		headOf(t, e.hash, x.masks[e.class], e.Bits, e.Src).older = e.older
	case e.later != nil:
		e.later.older = e.older
		t.replace(e.hash, e, e.later)
	default:
		t.remove(e.hash, e)
		if t.used == 0 {
			x.live &^= 1 << e.class
		}
	}
}

func (x *entryIndex[T]) removeRest(e *Entry[T]) {
	if e.older != nil {
		e.older.later = e.later
	} else {
		x.rest = e.later
	}
	if e.later != nil {
		e.later.older = e.older
	} else {
		x.restEnd = e.older
	}
}

// find takes the first of each class, and of these the one that was appended first.
func (x *entryIndex[T]) find(q *Query) *Entry[T] {
	var best *Entry[T]
	for live := x.live; live != 0; live &= live - 1 {
		c := bits.TrailingZeros32(live) % maxClasses
		m := x.masks[c]
		e := headOf(&x.tables[c], x.seed.hash(m, q.Bits, q.Src), m, q.Bits, q.Src)
		for e != nil && !e.Takes(q) {
			e = e.later
		}
		if e != nil && (best == nil || e.stamp < best.stamp) {
			best = e
		}
	}
	for e := x.rest; e != nil && (best == nil || e.stamp < best.stamp); e = e.later {
		if e.Takes(q) {
			return e
		}
	}
	return best
}

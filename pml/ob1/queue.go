package ob1

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/pml"
)

// Matching queues. A queue holds entries in the order they came; a table finds the queue of a (source, tag) key in O(1).
// Wildcards are keys of their own: (any, tag), (source, any), (any, any). A posted receive stands in the one queue of its own
// key, and an arriving message looks into at most four; an unexpected message stands in the queues of all keys that it fits, and a
// receive looks into one. The core has no locks and no I/O: the engine's token guards it.

// entry is one place in a queue, part of a receive request or a message.
type entry struct {
	prev, next *entry
	q          *queue
	stamp      uint64 // order of posting
	recv       *recvReq
	msg        *message
}

type queue struct {
	key        uint64
	head, tail *entry
	next       *queue // in the table's bucket
}

func (q *queue) push(e *entry) {
	e.q, e.prev, e.next = q, q.tail, nil
	if q.tail == nil {
		q.head = e
	} else {
		q.tail.next = e
	}
	q.tail = e
}

func (e *entry) remove() {
	q := e.q
	if e.prev == nil {
		q.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		q.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.q, e.prev, e.next = nil, nil, nil
}

// table finds queues by key.
type table struct {
	buckets []*queue
	shift   uint
	n       int    // queues, empty ones included
	last    *queue // found last, or nil: programs ask for the same again
	spare   *queue
}

const tableMin = 16

func (t *table) init() {
	t.buckets = make([]*queue, tableMin)
	t.shift = 64 - 4
}

func keyOf(source, tag int32) uint64 { return uint64(uint32(source))<<32 | uint64(uint32(tag)) }

func (t *table) slot(key uint64) uint64 { return key * 0x9e3779b97f4a7c15 >> t.shift }

// find gives the queue of a key, nil when there never was one.
func (t *table) find(key uint64) *queue {
	if q := t.last; q != nil && q.key == key {
		return q
	}
	for q := t.buckets[t.slot(key)]; q != nil; q = q.next {
		if q.key == key {
			t.last = q
			return q
		}
	}
	return nil
}

// get gives the queue of a key, making it when needed.
func (t *table) get(key uint64) *queue {
	if q := t.find(key); q != nil {
		return q
	}
	if t.n >= len(t.buckets) {
		t.grow()
	}
	q := t.spare
	if q == nil {
		q = new(queue)
	} else {
		t.spare = q.next
	}
	b := &t.buckets[t.slot(key)]
	*q = queue{key: key, next: *b}
	*b = q
	t.n++
	return q
}

// grow drops empty queues, and doubles the table if most are in use. Queues of keys in turn with others thus survive, while keys
// used once do not pile up.
func (t *table) grow() {
	old := t.buckets
	t.last = nil // it may be dropped
	live := 0
	for _, q := range old {
		for ; q != nil; q = q.next {
			if q.head != nil {
				live++
			}
		}
	}
	if live > len(old)/2 {
		t.buckets = make([]*queue, 2*len(old))
		t.shift--
	} else {
		t.buckets = make([]*queue, len(old))
	}
	t.n = live
	for _, q := range old {
		for q != nil {
			next := q.next
			if q.head == nil {
				*q = queue{next: t.spare}
				t.spare = q
			} else {
				b := &t.buckets[t.slot(q.key)]
				q.next = *b
				*b = q
			}
			q = next
		}
	}
}

// pushBefore puts e in front of at, which is in q.
func (q *queue) pushBefore(at, e *entry) {
	e.q, e.prev, e.next = q, at.prev, at
	if at.prev == nil {
		q.head = e
	} else {
		at.prev.next = e
	}
	at.prev = e
}

// posted are the receives that wait for a message.
type posted struct {
	t     table
	stamp uint64
	begun uint64 // stamp of the last receive that its goroutine does not wait in
	n     int
	wild  int // receives with a wildcard among them
}

const (
	anySource = int32(core.AnySource)
	anyTag    = int32(core.AnyTag)
	pairTags  = int32(pml.PairTags) // from here on no wildcard fits
)

// add puts a receive behind the others.
func (p *posted) add(r *recvReq) {
	q := p.enter(r)
	p.begun = p.stamp
	q.push(&r.entry)
}

// overtaking bounds the search of addFirst.
const overtaking = 32

// addFirst is add for a receive whose goroutine waits in the call and drives. It goes in front of those whose goroutines are in such
// calls and parked: what comes needs nobody else to run. Receives that are all under way in calls that have not returned are in
// no order, and who overtakes whom is the program's business (MPI-3.1 §3.5, Order and Fairness). It stays behind any that was begun by
// a call that has returned, since a later one may be its goroutine's.
func (p *posted) addFirst(r *recvReq) {
	q := p.enter(r)
	var at *entry
	for e, n := q.tail, 0; e != nil && e.stamp > p.begun && n < overtaking; e, n = e.prev, n+1 {
		at = e
	}
	if at == nil {
		q.push(&r.entry)
		return
	}
	q.pushBefore(at, &r.entry)
}

// addWaiting is add for a receive whose goroutine waits in the call while another one drives.
func (p *posted) addWaiting(r *recvReq) { p.enter(r).push(&r.entry) }

// enter counts a receive and finds its queue.
func (p *posted) enter(r *recvReq) *queue {
	p.stamp++
	p.n++
	if r.source == anySource || r.tag == anyTag {
		p.wild++
	}
	r.entry.stamp, r.entry.recv = p.stamp, r
	return p.t.get(keyOf(r.source, r.tag))
}

func (p *posted) remove(r *recvReq) {
	p.n--
	if r.source == anySource || r.tag == anyTag {
		p.wild--
	}
	r.entry.remove()
}

// take finds the earliest posted receive that fits a message and takes it out; nil when there is none.
func (p *posted) take(source, tag int32) *recvReq {
	r := p.peek(source, tag)
	if r != nil {
		p.remove(r)
	}
	return r
}

// peek finds the earliest posted receive that fits a message, nil when there is none.
func (p *posted) peek(source, tag int32) *recvReq {
	if p.n == 0 {
		return nil
	}
	var best *entry
	if q := p.t.find(keyOf(source, tag)); q != nil {
		best = q.head
	}
	if p.wild != 0 && tag < pairTags {
		for _, key := range [...]uint64{keyOf(anySource, tag), keyOf(source, anyTag), keyOf(anySource, anyTag)} {
			if q := p.t.find(key); q != nil && q.head != nil && (best == nil || q.head.stamp < best.stamp) {
				best = q.head
			}
		}
	}
	if best == nil {
		return nil
	}
	return best.recv
}

// unexpected are the messages that wait for a receive, in order of arrival.
type unexpected struct {
	t     table
	all   queue // every message but those of pairs
	pairs queue // those with tags that no wildcard fits
	n     int
	every bool // the wildcard queues are kept: somebody has looked for a wildcard
}

func (u *unexpected) add(m *message) {
	u.n++
	for i := range m.at {
		m.at[i].msg = m
	}
	u.t.get(keyOf(m.source, m.tag)).push(&m.at[0])
	if m.tag >= pairTags {
		u.pairs.push(&m.at[1])
		return
	}
	u.all.push(&m.at[1])
	if u.every {
		u.index(m)
	}
}

func (u *unexpected) index(m *message) {
	u.t.get(keyOf(anySource, m.tag)).push(&m.at[2])
	u.t.get(keyOf(m.source, anyTag)).push(&m.at[3])
}

func (u *unexpected) remove(m *message) {
	u.n--
	for i := range m.at {
		if m.at[i].q != nil {
			m.at[i].remove()
		}
	}
}

// find gives the earliest message that fits a receive, nil when there is none.
func (u *unexpected) find(source, tag int32) *message {
	if u.n == 0 {
		return nil
	}
	var e *entry
	if source == anySource && tag == anyTag {
		e = u.all.head
	} else {
		if !u.every && (source == anySource || tag == anyTag) {
			u.every = true
			for e := u.all.head; e != nil; e = e.next {
				u.index(e.msg)
			}
		}
		if q := u.t.find(keyOf(source, tag)); q != nil {
			e = q.head
		}
	}
	if e == nil {
		return nil
	}
	return e.msg
}

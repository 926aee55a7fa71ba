package cm

import (
	"errors"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mtl"
)

// request is a send or a receive: the user's half and the MTL's.
type request struct {
	core.Request
	m          mtl.Request
	o          *module
	link       *request // pool
	prev, next *request // of a receive, among those that the MTL has
	isSend     bool
	life       uint64 // in the trace; 0: none
}

// Pool. A request that a user holds is given back outside the token, by a change of its generation alone: it stands in a queue of those
// that are out, and is found there when the pool is empty.

// lookAtMost bounds how many requests that are out are looked at before a new one is made: those still in use go to the end, so the pool
// exceeds what is in use by a sixteenth at most.
const lookAtMost = 16

// requestQueue is a first-in first-out queue by link.
type requestQueue struct{ head, tail *request }

func (l *requestQueue) push(q *request) {
	q.link = nil
	if l.tail == nil {
		l.head = q
	} else {
		l.tail.link = q
	}
	l.tail = q
}

func (l *requestQueue) pop() *request {
	q := l.head
	if q != nil {
		if l.head = q.link; l.head == nil {
			l.tail = nil
		}
	}
	return q
}

// take gives a request out of the pool.
func (o *module) take() *request {
	if q := o.free; q != nil {
		o.free = q.link
		return q
	}
	for range lookAtMost {
		q := o.out.pop()
		if q == nil {
			break
		}
		if q.Retired() {
			return q // another operation stands in its place at once: nothing of it needs to be forgotten
		}
		o.out.push(q)
	}
	q := new(request)
	q.o, q.Owner, q.Engine, q.m.Owner = o, q, o.engine, q
	return q
}

// give puts back a request that nobody outside has seen.
func (o *module) give(q *request) {
	q.Buf, q.m.Buf, q.m.Ch, q.m.Priv = core.Buffer{}, core.Buffer{}, nil, nil
	q.link = o.free
	o.free = q
}

// requestList is a list by prev and next.
type requestList struct {
	head *request
	n    int
}

func (l *requestList) add(q *request) {
	q.prev, q.next = nil, l.head
	if l.head != nil {
		l.head.prev = q
	}
	l.head = q
	l.n++
}

func (l *requestList) has(q *request) bool { return q.prev != nil || l.head == q }

func (l *requestList) remove(q *request) {
	if q.prev != nil {
		q.prev.next = q.next
	} else {
		l.head = q.next
	}
	if q.next != nil {
		q.next.prev = q.prev
	}
	q.prev, q.next = nil, nil
	l.n--
}

// Start implements core.Operation for persistent requests.
func (q *request) Start(*core.Request) error {
	q.Reset()
	q.Status = core.EmptyStatus()
	q.SetActive(true)
	q.m.Buf = q.Buf
	if q.isSend {
		q.o.startSend(q)
	} else {
		q.o.startRecv(q)
	}
	return nil
}

// Cancel implements core.Operation: a receive that nothing has matched is cancelled (MPI-3.1 §3.8.4). Sends are not: MPI allows that, and
// the operation completes as if never asked.
func (q *request) Cancel(*core.Request) error {
	if !q.isSend && q.o.recvs.has(q) && q.o.takeBack(q) {
		q.Status.Cancelled = true
		q.finish()
	}
	return nil
}

// takeBack takes a receive from the MTL that nothing has matched, and reports whether it could.
func (o *module) takeBack(q *request) bool {
	if !o.mtl.Cancel(&q.m) {
		return false
	}
	o.recvs.remove(q)
	return true
}

// Done implements mtl.Completer.
func (q *request) Done(_ *mtl.Request, st core.Status, err error) {
	o := q.o
	if q.isSend {
		o.sends--
	} else {
		o.recvs.remove(q)
		q.Status.Source, q.Status.Tag, q.Status.Cancelled = st.Source, st.Tag, false // by fields, as they were written: see mtl/portals4.module.Recv
		q.Status.SetBytes(st.Bytes())
		if err == nil || core.ClassOf(err) == core.ErrTruncate {
			o.stats.received++
			o.stats.receivedBytes += uint64(st.Bytes())
		}
	}
	if err != nil {
		err = atPeer(err, q.m.Peer)
	}
	q.Status.Err = err
	q.finish()
}

// finish completes q with its status set.
func (q *request) finish() {
	if q.o.tr != nil {
		q.o.tr.end(q)
	}
	q.Request.Finish()
}

func (q *request) finishErr(err error) {
	q.Status.Err = err
	q.finish()
}

// atPeer has an error name the rank that its operation did, where it names none.
func atPeer(err error, rank int) error {
	var e *core.Error
	if rank < 0 || !errors.As(err, &e) || e.Peer >= 0 {
		return err
	}
	return peerError(e, rank)
}

func peerError(e *core.Error, rank int) *core.Error {
	return &core.Error{Class: e.Class, Peer: rank, Index: -1, Err: e.Err}
}

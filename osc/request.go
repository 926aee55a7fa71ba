package osc

import "github.com/ompi-go/ompi-go/core"

// requests are the requests of a window's operations. Those out are looked at when one is needed, as in pml/ob1: a user gives one back without the
// token. The token guards the list.
type requests struct {
	win        *Win
	head, tail *request
}

// request is one of them.
type request struct {
	core.Request
	link *request
}

// lookAtMost bounds how many requests that are out are looked at before a new one is made.
const lookAtMost = 16

// get gives a request for a new operation; it stays in the list.
func (l *requests) get(op string, rank int, buf core.Buffer) *request {
	var r *request
	for range lookAtMost {
		q := l.head
		if q == nil {
			break
		}
		if l.head = q.link; l.head == nil {
			l.tail = nil
		}
		if q.Retired() && q.Done() {
			r = q
			break
		}
		l.put(q)
	}
	if r == nil {
		r = new(request)
		r.Owner, r.Engine = r, l.win.Engine
	}
	l.put(r)
	r.Renew(l.win.Comm, op, rank, buf)
	return r
}

func (l *requests) put(r *request) {
	r.link = nil
	if l.tail == nil {
		l.head = r
	} else {
		l.tail.link = r
	}
	l.tail = r
}

// Start implements core.Operation; the requests are not persistent.
func (r *request) Start(*core.Request) error {
	return core.NewError(core.ErrRequest, "the request is not persistent")
}

// Cancel implements core.Operation (MPI-3.1 §11.3.5).
func (r *request) Cancel(*core.Request) error {
	return core.NewError(core.ErrRequest, "a one-sided operation cannot be cancelled")
}

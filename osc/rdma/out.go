package rdma

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/progress"
)

// parcel is a message on its way: a call's request, or an answer.
type parcel struct {
	btl.Frag
	f      *factory
	ep     *bml.Endpoint
	call   *call // nil: an answer
	buf    []byte
	away   bool // a BTL has it
	queued bool
	next   *parcel // free answers, or the queue
}

// send sends n bytes of the buffer behind the header, now or when there is room.
func (p *parcel) send(ep *bml.Endpoint, tag btl.Tag, h *frame, n int) {
	p.ep = ep
	p.Tag, p.HdrLen, p.Len = tag, frameSize, n
	p.Data = nil
	if n > 0 {
		p.Data = unsafe.Pointer(unsafe.SliceData(p.buf))
	}
	h.put(p.Hdr[:])
	if q := &p.f.queue; q.head != nil || !p.offer() {
		q.add(p)
	}
}

// offer gives the message to a BTL. false: there was no room, or the path is gone and another one not there yet.
func (p *parcel) offer() bool {
	if p.ep.Proc.Failed() != nil || len(p.ep.Eager) == 0 {
		p.drop()
		return true
	}
	path := p.ep.First()
	done, err := path.Send.Send(&p.Frag)
	if err != nil {
		return false
	}
	path.Counts.Sent++
	path.Counts.Bytes += uint64(p.Len)
	if p.away = !done; done {
		p.drop()
	}
	return true
}

// drop: no BTL has the message any more.
func (p *parcel) drop() {
	if p.call != nil {
		p.call.free()
		return
	}
	f := p.f
	p.ep = nil
	p.next, f.answers = f.answers, p
}

// FragDone implements btl.Completer. A message that may not have come goes again, by another path; who gets it twice knows it by its number.
func (p *parcel) FragDone(_ *btl.Frag, err error) {
	p.away = false
	if err != nil && p.ep.Proc.Failed() == nil && (p.call == nil || !p.call.over) {
		p.f.queue.add(p)
		return
	}
	p.drop()
}

// outQueue has the messages that found no room, in order. While there are any the engine does not sleep.
type outQueue struct {
	engine     *progress.Engine
	source     *progress.Source
	head, tail *parcel
}

func (q *outQueue) add(p *parcel) {
	p.next, p.queued = nil, true
	if q.tail == nil {
		q.head = p
		q.source.On()
	} else {
		q.tail.next = p
	}
	q.tail = p
	q.engine.Busy(1)
}

// Poll implements progress.Poller. One target's want of room does not keep the others' messages.
func (q *outQueue) Poll() (n int) {
	var stays, last *parcel
	p := q.head
	q.head, q.tail = nil, nil
	for p != nil {
		next := p.next
		p.next, p.queued = nil, false
		if p.offer() {
			q.engine.Busy(-1)
			n++
		} else {
			p.queued = true
			if last == nil {
				stays = p
			} else {
				last.next = p
			}
			last = p
		}
		p = next
	}
	if last != nil { // what was added meanwhile comes behind
		last.next = q.head
		q.head = stays
		if q.tail == nil {
			q.tail = last
		}
	}
	if q.head == nil {
		q.source.Off()
	}
	return n
}

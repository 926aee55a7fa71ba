package ompi

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/pml"
)

// Sendrecv sends and receives at once, without fear of deadlock (MPI-3.1 §3.10).
func (c *Comm) Sendrecv(send Buffer, dest, sendTag int, recv Buffer, source, recvTag int) (Status, error) {
	const op = "Sendrecv"
	if c.seen() {
		return observed(c, op, dest, send.Bytes(), func() (Status, error) { return c.sendrecv(op, send, dest, sendTag, recv, source, recvTag) })
	}
	return c.sendrecv(op, send, dest, sendTag, recv, source, recvTag)
}

func (c *Comm) sendrecv(op string, send Buffer, dest, sendTag int, recv Buffer, source, recvTag int) (Status, error) {
	if err := c.checkSend(op, send, dest, sendTag); err != nil {
		return core.EmptyStatus(), c.refuse(op, err)
	}
	if err := c.checkRecv(op, recv, source, recvTag); err != nil {
		return core.EmptyStatus(), c.refuse(op, err)
	}
	return c.exchange(op, send, dest, sendTag, recv, source, recvTag)
}

func (c *Comm) exchange(op string, send Buffer, dest, sendTag int, recv Buffer, source, recvTag int) (Status, error) {
	var in core.Handle
	if source != ProcNull {
		in = c.pml.Irecv(&c.c.P2P, recv, source, recvTag).Handle()
	}
	var sendErr error
	if dest != ProcNull {
		sendErr = c.pml.Send(&c.c.P2P, send, dest, sendTag, pml.Standard)
	}
	st := procNullStatus()
	if in.R != nil {
		if sendErr != nil {
			c.inst.engine.Lock()
			if !in.R.Done() {
				_ = in.R.Owner.Cancel(in.R) // the caller learns of the send's failure; the receive must not outlive the call
			}
			c.inst.engine.Unlock()
		}
		c.inst.engine.Wait(&in.R.Completion)
		st, _ = in.Take()
	}
	err := sendErr
	if err == nil {
		err = st.Err
	}
	if err != nil {
		err = c.fail(op, err)
		st.Err = err
	}
	return st, err
}

// SendrecvReplace is Sendrecv with one buffer: what is received replaces what was sent.
func (c *Comm) SendrecvReplace(buf Buffer, dest, sendTag, source, recvTag int) (Status, error) {
	const op = "Sendrecv_replace"
	if c.seen() {
		return observed(c, op, dest, buf.Bytes(), func() (Status, error) { return c.replace(op, buf, dest, sendTag, source, recvTag) })
	}
	return c.replace(op, buf, dest, sendTag, source, recvTag)
}

func (c *Comm) replace(op string, buf Buffer, dest, sendTag, source, recvTag int) (Status, error) {
	if err := c.checkSend(op, buf, dest, sendTag); err != nil {
		return core.EmptyStatus(), c.refuse(op, err)
	}
	if err := c.checkFrom(source, recvTag); err != nil {
		return core.EmptyStatus(), c.refuse(op, err)
	}
	out := buf
	if dest != ProcNull {
		out = packedCopy(buf)
	}
	return c.exchange(op, out, dest, sendTag, buf, source, recvTag)
}

// Isendrecv starts a Sendrecv and returns at once (MPI-4 §3.10). Neither buffer may be touched until the request is complete; the
// status is that of the receive. It cannot be cancelled.
func (c *Comm) Isendrecv(send Buffer, dest, sendTag int, recv Buffer, source, recvTag int) Request {
	const op = "Isendrecv"
	if c.seen() {
		return observedStart(c, op, dest, send.Bytes(), func() Request { return c.isendrecv(op, send, dest, sendTag, recv, source, recvTag) })
	}
	return c.isendrecv(op, send, dest, sendTag, recv, source, recvTag)
}

func (c *Comm) isendrecv(op string, send Buffer, dest, sendTag int, recv Buffer, source, recvTag int) Request {
	if err := c.checkSend(op, send, dest, sendTag); err != nil {
		return c.refused(op, err)
	}
	if err := c.checkRecv(op, recv, source, recvTag); err != nil {
		return c.refused(op, err)
	}
	i := c.inst
	i.engine.Lock()
	p := i.pairs.get(i)
	p.Renew(c.c, op, dest, Buffer{})
	p.Status = procNullStatus()
	p.left = 3 // the receive, the send, and this function
	p.in, p.out = core.Handle{}, core.Handle{}
	i.engine.Unlock()
	h := p.Handle()
	if source == ProcNull {
		p.skip()
	} else {
		p.follow(&p.in, c.pml.Irecv(&c.c.P2P, recv, source, recvTag))
	}
	if dest == ProcNull {
		p.skip()
	} else {
		p.follow(&p.out, c.pml.Isend(&c.c.P2P, send, dest, sendTag, pml.Standard))
	}
	p.skip()
	return Request{h, c}
}

// pairReq is an Isendrecv: a receive and a send that complete together. Its fields are the token's. One without either is done from the
// start; see doneRequest.
type pairReq struct {
	core.Request
	link    *pairReq
	in, out core.Handle // zero when there is none, or it is over
	left    int         // what must end before the request is complete
}

// follow takes one of the two operations, which may be complete.
func (p *pairReq) follow(h *core.Handle, r *core.Request) {
	p.Engine.Lock()
	*h = r.Handle()
	if r.Done() {
		p.RequestDone(r)
	} else {
		r.Hook = p
	}
	p.Engine.Unlock()
}

func (p *pairReq) skip() {
	p.Engine.Lock()
	p.ended()
	p.Engine.Unlock()
}

// RequestDone implements core.Hook.
func (p *pairReq) RequestDone(r *core.Request) {
	h := &p.out
	st := r.Status
	if p.in.R == r {
		h = &p.in
		if st.Err == nil {
			st.Err = p.Status.Err
		}
		p.Status = st
	} else if st.Err != nil {
		p.Status.Err = st.Err
	}
	h.Drop()
	*h = core.Handle{}
	if r := p.in.R; st.Err != nil && r != nil && !r.Done() {
		p.ended()
		_ = r.Owner.Cancel(r) // the user learns of the send's failure; the receive must not outlive the request
		return
	}
	p.ended()
}

func (p *pairReq) ended() {
	if p.left--; p.left == 0 {
		if p.Status.Err != nil {
			p.Status.Cancelled = false
		}
		p.Finish()
	}
}

// Start implements core.Operation; there is no persistent form.
func (p *pairReq) Start(*core.Request) error { return nil }

// Cancel implements core.Operation: it completes as if never asked.
func (p *pairReq) Cancel(*core.Request) error { return nil }

// pairPool keeps the instance's pairReqs, as pml/ob1 keeps its requests: those out are looked at when one is needed. The token guards it.
type pairPool struct{ head, tail *pairReq }

// lookAtMost bounds how many requests that are out are looked at before a new one is made.
const lookAtMost = 16

func (l *pairPool) get(i *Instance) *pairReq {
	var p *pairReq
	for range lookAtMost {
		q := l.head
		if q == nil {
			break
		}
		if l.head = q.link; l.head == nil {
			l.tail = nil
		}
		if q.Retired() && q.left == 0 {
			p = q
			break
		}
		l.put(q)
	}
	if p == nil {
		p = new(pairReq)
		p.Owner, p.Engine = p, i.engine
	}
	l.put(p)
	return p
}

func (l *pairPool) put(p *pairReq) {
	p.link = nil
	if l.tail == nil {
		l.head = p
	} else {
		l.tail.link = p
	}
	l.tail = p
}

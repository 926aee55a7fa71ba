package cm

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/pml"
)

// Recv implements pml.Module.
func (o *module) Recv(ch *core.Channel, buf core.Buffer, source, tag int) (core.Status, error) {
	o.engine.Lock()
	q := o.take()
	q.Renew(ch.Comm, "", source, buf)
	o.describe(q, false, ch, buf, source, tag)
	o.startRecv(q)
	o.engine.WaitLocked(&q.Request)
	st := q.Status
	o.give(q)
	o.engine.Unlock()
	return st, st.Err
}

// Irecv implements pml.Module.
func (o *module) Irecv(ch *core.Channel, buf core.Buffer, source, tag int) *core.Request {
	o.engine.Lock()
	r := o.BeginRecv(ch, buf, source, tag)
	o.engine.Depart()
	return r
}

// BeginRecv implements pml.Module.
func (o *module) BeginRecv(ch *core.Channel, buf core.Buffer, source, tag int) *core.Request {
	q := o.take()
	o.out.push(q)
	q.Renew(ch.Comm, "", source, buf)
	o.describe(q, false, ch, buf, source, tag)
	o.startRecv(q)
	return &q.Request
}

// RecvInit implements pml.Module.
func (o *module) RecvInit(ch *core.Channel, buf core.Buffer, source, tag int) *core.Request {
	o.engine.Lock()
	defer o.engine.Unlock()
	return o.RecvInitHeld(ch, buf, source, tag)
}

// RecvInitHeld implements pml.Module.
func (o *module) RecvInitHeld(ch *core.Channel, buf core.Buffer, source, tag int) *core.Request {
	q := o.take()
	o.out.push(q)
	q.Renew(ch.Comm, "", source, buf)
	q.Persistent = true
	o.describe(q, false, ch, buf, source, tag)
	return &q.Request
}

func (o *module) startRecv(q *request) {
	if o.tr != nil {
		o.tr.begin(q)
	}
	if q.m.Ch.Comm.Fault() != nil {
		if err := o.cannotCome(q.m.Ch, q.m.Peer); err != nil {
			o.recvLast(q, err)
			return
		}
	}
	o.recvs.add(q)
	o.mtl.Recv(&q.m)
}

// recvLast begins a receive for which nothing will come any more, err says why: only what has come before can be received.
func (o *module) recvLast(q *request, err *core.Error) {
	if !fatal(q.m.Ch) {
		if m, _, ok := o.mtl.Improbe(q.m.Ch, q.m.Peer, q.m.Tag); ok {
			o.recvs.add(q)
			o.recvMessage(q, m.Status().Source, m)
			return
		}
	}
	q.finishErr(err)
}

// Imrecv implements pml.Module.
func (o *module) Imrecv(msg pml.Message, buf core.Buffer) *core.Request {
	o.engine.Lock()
	defer o.engine.Unlock()
	s := msg.(*message)
	q := o.take()
	o.out.push(q)
	q.Renew(s.ch.Comm, "", s.st.Source, buf)
	o.describe(q, false, s.ch, buf, s.st.Source, s.st.Tag)
	if o.tr != nil {
		o.tr.begin(q)
	}
	o.recvs.add(q)
	m, source := s.m, s.st.Source
	o.giveMessage(s)
	o.recvMessage(q, source, m)
	return &q.Request
}

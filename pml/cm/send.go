package cm

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/pml"
)

// Send implements pml.Module.
func (o *module) Send(ch *core.Channel, buf core.Buffer, dest, tag int, mode pml.Mode) error {
	o.engine.Lock()
	if mode != pml.Synchronous && o.sendNow(ch, buf, dest, tag) {
		o.engine.Unlock()
		return nil
	}
	q := o.take()
	q.Renew(ch.Comm, "", dest, buf)
	o.describe(q, true, ch, buf, dest, tag)
	q.m.Sync = mode == pml.Synchronous
	o.startSend(q)
	o.engine.WaitLocked(&q.Request)
	err := q.Status.Err
	o.give(q)
	o.engine.Unlock()
	return err
}

// sendNow sends a small message without a request, if the MTL can do so now. On a communicator with a fault the long way finds out what
// is still possible.
func (o *module) sendNow(ch *core.Channel, buf core.Buffer, dest, tag int) bool {
	if ch.Comm.Fault() != nil {
		return false
	}
	from := o.tr.start()
	if !o.mtl.TrySend(ch, buf, dest, tag) {
		return false
	}
	o.stats.atOnce++
	o.stats.atOnceBytes += uint64(buf.Bytes())
	if o.tr != nil {
		o.tr.sentNow(from, ch, dest, tag, buf.Bytes())
	}
	return true
}

// Isend implements pml.Module.
func (o *module) Isend(ch *core.Channel, buf core.Buffer, dest, tag int, mode pml.Mode) *core.Request {
	o.engine.Lock()
	r := o.isend(ch, buf, dest, tag, mode)
	o.engine.Depart()
	return r
}

// BeginSend implements pml.Module.
func (o *module) BeginSend(ch *core.Channel, buf core.Buffer, dest, tag int) *core.Request {
	return o.isend(ch, buf, dest, tag, pml.Standard)
}

func (o *module) isend(ch *core.Channel, buf core.Buffer, dest, tag int, mode pml.Mode) *core.Request {
	q := o.take()
	o.out.push(q)
	if mode != pml.Synchronous && o.sendNow(ch, buf, dest, tag) {
		q.RenewDone()
		return &q.Request
	}
	q.Renew(ch.Comm, "", dest, buf)
	o.describe(q, true, ch, buf, dest, tag)
	q.m.Sync = mode == pml.Synchronous
	o.startSend(q)
	return &q.Request
}

// SendInit implements pml.Module.
func (o *module) SendInit(ch *core.Channel, buf core.Buffer, dest, tag int, mode pml.Mode) *core.Request {
	o.engine.Lock()
	defer o.engine.Unlock()
	q := o.take()
	o.out.push(q)
	q.Renew(ch.Comm, "", dest, buf)
	q.Persistent = true
	o.describe(q, true, ch, buf, dest, tag)
	q.m.Sync = mode == pml.Synchronous
	return &q.Request
}

// describe fills the MTL's half of a request.
func (o *module) describe(q *request, send bool, ch *core.Channel, buf core.Buffer, peer, tag int) {
	q.isSend = send
	m := &q.m
	m.Ch, m.Buf, m.Peer, m.Tag = ch, buf, peer, tag
}

func (o *module) startSend(q *request) {
	if o.tr != nil {
		o.tr.begin(q)
	}
	ch := q.m.Ch
	if f := ch.Comm.Fault(); f != nil {
		if f.Fatal {
			q.finishErr(peerError(f.Err, q.m.Peer))
			return
		}
		if err := ch.Comm.Procs[q.m.Peer].Failed(); err != nil {
			q.finishErr(peerError(err, q.m.Peer))
			return
		}
	}
	o.stats.sent++
	o.stats.sentBytes += uint64(q.m.Buf.Bytes())
	o.sends++
	o.mtl.Send(&q.m)
}

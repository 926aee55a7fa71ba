package ompi

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/pml"
)

// Send sends buf to rank dest with a tag and returns when buf may be reused (MPI-3.1 §3.2.1).
func (c *Comm) Send(buf Buffer, dest, tag int) error {
	if c == nil || c.odd || !buf.Plain() || uint(dest) >= uint(c.size) || uint(tag) > uint(c.tagUB) || c.freed.Load() {
		return c.send("Send", buf, dest, tag, pml.Standard)
	}
	if err := c.pml.Send(&c.c.P2P, buf, dest, tag, pml.Standard); err != nil {
		return c.fail("Send", err)
	}
	return nil
}

// Ssend is Send that returns when the receiver has matched the message (MPI-3.1 §3.4).
func (c *Comm) Ssend(buf Buffer, dest, tag int) error {
	return c.send("Ssend", buf, dest, tag, pml.Synchronous)
}

// Rsend is Send of a message whose receive the caller knows to be posted.
func (c *Comm) Rsend(buf Buffer, dest, tag int) error {
	return c.send("Rsend", buf, dest, tag, pml.Ready)
}

func (c *Comm) send(op string, buf Buffer, dest, tag int, mode pml.Mode) error {
	if err := c.checkSend(op, buf, dest, tag); err != nil || dest == ProcNull {
		return err
	}
	return c.call(op, dest, buf.Bytes(), func() error {
		if err := c.pml.Send(&c.c.P2P, buf, dest, tag, mode); err != nil {
			return c.fail(op, err)
		}
		return nil
	})
}

func (c *Comm) checkBuf(op string, buf Buffer) error {
	if err := buf.Err(); err != nil {
		return c.fail(op, err)
	}
	if buf.IsInPlace() {
		return c.badArg(op, ErrBuffer, "InPlace has no meaning here")
	}
	return nil
}

func (c *Comm) checkSend(op string, buf Buffer, dest, tag int) error {
	if err := c.usable(op); err != nil {
		return err
	}
	if err := c.checkBuf(op, buf); err != nil {
		return err
	}
	if dest != ProcNull && uint(dest) >= uint(c.size) {
		return c.badRank(op, dest)
	}
	return c.checkTag(op, tag, false)
}

func (c *Comm) checkTag(op string, tag int, wild bool) error {
	if uint(tag) <= uint(c.tagUB) || (wild && tag == AnyTag) {
		return nil
	}
	return c.badArg(op, ErrTag, "tag %d; tags are 0 to %d", tag, c.tagUB)
}

func (c *Comm) checkRecv(op string, buf Buffer, source, tag int) error {
	if err := c.usable(op); err != nil {
		return err
	}
	if err := c.checkBuf(op, buf); err != nil {
		return err
	}
	return c.checkFrom(op, source, tag)
}

func (c *Comm) checkFrom(op string, source, tag int) error {
	if source != ProcNull && source != AnySource && uint(source) >= uint(c.size) {
		return c.badRank(op, source)
	}
	return c.checkTag(op, tag, true)
}

// procNullStatus is the status of a receive from ProcNull (MPI-3.1 §3.11).
func procNullStatus() Status { return core.MakeStatus(ProcNull, AnyTag, 0) }

// Recv receives a message from source, or AnySource, with a tag, or AnyTag (MPI-3.1 §3.2.4). A message that is larger than buf
// fills it and gives ErrTruncate.
func (c *Comm) Recv(buf Buffer, source, tag int) (Status, error) {
	if c == nil || c.odd || !buf.Plain() || uint(source) >= uint(c.size) || uint(tag) > uint(c.tagUB) || c.freed.Load() {
		return c.recv("Recv", buf, source, tag)
	}
	st, err := c.pml.Recv(&c.c.P2P, buf, source, tag)
	if err != nil {
		err = c.fail("Recv", err)
		st.Err = err
	}
	return st, err
}

func (c *Comm) recv(op string, buf Buffer, source, tag int) (st Status, err error) {
	if err := c.checkRecv(op, buf, source, tag); err != nil {
		return core.EmptyStatus(), err
	}
	if source == ProcNull {
		return procNullStatus(), nil
	}
	err = c.call(op, source, buf.Bytes(), func() (err error) {
		if st, err = c.pml.Recv(&c.c.P2P, buf, source, tag); err != nil {
			err = c.fail(op, err)
			st.Err = err
		}
		return err
	})
	return st, err
}

// Isend starts a Send and returns at once. buf must not be changed until the request is complete.
func (c *Comm) Isend(buf Buffer, dest, tag int) Request {
	return c.isend("Isend", buf, dest, tag, pml.Standard)
}

// Issend starts an Ssend.
func (c *Comm) Issend(buf Buffer, dest, tag int) Request {
	return c.isend("Issend", buf, dest, tag, pml.Synchronous)
}

// Irsend starts an Rsend.
func (c *Comm) Irsend(buf Buffer, dest, tag int) Request {
	return c.isend("Irsend", buf, dest, tag, pml.Ready)
}

func (c *Comm) isend(op string, buf Buffer, dest, tag int, mode pml.Mode) Request {
	if c == nil || c.odd || !buf.Plain() || uint(dest) >= uint(c.size) || uint(tag) > uint(c.tagUB) || c.freed.Load() || c.inst.finalized.Load() {
		return c.isendOdd(op, buf, dest, tag, mode)
	}
	r := c.pml.Isend(&c.c.P2P, buf, dest, tag, mode)
	r.Op = op
	return Request{r.Handle(), c}
}

func (c *Comm) isendOdd(op string, buf Buffer, dest, tag int, mode pml.Mode) Request {
	if err := c.checkSend(op, buf, dest, tag); err != nil {
		return failedRequest(c, op, err)
	}
	if dest == ProcNull {
		return doneRequest(c, op, core.EmptyStatus())
	}
	var r Request
	err := c.call(op, dest, buf.Bytes(), func() error {
		q := c.pml.Isend(&c.c.P2P, buf, dest, tag, mode)
		q.Op = op
		r = Request{q.Handle(), c}
		return nil
	})
	if err != nil {
		return failedRequest(c, op, err)
	}
	return r
}

// Irecv starts a Recv and returns at once. buf must not be touched until the request is complete.
func (c *Comm) Irecv(buf Buffer, source, tag int) Request {
	if c == nil || c.odd || !buf.Plain() || uint(source) >= uint(c.size) || uint(tag) > uint(c.tagUB) || c.freed.Load() || c.inst.finalized.Load() {
		return c.irecvOdd(buf, source, tag)
	}
	r := c.pml.Irecv(&c.c.P2P, buf, source, tag)
	r.Op = "Irecv"
	return Request{r.Handle(), c}
}

func (c *Comm) irecvOdd(buf Buffer, source, tag int) Request {
	if err := c.checkRecv("Irecv", buf, source, tag); err != nil {
		return failedRequest(c, "Irecv", err)
	}
	if source == ProcNull {
		return doneRequest(c, "Irecv", procNullStatus())
	}
	var r Request
	err := c.call("Irecv", source, buf.Bytes(), func() error {
		q := c.pml.Irecv(&c.c.P2P, buf, source, tag)
		q.Op = "Irecv"
		r = Request{q.Handle(), c}
		return nil
	})
	if err != nil {
		return failedRequest(c, "Irecv", err)
	}
	return r
}

// Sendrecv sends and receives at once, without fear of deadlock (MPI-3.1 §3.10).
func (c *Comm) Sendrecv(send Buffer, dest, sendTag int, recv Buffer, source, recvTag int) (st Status, err error) {
	if err := c.checkSend("Sendrecv", send, dest, sendTag); err != nil {
		return core.EmptyStatus(), err
	}
	if err := c.checkRecv("Sendrecv", recv, source, recvTag); err != nil {
		return core.EmptyStatus(), err
	}
	err = c.call("Sendrecv", dest, send.Bytes(), func() (err error) {
		st, err = c.exchange("Sendrecv", send, dest, sendTag, recv, source, recvTag)
		return err
	})
	return st, err
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
			_ = in.R.Owner.Cancel(in.R) // the caller learns of the send's failure; the receive must not outlive the call
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
func (c *Comm) SendrecvReplace(buf Buffer, dest, sendTag, source, recvTag int) (st Status, err error) {
	const op = "Sendrecv_replace"
	if err := c.checkSend(op, buf, dest, sendTag); err != nil {
		return core.EmptyStatus(), err
	}
	if err := c.checkFrom(op, source, recvTag); err != nil {
		return core.EmptyStatus(), err
	}
	err = c.call(op, dest, buf.Bytes(), func() (err error) {
		st, err = c.exchange(op, packedCopy(buf), dest, sendTag, buf, source, recvTag)
		return err
	})
	return st, err
}

// Message is a matched message, taken out of the queues by a matched probe (MPI-3.1 §3.8.2).
type Message struct {
	c *Comm
	m pml.Message // nil: matched from ProcNull, or received
	n bool        // MPI_MESSAGE_NO_PROC
}

// Probe waits until a message that fits is there and tells about it without receiving it.
func (c *Comm) Probe(source, tag int) (st Status, err error) {
	if err := c.checkRecv("Probe", Buffer{}, source, tag); err != nil {
		return core.EmptyStatus(), err
	}
	if source == ProcNull {
		return procNullStatus(), nil
	}
	err = c.call("Probe", source, 0, func() (err error) {
		if st, err = c.pml.Probe(&c.c.P2P, source, tag); err != nil {
			err = c.fail("Probe", err)
		}
		return err
	})
	return st, err
}

// Iprobe tells whether a message that fits is there.
func (c *Comm) Iprobe(source, tag int) (st Status, ok bool, err error) {
	if err := c.checkRecv("Iprobe", Buffer{}, source, tag); err != nil {
		return core.EmptyStatus(), false, err
	}
	if source == ProcNull {
		return procNullStatus(), true, nil
	}
	err = c.call("Iprobe", source, 0, func() (err error) {
		if st, ok, err = c.pml.Iprobe(&c.c.P2P, source, tag); err != nil {
			err = c.fail("Iprobe", err)
		}
		return err
	})
	return st, ok, err
}

// Mprobe waits for a message that fits and takes it out of the queues; only Message.Recv or Irecv can receive it then.
func (c *Comm) Mprobe(source, tag int) (m *Message, st Status, err error) {
	if err := c.checkRecv("Mprobe", Buffer{}, source, tag); err != nil {
		return nil, core.EmptyStatus(), err
	}
	if source == ProcNull {
		return &Message{c: c, n: true}, procNullStatus(), nil
	}
	err = c.call("Mprobe", source, 0, func() error {
		q, err := c.pml.Mprobe(&c.c.P2P, source, tag)
		if err != nil {
			return c.fail("Mprobe", err)
		}
		m, st = &Message{c: c, m: q}, q.Status()
		return nil
	})
	return m, st, err
}

// Improbe is Mprobe that does not wait.
func (c *Comm) Improbe(source, tag int) (m *Message, st Status, ok bool, err error) {
	if err := c.checkRecv("Improbe", Buffer{}, source, tag); err != nil {
		return nil, core.EmptyStatus(), false, err
	}
	if source == ProcNull {
		return &Message{c: c, n: true}, procNullStatus(), true, nil
	}
	err = c.call("Improbe", source, 0, func() error {
		q, err := c.pml.Improbe(&c.c.P2P, source, tag)
		if err != nil {
			return c.fail("Improbe", err)
		}
		if q != nil {
			m, st, ok = &Message{c: c, m: q}, q.Status(), true
		}
		return nil
	})
	return m, st, ok, err
}

// Recv receives the message.
func (m *Message) Recv(buf Buffer) (Status, error) {
	r := m.irecv("Mrecv", buf)
	return r.Wait()
}

// Irecv starts receiving the message.
func (m *Message) Irecv(buf Buffer) Request { return m.irecv("Imrecv", buf) }

func (m *Message) irecv(op string, buf Buffer) Request {
	if m == nil || m.c == nil {
		return failedRequest(nil, op, &core.Error{Class: ErrRequest, Op: op, Peer: Undefined, Index: -1})
	}
	c := m.c
	if err := c.usable(op); err != nil {
		return failedRequest(c, op, err)
	}
	if err := c.checkBuf(op, buf); err != nil {
		return failedRequest(c, op, err)
	}
	if m.n {
		return doneRequest(c, op, procNullStatus())
	}
	if m.m == nil {
		return failedRequest(c, op, c.badArg(op, ErrRequest, "the message has been received already"))
	}
	q := m.m
	m.m = nil
	var r Request
	err := c.call(op, q.Status().Source, buf.Bytes(), func() error {
		x := c.pml.Imrecv(q, buf)
		x.Op = op
		r = Request{x.Handle(), c}
		return nil
	})
	if err != nil {
		return failedRequest(c, op, err)
	}
	return r
}

// SendInit makes a persistent Send: Start it as often as you like, Wait each time, Free it in the end (MPI-3.1 §3.9).
func (c *Comm) SendInit(buf Buffer, dest, tag int) Request {
	return c.sendInit("Send_init", buf, dest, tag, pml.Standard)
}

// SsendInit makes a persistent Ssend.
func (c *Comm) SsendInit(buf Buffer, dest, tag int) Request {
	return c.sendInit("Ssend_init", buf, dest, tag, pml.Synchronous)
}

// RsendInit makes a persistent Rsend.
func (c *Comm) RsendInit(buf Buffer, dest, tag int) Request {
	return c.sendInit("Rsend_init", buf, dest, tag, pml.Ready)
}

func (c *Comm) sendInit(op string, buf Buffer, dest, tag int, mode pml.Mode) Request {
	if err := c.checkSend(op, buf, dest, tag); err != nil {
		return failedRequest(c, op, err)
	}
	if dest == ProcNull {
		return nullPersistent(c, op, core.EmptyStatus())
	}
	r := c.pml.SendInit(&c.c.P2P, buf, dest, tag, mode)
	r.Op = op
	return Request{r.Handle(), c}
}

// RecvInit makes a persistent Recv.
func (c *Comm) RecvInit(buf Buffer, source, tag int) Request {
	const op = "Recv_init"
	if err := c.checkRecv(op, buf, source, tag); err != nil {
		return failedRequest(c, op, err)
	}
	if source == ProcNull {
		return nullPersistent(c, op, procNullStatus())
	}
	r := c.pml.RecvInit(&c.c.P2P, buf, source, tag)
	r.Op = op
	return Request{r.Handle(), c}
}

package ompi

import (
	"sync/atomic"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/pml"
)

// Message is a matched message, taken out of the queues by a matched probe (MPI-3.1 §3.8.2).
type Message struct {
	c    *Comm
	m    pml.Message // nil: MPI_MESSAGE_NO_PROC, matched from ProcNull
	used atomic.Bool
}

// Probe waits until a message that fits is there and tells about it without receiving it.
func (c *Comm) Probe(source, tag int) (Status, error) {
	if c.seen() {
		return observed(c, "Probe", source, 0, func() (Status, error) { return c.probe(source, tag) })
	}
	return c.probe(source, tag)
}

func (c *Comm) probe(source, tag int) (Status, error) {
	if err := c.checkRecv("Probe", Buffer{}, source, tag); err != nil {
		return core.EmptyStatus(), c.refuse("Probe", err)
	}
	if source == ProcNull {
		return procNullStatus(), nil
	}
	st, err := c.pml.Probe(&c.c.P2P, source, tag)
	if err != nil {
		return core.EmptyStatus(), c.fail("Probe", err)
	}
	return st, nil
}

// Iprobe tells whether a message that fits is there.
func (c *Comm) Iprobe(source, tag int) (Status, bool, error) {
	if c.seen() {
		return observedBool(c, "Iprobe", source, 0, func() (Status, bool, error) { return c.iprobe(source, tag) })
	}
	return c.iprobe(source, tag)
}

func (c *Comm) iprobe(source, tag int) (Status, bool, error) {
	if err := c.checkRecv("Iprobe", Buffer{}, source, tag); err != nil {
		return core.EmptyStatus(), false, c.refuse("Iprobe", err)
	}
	if source == ProcNull {
		return procNullStatus(), true, nil
	}
	st, ok, err := c.pml.Iprobe(&c.c.P2P, source, tag)
	if err != nil {
		return core.EmptyStatus(), false, c.fail("Iprobe", err)
	}
	return st, ok, nil
}

// Mprobe waits for a message that fits and takes it out of the queues; only Message.Recv or Irecv can receive it then.
func (c *Comm) Mprobe(source, tag int) (m *Message, st Status, err error) {
	if c.seen() {
		st, err = observed(c, "Mprobe", source, 0, func() (st Status, err error) {
			m, st, err = c.mprobe(source, tag)
			return st, err
		})
		return m, st, err
	}
	return c.mprobe(source, tag)
}

func (c *Comm) mprobe(source, tag int) (*Message, Status, error) {
	if err := c.checkRecv("Mprobe", Buffer{}, source, tag); err != nil {
		return nil, core.EmptyStatus(), c.refuse("Mprobe", err)
	}
	if source == ProcNull {
		return &Message{c: c}, procNullStatus(), nil
	}
	q, err := c.pml.Mprobe(&c.c.P2P, source, tag)
	if err != nil {
		return nil, core.EmptyStatus(), c.fail("Mprobe", err)
	}
	return &Message{c: c, m: q}, q.Status(), nil
}

// Improbe is Mprobe that does not wait.
func (c *Comm) Improbe(source, tag int) (m *Message, st Status, ok bool, err error) {
	if c.seen() {
		st, ok, err = observedBool(c, "Improbe", source, 0, func() (st Status, ok bool, err error) {
			m, st, ok, err = c.improbe(source, tag)
			return st, ok, err
		})
		return m, st, ok, err
	}
	return c.improbe(source, tag)
}

func (c *Comm) improbe(source, tag int) (*Message, Status, bool, error) {
	if err := c.checkRecv("Improbe", Buffer{}, source, tag); err != nil {
		return nil, core.EmptyStatus(), false, c.refuse("Improbe", err)
	}
	if source == ProcNull {
		return &Message{c: c}, procNullStatus(), true, nil
	}
	q, err := c.pml.Improbe(&c.c.P2P, source, tag)
	if err != nil {
		return nil, core.EmptyStatus(), false, c.fail("Improbe", err)
	}
	if q == nil {
		return nil, core.EmptyStatus(), false, nil
	}
	return &Message{c: c, m: q}, q.Status(), true, nil
}

// Recv receives the message.
func (m *Message) Recv(buf Buffer) (Status, error) {
	if m != nil && m.c.seen() {
		return observed(m.c, "Mrecv", m.peer(), buf.Bytes(), func() (Status, error) { return m.irecv("Mrecv", buf).wait() })
	}
	return m.irecv("Mrecv", buf).wait()
}

// Irecv starts receiving the message.
func (m *Message) Irecv(buf Buffer) Request {
	if m != nil && m.c.seen() {
		return observedStart(m.c, "Imrecv", m.peer(), buf.Bytes(), func() Request { return m.irecv("Imrecv", buf) })
	}
	return m.irecv("Imrecv", buf)
}

// peer is the message's sender.
func (m *Message) peer() int {
	if m.m == nil {
		return ProcNull
	}
	return m.m.Status().Source
}

func (m *Message) irecv(op string, buf Buffer) Request {
	if m == nil || m.c == nil {
		return failedRequest(nil, op, &core.Error{Class: ErrRequest, Op: op, Peer: Undefined, Index: -1})
	}
	c := m.c
	if err := c.check(op); err != nil {
		return c.refused(op, err)
	}
	if err := checkBuffer(buf); err != nil {
		return c.refused(op, err)
	}
	if m.m == nil {
		return doneRequest(c, op, procNullStatus())
	}
	if !m.used.CompareAndSwap(false, true) {
		return failedRequest(c, op, c.badArg(op, ErrRequest, "the message has been received already"))
	}
	r := c.pml.Imrecv(m.m, buf)
	r.Op = op
	return Request{r.Handle(), c}
}

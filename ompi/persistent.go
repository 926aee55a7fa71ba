package ompi

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/pml"
)

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
	if c.seen() {
		return observedStart(c, op, dest, buf.Bytes(), func() Request { return c.sendInitUnseen(op, buf, dest, tag, mode) })
	}
	return c.sendInitUnseen(op, buf, dest, tag, mode)
}

func (c *Comm) sendInitUnseen(op string, buf Buffer, dest, tag int, mode pml.Mode) Request {
	if err := c.checkSend(op, buf, dest, tag); err != nil {
		return c.refused(op, err)
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
	if c.seen() {
		return observedStart(c, "Recv_init", source, buf.Bytes(), func() Request { return c.recvInit(buf, source, tag) })
	}
	return c.recvInit(buf, source, tag)
}

func (c *Comm) recvInit(buf Buffer, source, tag int) Request {
	const op = "Recv_init"
	if err := c.checkRecv(op, buf, source, tag); err != nil {
		return c.refused(op, err)
	}
	if source == ProcNull {
		return nullPersistent(c, op, procNullStatus())
	}
	r := c.pml.RecvInit(&c.c.P2P, buf, source, tag)
	r.Op = op
	return Request{r.Handle(), c}
}

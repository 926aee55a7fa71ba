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
	if c.seen() {
		return c.call(op, dest, buf.Bytes(), func() error { return c.sendUnseen(op, buf, dest, tag, mode) })
	}
	return c.sendUnseen(op, buf, dest, tag, mode)
}

func (c *Comm) sendUnseen(op string, buf Buffer, dest, tag int, mode pml.Mode) error {
	if err := c.checkSend(op, buf, dest, tag); err != nil {
		return c.refuse(op, err)
	}
	if dest == ProcNull {
		return nil
	}
	if err := c.pml.Send(&c.c.P2P, buf, dest, tag, mode); err != nil {
		return c.fail(op, err)
	}
	return nil
}

// The checks of arguments give an error that the error handler has not seen: whoever makes them hands it to refuse, and the call ends
// there, whatever the handler makes of it.

// refuse completes the error of a check.
func (c *Comm) refuse(op string, err error) error {
	if c == nil {
		return err
	}
	return c.fail(op, err)
}

// refused is refuse for calls that give a request.
func (c *Comm) refused(op string, err error) Request { return failedRequest(c, op, c.refuse(op, err)) }

// checkBuf is checkBuffer and the error handler's answer.
func (c *Comm) checkBuf(op string, buf Buffer) error {
	if err := checkBuffer(buf); err != nil {
		return c.fail(op, err)
	}
	return nil
}

func checkBuffer(buf Buffer) error {
	if err := buf.Err(); err != nil {
		return err
	}
	if buf.IsInPlace() {
		return core.NewError(ErrBuffer, "InPlace has no meaning here")
	}
	return nil
}

// check looks whether messages can be sent on c.
func (c *Comm) check(op string) error {
	switch {
	case c == nil:
		return c.usable(op)
	case c.inst.finalized.Load():
		return core.NewError(ErrOther, "called after Finalize")
	case c.pending.Load():
		return core.NewError(ErrComm, "the request that makes it is not complete")
	case c.freed.Load():
		return core.NewError(ErrComm, "it has been freed")
	}
	return nil
}

func (c *Comm) checkSend(op string, buf Buffer, dest, tag int) error {
	if err := c.check(op); err != nil {
		return err
	}
	if err := checkBuffer(buf); err != nil {
		return err
	}
	if dest != ProcNull && uint(dest) >= uint(c.size) {
		return c.noRank(dest)
	}
	return c.checkTag(tag, false)
}

func (c *Comm) noRank(rank int) error {
	err := core.NewError(ErrRank, "ranks of this communicator are 0 to %d", c.size-1)
	err.Peer = rank
	return err
}

func (c *Comm) checkTag(tag int, wild bool) error {
	if uint(tag) <= uint(c.tagUB) || (wild && tag == AnyTag) {
		return nil
	}
	return core.NewError(ErrTag, "tag %d; tags are 0 to %d", tag, c.tagUB)
}

func (c *Comm) checkRecv(op string, buf Buffer, source, tag int) error {
	if err := c.check(op); err != nil {
		return err
	}
	if err := checkBuffer(buf); err != nil {
		return err
	}
	return c.checkFrom(source, tag)
}

func (c *Comm) checkFrom(source, tag int) error {
	if source != ProcNull && source != AnySource && uint(source) >= uint(c.size) {
		return c.noRank(source)
	}
	return c.checkTag(tag, true)
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

func (c *Comm) recv(op string, buf Buffer, source, tag int) (Status, error) {
	if c.seen() {
		return observed(c, op, source, buf.Bytes(), func() (Status, error) { return c.recvUnseen(op, buf, source, tag) })
	}
	return c.recvUnseen(op, buf, source, tag)
}

func (c *Comm) recvUnseen(op string, buf Buffer, source, tag int) (Status, error) {
	if err := c.checkRecv(op, buf, source, tag); err != nil {
		return core.EmptyStatus(), c.refuse(op, err)
	}
	if source == ProcNull {
		return procNullStatus(), nil
	}
	st, err := c.pml.Recv(&c.c.P2P, buf, source, tag)
	if err != nil {
		err = c.fail(op, err)
		st.Err = err
	}
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
	if c.seen() {
		return observedStart(c, op, dest, buf.Bytes(), func() Request { return c.isendUnseen(op, buf, dest, tag, mode) })
	}
	return c.isendUnseen(op, buf, dest, tag, mode)
}

func (c *Comm) isendUnseen(op string, buf Buffer, dest, tag int, mode pml.Mode) Request {
	if err := c.checkSend(op, buf, dest, tag); err != nil {
		return c.refused(op, err)
	}
	if dest == ProcNull {
		return doneRequest(c, op, core.EmptyStatus())
	}
	r := c.pml.Isend(&c.c.P2P, buf, dest, tag, mode)
	r.Op = op
	return Request{r.Handle(), c}
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
	if c.seen() {
		return observedStart(c, "Irecv", source, buf.Bytes(), func() Request { return c.irecvUnseen(buf, source, tag) })
	}
	return c.irecvUnseen(buf, source, tag)
}

func (c *Comm) irecvUnseen(buf Buffer, source, tag int) Request {
	if err := c.checkRecv("Irecv", buf, source, tag); err != nil {
		return c.refused("Irecv", err)
	}
	if source == ProcNull {
		return doneRequest(c, "Irecv", procNullStatus())
	}
	r := c.pml.Irecv(&c.c.P2P, buf, source, tag)
	r.Op = "Irecv"
	return Request{r.Handle(), c}
}

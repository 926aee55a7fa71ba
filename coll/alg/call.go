package alg

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/pml"
)

// Call is one operation under way at one rank. Of its steps, Send, Recv, Exchange and Wait return when they are over; Isend and
// Irecv end with the next Wait. When it is recorded, a step is only written down, and when it is counted, not even that.
type Call struct {
	comm       *core.Comm // nil when counted
	ch         *core.Channel
	pml        pml.Module
	rank, size int // in the local group, of an intercommunicator
	peers      int // ranks of its remote group
	remote     bool
	tag        int
	args       Args
	ints       []int

	rec     *Schedule // recorded
	traffic *Traffic  // counted
	direct
}

// part is n elements of b from element first on. Of an empty part the address is b's own: that of its place may lie behind the end
// of the memory, where the garbage collector wants no pointer. A buffer of nothing, such as scratch memory that could not be had, has
// no parts elsewhere either.
func part(b core.Buffer, first, n int64) core.Buffer {
	if n == 0 || b.Count() == 0 {
		first = 0
	}
	return b.At(first, n)
}

// nothing is the message of no bytes.
func nothing() core.Buffer { return core.MakeBuffer(nil, 0, datatype.Byte) }

// sendable gives the zero Buffer a type.
func sendable(b core.Buffer) core.Buffer {
	if b.Type() == nil {
		return nothing()
	}
	return b
}

// send sends b and returns when it may be changed.
func (c *Call) send(b core.Buffer, dest int) {
	switch {
	case c.rec != nil:
		c.rec.add(Step{Kind: StepSend, Remote: c.remote, Buf: sendable(b), Peer: dest})
		c.rec.add(Step{Kind: StepWaitSend})
	case c.traffic != nil:
		c.traffic.count(b)
	default:
		c.sendDirect(b, dest)
	}
}

// recv receives into b.
func (c *Call) recv(b core.Buffer, source int) {
	if c.rec != nil {
		c.irecv(b, source)
		c.wait()
	} else if c.traffic == nil && !c.dead {
		_, err := c.pml.Recv(c.ch, sendable(b), source, c.tag)
		c.note(err)
	}
}

// isend starts sending b; wait ends it.
func (c *Call) isend(b core.Buffer, dest int) {
	switch {
	case c.rec != nil:
		c.rec.add(Step{Kind: StepSend, Remote: c.remote, Buf: sendable(b), Peer: dest})
	case c.traffic != nil:
		c.traffic.count(b)
	case !c.dead:
		r := c.pml.Isend(c.ch, sendable(b), dest, c.tag, pml.Standard)
		c.pending = append(c.pending, pending{h: r.Handle()})
	}
}

// irecv starts receiving into b; wait ends it.
func (c *Call) irecv(b core.Buffer, source int) {
	switch {
	case c.rec != nil:
		c.rec.add(Step{Kind: StepRecv, Remote: c.remote, Buf: sendable(b), Peer: source})
	case c.traffic == nil && !c.dead:
		r := c.pml.Irecv(c.ch, sendable(b), source, c.tag)
		c.pending = append(c.pending, pending{h: r.Handle(), recv: true})
	}
}

// quickSend is the size up to which a send beside a pending receive is made in one call, which the PML does faster than a request.
// Above it the send takes a handshake, which is better waited for together with the receive, and not for ever when a member has died: so
// it must be less than what BTLs send at once, which is 4 KiB with headers.
const quickSend = 4000

// exchange sends one buffer and receives another at the same time. Empty messages are exchanged, too.
func (c *Call) exchange(send core.Buffer, dest int, recv core.Buffer, source int) {
	c.irecv(recv, source)
	if send.Bytes() <= quickSend && c.rec == nil {
		c.send(send, dest)
	} else {
		c.isend(send, dest)
	}
	c.wait()
}

// wait ends everything started.
func (c *Call) wait() {
	switch {
	case c.rec != nil:
		c.rec.wait()
	case c.traffic == nil:
		c.waitDirect()
	}
}

// bytesOf is a buffer without gaps as bytes.
func bytesOf(b core.Buffer) core.Buffer { return core.MakeBuffer(b.Addr(), b.Bytes(), datatype.Byte) }

// copy moves the data of src to dst, whose types may differ but for their elements.
func (c *Call) copy(dst, src core.Buffer) {
	switch {
	case src.Bytes() == 0 || c.traffic != nil || c.dead:
	case c.rec != nil:
		c.rec.add(Step{Kind: StepCopy, Buf: dst, From: src})
	default:
		c.note(Copy(dst, src))
	}
}

// Copy moves the data of src to dst, whose types may differ but for their elements. What dst has no room for is ErrTruncate; the rest
// is there.
func Copy(dst, src core.Buffer) (err error) {
	n := src.Bytes()
	if n == 0 {
		return nil
	}
	if n > dst.Bytes() {
		err = core.NewError(core.ErrTruncate, "%d bytes of a rank's own data for a receive block of %d bytes", n, dst.Bytes())
		if dst.Bytes() == 0 {
			return err
		}
	}
	var from, to datatype.Convertor
	from.Prepare(src.Type(), src.Count(), src.Addr())
	to.Prepare(dst.Type(), dst.Count(), dst.Addr())
	datatype.Copy(&to, &from)
	return err
}

// apply computes inout = in op inout.
func (c *Call) apply(op *core.Op, in, inout core.Buffer) {
	switch {
	case c.rec != nil:
		c.rec.add(Step{Kind: StepApply, Op: op, Buf: inout, From: in})
	case c.traffic == nil && !c.dead:
		op.Apply(in.Addr(), inout.Addr(), inout.Count(), inout.Type())
	}
}

// displacements gives where blocks of the given counts begin when they lie one behind the other; displs itself if not nil.
func (c *Call) displacements(counts, displs []int) []int {
	if displs != nil {
		return displs
	}
	at := len(c.ints)
	sum := 0
	for _, n := range counts {
		c.ints = append(c.ints, sum)
		sum += n
	}
	return c.ints[at:]
}

package portals4

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/portals4/nal"
)

// ackBatch is how many plain acknowledgements a message carries at most.
const ackBatch = 12

// link is the way to another process, and what is under way on it.
type link struct {
	nal.Link
	i      *Interface
	proc   *core.Proc
	phys   Process
	dead   error
	eager  int // largest payload of a put or a reply that travels unasked
	body   int // largest fragment of a payload
	sent   uint16
	await  uint16 // number of the request that comes next
	greet  bool   // HELLO has come
	uid    uint32
	early  map[uint16][]byte // requests that overtook others
	held   int               // bytes of these
	acks   [ackBatch]uint32
	nacks  int
	aged   bool // the acknowledgements were there in the last pass
	acking bool
	busy   bool
	head   *out // messages that found no room, in order
	tail   *out
	queued int // how many
	moves  []*move
	same   bool  // the peer reaches this process by the same NAL, so that handles of memory mean something
	flows  *flow // payloads that are sent piece by piece

	sending int // messages that the NAL has
}

// Bounds of what a peer may have kept out of order.
const (
	earlyMax      = 4096
	earlyBytesMax = 64 << 20
)

// queuedMax bounds what waits for room to a peer: no more answers than it has operations under way, and as many operations of this process.
const queuedMax = 2 * (indexMask + 1)

// out is a message on its way out.
type out struct {
	btl.Frag
	l    *link
	next *out
	op   *op      // whose payload it carries: sent when it is out
	in   *arrival // likewise, of a target
	flow *flow
	buf  []byte // its own copy of the payload
}

// to gives the link to a rank, connecting it at the first call.
func (i *Interface) to(rank int) *link {
	if l := i.links[rank]; l != nil {
		return l
	}
	l := &link{i: i, proc: i.env.Procs[rank], phys: i.physical(rank)}
	i.links[rank] = l
	i.open = append(i.open[:len(i.open):len(i.open)], l)
	at, err := i.nals.Connect(l.proc)
	if err != nil {
		l.dead = err
		i.env.Upcalls.Say("portals4-unreached", err.Error()) // the event of an operation says Undeliverable, and not why
		i.failures = append(i.failures, failure{l.proc, err})
		return l
	}
	l.Link = *at
	if l.Inline == nil {
		l.MaxInline = 0
	}
	l.MaxInline = min(l.MaxInline, scratchSize)
	l.body = int(min(l.Limits.MaxSend, 1<<20)) - headMax
	l.eager = int(min(l.Limits.Eager, l.Limits.MaxSend)) - headMax
	if n := i.opt.Eager; n >= 0 {
		l.eager = int(min(int64(l.eager), n))
	}
	l.eager = max(l.eager, 0)
	i.hello(l)
	return l
}

func (i *Interface) hello(l *link) {
	o := i.newOut(l, tagHello, uint64(magic)|uint64(version)<<32, uint64(i.nodes[i.rank])|uint64(i.rank)<<32)
	binary.LittleEndian.PutUint32(o.Hdr[16:], i.uid)
	clear(o.Hdr[20 : 20+nalNameMax])
	copy(o.Hdr[20:20+nalNameMax], l.Name)
	o.HdrLen = 20 + nalNameMax
	i.send(o)
}

func (i *Interface) newOut(l *link, tag btl.Tag, w0, w1 uint64) *out {
	o := i.outs
	if o != nil {
		i.outs, o.next = o.next, nil
	} else {
		o = new(out)
		o.Frag.Owner = o
	}
	o.l, o.Tag, o.HdrLen, o.Len, o.Data = l, tag, btl.InlineHeader, 0, nil
	binary.LittleEndian.PutUint64(o.Hdr[:], w0)
	binary.LittleEndian.PutUint64(o.Hdr[8:], w1)
	return o
}

func (o *out) payload(b []byte) {
	o.Len = len(b)
	if len(b) > 0 {
		o.Data = unsafe.Pointer(unsafe.SliceData(b))
	}
}

// copied is payload for what does not last.
func (o *out) copied(b []byte) {
	o.buf = append(o.buf[:0], b...)
	o.payload(o.buf)
}

// send hands o to the NAL, or has it wait for room behind others.
func (i *Interface) send(o *out) {
	l := o.l
	switch {
	case l.dead != nil:
		i.gone(o, l.dead)
	case l.head != nil:
		l.enqueue(o)
	case !i.offer(o):
		l.enqueue(o)
	}
}

func (l *link) enqueue(o *out) {
	if l.tail != nil {
		l.tail.next = o
	} else {
		l.head = o
	}
	l.tail = o
	l.queued++
	l.wait()
}

// wait has the link looked at in the next passes.
func (l *link) wait() {
	if !l.busy {
		l.busy = true
		l.i.busy = append(l.i.busy, l)
		l.i.engine.Busy(1)
	}
}

// inline offers the NAL n bytes of i.scratch as a message; false: there was no room.
func (l *link) inline(tag btl.Tag, w0, w1 uint64, n int) bool {
	i := l.i
	i.inside++
	ok := l.Inline.SendInline(tag, w0, w1, unsafe.Pointer(&i.scratch), n)
	i.inside--
	return ok
}

// offer gives o to the NAL; false: there was no room.
func (i *Interface) offer(o *out) bool {
	l := o.l
	l.sending++
	i.inside++
	done, err := l.Send.Send(&o.Frag)
	i.inside--
	switch {
	case errors.Is(err, btl.ErrAgain):
		l.sending--
		return false
	case err != nil:
		l.sending--
		i.gone(o, err)
	case done:
		l.sending--
		i.gone(o, nil)
	}
	return true
}

// FragDone implements btl.Completer.
func (o *out) FragDone(_ *btl.Frag, err error) {
	i := o.l.i
	o.l.sending--
	i.gone(o, err)
	i.settle()
}

// gone ends a message that is out, or never will be.
func (i *Interface) gone(o *out, err error) {
	op, in, f, l := o.op, o.in, o.flow, o.l
	o.op, o.in, o.flow, o.l, o.Data = nil, nil, nil, nil, nil
	if cap(o.buf) > 64<<10 {
		o.buf = nil
	}
	o.next, i.outs = i.outs, o
	switch {
	case f != nil:
		f.flying--
		i.flowOn(f, err)
	case op != nil && op.live && op.link == l:
		i.opSent(op, err)
	case in != nil && in.live && in.l == l:
		i.replySent(in, err)
	}
}

// push offers what waits for room.
func (i *Interface) push() int {
	n := 0
	for k := 0; k < len(i.busy); {
		l := i.busy[k]
		for l.head != nil {
			o := l.head // out of the queue first: its end may bring others
			if l.head = o.next; l.head == nil {
				l.tail = nil
			}
			o.next = nil
			l.queued--
			n++
			if l.dead != nil {
				i.gone(o, l.dead)
			} else if !i.offer(o) {
				if o.next, l.head = l.head, o; l.tail == nil {
					l.tail = o
				}
				l.queued++
				n--
				break
			}
		}
		for r := len(l.moves); r > 0 && l.dead == nil; r-- {
			m := l.moves[0]
			l.moves = slices.Delete(l.moves, 0, 1) // few, and the array stays
			m.step()
			n++
		}
		if l.head == nil {
			n += i.pushFlows(l)
		}
		if l.head == nil && l.flows == nil && len(l.moves) == 0 {
			l.busy = false
			i.busy = append(i.busy[:k], i.busy[k+1:]...)
			i.engine.Busy(-1)
			continue
		}
		k++
	}
	i.settle()
	return n
}

// plain notes an acknowledgement that says nothing but that all went as asked.
func (i *Interface) plain(l *link, handle uint32) {
	if l.nacks == ackBatch {
		i.sendAcks(l)
	}
	l.acks[l.nacks] = handle
	l.nacks++
	if !l.acking {
		l.acking, l.aged = true, false
		i.acking = append(i.acking, l)
	}
}

// flushAcks sends the acknowledgements that no request has taken with it since the last pass.
func (i *Interface) flushAcks() int {
	n := 0
	for k := 0; k < len(i.acking); {
		l := i.acking[k]
		if l.nacks > 0 && !l.aged {
			l.aged = true
			k++
			n++ // nobody sleeps before they are gone
			continue
		}
		if l.nacks > 0 {
			i.sendAcks(l)
			n++
		}
		l.acking = false
		i.acking = append(i.acking[:k], i.acking[k+1:]...)
	}
	return n
}

func (i *Interface) sendAcks(l *link) {
	var b [4 * ackBatch]byte
	n := l.nacks
	l.nacks = 0
	if l.dead != nil {
		return
	}
	buf := i.scratch[:0]
	for _, h := range l.acks[:n] {
		buf = binary.LittleEndian.AppendUint32(buf, h)
	}
	if l.head == nil && len(buf) <= l.MaxInline && l.inline(tagAcks, 0, 0, len(buf)) {
		return
	}
	o := i.newOut(l, tagAcks, 0, 0)
	copy(b[:], buf)
	o.HdrLen += uint8(copy(o.Hdr[btl.InlineHeader:], b[:len(buf)]))
	i.send(o)
}

// garbage is a peer that cannot be trusted.
func (i *Interface) garbage(l *link, err error) {
	i.counts.garbage++
	i.failed(l, fmt.Errorf("rank %d sent %w", l.proc.Rank, err))
}

package ob1

import (
	"errors"
	"unsafe"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// Long messages. The receiver decides once it has matched, among what the first frame offers: it reads the sender's memory (RGET)
// and sends FIN, has its own written (PUT, answered by DONE), or sends ACK for the parts that it wants in fragments, which the
// sender streams. In transfer.go and put.go is what concerns reads and writes of memory.

type (
	rndvHandler struct{ o *module }
	rgetHandler struct{ o *module }
	ackHandler  struct{ o *module }
	fragHandler struct{ o *module }
	finHandler  struct{ o *module }
)

// Receive implements btl.Handler.
func (x *rndvHandler) Receive(peer int, hdr, payload []byte) {
	x.o.longArrived(peer, typeRndv, rndvSize, hdr, payload)
}

// Receive implements btl.Handler.
func (x *rgetHandler) Receive(peer int, hdr, payload []byte) {
	x.o.longArrived(peer, typeRget, rgetSize, hdr, payload)
}

func (o *module) longArrived(peer int, frame uint8, size int, hdr, payload []byte) {
	if len(hdr) != size {
		o.refuse(peer)
		return
	}
	h, x := parseMatch(hdr), parseRndv(hdr)
	if x.length < int64(len(payload)) {
		o.refuse(peer)
		return
	}
	m := o.arrived(peer, &h, frame, &x, payload)
	if m == nil {
		return
	}
	if r := m.posted.take(h.source, h.tag); r != nil {
		o.stats.Matches++
		o.beginLong(r, peer, frame, h.source, h.tag, x, payload)
		o.came(peer, costOf(int64(len(payload))))
	} else {
		o.wait(m, o.store(peer, &h, frame, &x, payload))
	}
	if rs := &m.ranks[h.source]; rs.held != nil {
		o.catchUp(m, rs)
	}
}

// beginLong: a receive has matched a long message of which payload has come.
func (o *module) beginLong(r *recvReq, from int, frame uint8, source, tag int32, x rndv, payload []byte) {
	o.tr.matched(r, source, tag, frame, x.length)
	r.Status.Source, r.Status.Tag = int(source), int(tag)
	if r.ch.fault != nil { // a probe had matched it before; its sender has given up
		r.FinishErr(r.ch.fault)
		return
	}
	p, err := o.connect(r.ch, int(source))
	if err != nil {
		r.FinishErr(err)
		return
	}
	r.peer, r.sendID, r.length, r.ext, r.again = p, x.sendID, x.length, x.ext, 0
	if frame == typeRndv {
		r.again = x.flags & flagAgain
	}
	r.want = min(x.length, r.room)
	if err := o.distrust(r, &x.ext, x.length); err != nil {
		r.Status.Err, r.want = err, 0
	} else if frame == typeRndv && x.ext.summed {
		if err := o.check(r, &x.ext, x.ext.sum, payload, x.length); err != nil {
			r.Status.Err, r.want = err, 0
		}
	}
	r.got = 0
	if r.want > 0 {
		r.conv.PrepareFor(r.Buf.Type(), r.Buf.Count(), r.Buf.Addr(), x.ext.arch)
		r.isFlat = r.isFlat && !r.conv.Converts()
	}
	if n := min(int64(len(payload)), r.want); n > 0 {
		r.conv.Unpack(payload[:n])
		r.got = n
	}
	r.proto = protoRndv
	switch {
	case r.got == r.want:
		o.stats.Received[protoRndv]++
		if frame == typeRget {
			o.sendFin(r)
		} else {
			o.sendAck(r, r.got, 0, 0)
		}
		o.endLong(r)
	case frame == typeRget:
		equal, whole := o.mayRead(r, &x.ext)
		switch {
		case !equal:
			o.stats.CopyFallback++
			o.copyRest(r, flagNoGet)
		case p.path.Get == nil || p.ep.Reduced:
			o.copyRest(r, flagNoGet)
		case !whole || !r.isFlat:
			o.copyRest(r, 0)
		default:
			o.beginGet(r, &x)
		}
	case x.flags&flagPut != 0:
		o.beginPut(r, &x)
	default:
		o.copyRest(r, 0)
	}
}

// sendAck asks for length bytes at offset; 0: the message is matched and nothing more is wanted.
func (o *module) sendAck(r *recvReq, offset, length int64, flags uint8) {
	c := o.newCtl(r.peer)
	putAck(&c.frag, ack{flags: flags | r.again, sendID: r.sendID, recvID: r.id, offset: offset, length: length})
	o.sendCtl(c)
}

// endLong completes a receive whose bytes are all there.
func (o *module) endLong(r *recvReq) {
	r.unname()
	r.Status.SetBytes(r.got)
	o.stats.ReceivedBytes[r.proto] += uint64(r.got)
	if r.Status.Err == nil && r.length > r.room {
		r.Status.Err = truncated(r, r.length)
	}
	r.peer, r.path = nil, nil
	r.Finish()
}

// Receive implements btl.Handler: the receiver has matched, or cannot read this rank's memory.
func (x *ackHandler) Receive(peer int, hdr, _ []byte) {
	o := x.o
	if len(hdr) != ackSize {
		o.refuse(peer)
		return
	}
	a := parseAck(hdr)
	s := o.ids.send(a.sendID)
	if s == nil || s.peer.proc.Rank != peer || !s.waits(a.recvID) || (a.flags&flagAgain != 0 && !s.resent) || a.offset < 0 || a.length < 0 || a.offset > s.total || a.length > s.total-a.offset {
		o.refuse(peer)
		return
	}
	if a.length == 0 {
		if s.state == sendStream {
			o.refuse(peer)
			return
		}
		p, rich := s.peer, s.cheaper(a.flags)
		if o.matched(s, "ACK came"); rich {
			o.feed(p, anyContext)
		}
		return
	}
	if !s.ask(a.flags, a.offset, a.length) {
		o.refuse(peer)
		return
	}
	if a.flags&flagNoGet != 0 && (s.proto == protoRget || s.proto == protoCoop) {
		noGet(s.path, s.mem)
		o.resolve(s.peer)
	}
	if a.flags&flagNoPut != 0 && (s.proto == protoPut || s.proto == protoPipeline) {
		s.path.NoPut = true
		o.resolve(s.peer)
	}
	p, rich := s.peer, s.answered(a.flags, a.recvID, "ACK came: fragments")
	s.later(a.offset, a.length)
	if s.advance(); rich {
		o.feed(p, anyContext)
	}
}

// waits reports whether the receiver may speak of s now: it knows of the message, and has not said all. recvID is how it calls its
// receive.
func (s *sendReq) waits(recvID uint64) bool {
	switch s.state {
	case sendOut:
		return !s.ended
	case sendRndv:
		return true
	case sendStream:
		return s.recvID == recvID && s.failure == nil && !s.whole()
	}
	return false
}

// advance goes on with a stream after an event.
func (s *sendReq) advance() {
	o := s.o
	if s.failure != nil {
		o.sendFailed(s, s.failure)
		return
	}
	if s.item.list != nil {
		return // it waits for room and will be offered again
	}
	done, err := s.stream()
	if err != nil {
		o.sendFailed(s, err)
	} else if !done {
		o.out.add(s.peer, &s.item)
	}
}

// matched: the receiver has all it wants.
func (o *module) matched(s *sendReq, stage string) {
	o.tr.answered(s, stage)
	if s.state == sendOut {
		s.ended = true
		return
	}
	o.finishSend(s)
}

// dataFrag is a fragment of a stream that its BTL did not take at once.
type dataFrag struct {
	btl.Frag
	s    *sendReq
	path *bml.Path
	conv datatype.Convertor
	next *dataFrag
}

func (o *module) newFrag(s *sendReq) *dataFrag {
	f := o.frags
	if f == nil {
		f = new(dataFrag)
		f.Owner = f
	} else {
		o.frags = f.next
	}
	f.s = s
	f.Sent = 0
	o.nFree.frags++
	return f
}

func (o *module) freeFrag(f *dataFrag) {
	f.s, f.path, f.Data, f.Conv = nil, nil, nil, nil
	f.next = o.frags
	o.frags = f
	o.nFree.frags--
}

// FragDone implements btl.Completer.
func (f *dataFrag) FragDone(_ *btl.Frag, err error) {
	s, path := f.s, f.path
	_, off := parseFrag(f.Hdr[:])
	at := span{off, off + int64(f.Len)}
	o := s.o
	o.freeFrag(f)
	s.pending--
	if err != nil {
		if path.Meter != nil {
			path.Meter.Refused(at.end - at.off)
		}
		o.fragInDoubt(s, path, at, err)
		return
	}
	if path.Meter != nil && path.Meter.Done(at.end-at.off) {
		s.peer.ep.Measured()
	}
	s.advance()
}

// stream sends fragments until all have gone, there is no room (done false), or enough are under way.
func (s *sendReq) stream() (done bool, err error) {
	o := s.o
	flat, ep := s.conv.IsContiguous(), s.peer.ep
	tried, full := uint64(0), false
	var broken error
	for {
		todo := s.nextSpan()
		if todo.off >= todo.end {
			break
		}
		if s.pending >= o.opt.Depth {
			return true, nil
		}
		k := ep.NextBulk(todo.end-todo.off, tried)
		if k < 0 {
			if full {
				return false, nil
			}
			return false, broken
		}
		path := ep.Bulk[k]
		n := min(todo.end-todo.off, path.Limits.MaxSend-fragSize-o.extraFrag())
		f := o.newFrag(s)
		f.path = path
		putFrag(&f.Frag, s.recvID, todo.off)
		if o.opt.Checksum {
			o.extendFrag(&f.Frag, s, todo.off, n)
		}
		f.Len = int(n)
		if flat {
			f.Data, f.Conv = s.conv.BlockAt(todo.off), nil
		} else {
			f.conv = s.conv
			f.conv.SetPosition(todo.off)
			f.Data, f.Conv = nil, &f.conv
		}
		if path.Meter != nil {
			path.Meter.Offer(n)
		}
		sent, err := path.Send.Send(&f.Frag)
		if err != nil {
			o.freeFrag(f)
			if path.Meter != nil {
				path.Meter.Refused(n)
			}
			if errors.Is(err, btl.ErrAgain) {
				full = true
			} else {
				broken = err
			}
			tried |= 1 << k // another may have room, or not be broken
			continue
		}
		ep.Took(path, n)
		path.Counts.Sent++
		path.Counts.Bytes += uint64(n)
		s.spanSent(n)
		o.tr.fragment(s, n)
		if sent {
			o.freeFrag(f)
			if path.Meter != nil && path.Meter.Done(n) {
				ep.Measured()
			}
			continue
		}
		s.pending++
	}
	if s.pending == 0 && s.writings == nil && s.state == sendStream && s.whole() {
		o.finishSend(s)
	}
	return true, nil
}

// later has a range go in fragments when those before it have gone.
func (s *sendReq) later(off, n int64) {
	if k := len(s.todo); k > 0 && s.todo[k-1].end == off {
		s.todo[k-1].end += n
		return
	}
	s.todo = append(s.todo, span{off, off + n})
}

// turn takes up the next range that goes in fragments.
func (s *sendReq) turn() bool {
	if len(s.todo) == 0 {
		return false
	}
	s.next, s.end = s.todo[0].off, s.todo[0].end
	s.todo = s.todo[:copy(s.todo, s.todo[1:])]
	return true
}

// Receive implements btl.Handler: a fragment of a long message.
func (x *fragHandler) Receive(peer int, hdr, payload []byte) {
	o := x.o
	r, off := o.fragFor(peer, hdr, len(payload))
	if r == nil {
		o.refuse(peer)
		return
	}
	if !r.has(off, len(payload)) {
		r.conv.SetPosition(off)
		r.conv.Unpack(payload)
	}
	o.fragCame(r, off, len(payload))
}

// fragFor finds the receive that a fragment of n bytes belongs to, nil when it names none or lies outside of what was asked for.
func (o *module) fragFor(peer int, hdr []byte, n int) (*recvReq, int64) {
	if len(hdr) != fragSize {
		return nil, 0
	}
	id, off := parseFrag(hdr)
	r := o.ids.recv(id)
	if r == nil || r.peer.proc.Rank != peer || r.proto == protoRget || r.proto == protoCoop || off < 0 || off > r.want || int64(n) > r.want-off ||
		(!r.once && int64(n) > r.want-r.got-r.coming) {
		return nil, 0
	}
	return r, off
}

// has reports whether all of a fragment has come before.
func (r *recvReq) has(off int64, n int) bool {
	return r.once && n > 0 && r.have.covers(off, off+int64(n))
}

// came counts n bytes that are in place.
func (r *recvReq) came(off, n int64) {
	if r.once {
		r.got += r.have.add(off, off+n)
	} else {
		r.got += n
	}
}

// fragCame counts a fragment. The buffer is the user's again when nothing is missing and nobody writes there.
func (o *module) fragCame(r *recvReq, off int64, n int) {
	r.came(off, int64(n))
	o.endWhole(r)
}

// Place implements btl.Placer: where the payload of a fragment belongs, when that is one block of memory.
func (x *fragHandler) Place(peer int, hdr []byte, n int) []byte {
	r, off := x.o.fragFor(peer, hdr, n)
	if r == nil || !r.isFlat || n == 0 || r.over || r.has(off, n) {
		return nil
	}
	r.placing++
	r.coming += int64(n)
	return unsafe.Slice((*byte)(unsafe.Add(r.Buf.Addr(), off)), n)
}

// Placed implements btl.Placer.
func (x *fragHandler) Placed(peer int, hdr []byte, n int, err error) {
	o := x.o
	id, off := parseFrag(hdr)
	r := o.ids.recv(id)
	if r == nil || r.peer.proc.Rank != peer || r.placing == 0 {
		return
	}
	r.placing--
	r.coming -= int64(n)
	switch {
	case r.over:
		o.endWhenFree(r)
	case err == nil:
		o.fragCame(r, off, n)
	default: // it comes again over another path, or the endpoint's failure ends the receive
		o.fragCame(r, off, 0)
	}
}

// Receive implements btl.Handler: the receiver has read this rank's memory.
func (x *finHandler) Receive(peer int, hdr, _ []byte) {
	o := x.o
	if len(hdr) != finSize {
		o.refuse(peer)
		return
	}
	id, n := parseFin(hdr)
	s := o.ids.send(id)
	if s == nil || s.peer.proc.Rank != peer || !s.waits(0) || (s.proto != protoRget && s.proto != protoCoop) || s.state == sendStream || n < 0 || n > s.total {
		o.refuse(peer)
		return
	}
	o.matched(s, "FIN came")
}

var _ core.Operation = (*sendReq)(nil)

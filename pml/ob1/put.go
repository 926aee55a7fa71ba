package ob1

import (
	"errors"
	"unsafe"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/trace"
)

// The sender's half of put and pipeline. PUT names a range of the message and memory of the receiver; the sender writes the one
// to the other, and answers with DONE in any case, also when the send is long over: the receiver keeps the memory for as long as
// it may be written. A range that cannot be written goes in fragments, it alone.

// writing is a range on its way to the receiver's memory.
type writing struct {
	btl.Transfer
	o      *module
	s      *sendReq
	path   *bml.Path
	item   outItem // place among what waits for room
	recvID uint64
	off    int64 // of the range in the message
	pinned bool  // Mem was registered for this range alone
	mark   trace.Mark
	next   *writing
}

type putHandler struct{ o *module }

// Receive implements btl.Handler: the receiver names memory for a range.
func (x *putHandler) Receive(peer int, hdr, _ []byte) {
	o := x.o
	if len(hdr) != putSize {
		o.refuse(peer)
		return
	}
	p := parsePut(hdr)
	if p.offset < 0 || p.length <= 0 {
		o.refuse(peer)
		return
	}
	s := o.ids.send(p.sendID)
	if s != nil && s.writes(p.recvID, p.offset) {
		o.refuse(peer) // it came twice, and is answered when it is over
		return
	}
	if s == nil || s.peer.proc.Rank != peer || s.failure != nil {
		o.refuse(peer)
		if q := o.peers[peer]; q != nil && q.proc.Failed() == nil {
			o.answer(q, done{flags: flagFailed, recvID: p.recvID, offset: p.offset, length: p.length})
		}
		return
	}
	if (s.proto != protoPut && s.proto != protoPipeline) || !s.waits(p.recvID) || (p.flags&flagAgain != 0 && !s.resent) || !s.ask(p.flags, p.offset, p.length) {
		o.refuse(peer)
		return
	}
	to, rich := s.peer, s.answered(p.flags, p.recvID, "PUT came")
	w := o.newWriting(s)
	w.recvID, w.off = p.recvID, p.offset
	w.Transfer = btl.Transfer{Owner: w, Local: unsafe.Add(s.Buf.Addr(), p.offset), N: p.length, Remote: p.handle}
	if err := w.pin(); err != nil {
		w.over(btl.ErrNotSupported, false)
	} else {
		w.begin(true)
	}
	if rich {
		o.feed(to, anyContext)
	}
}

// writes reports whether a range of this receive is being written.
func (s *sendReq) writes(recvID uint64, off int64) bool {
	for w := s.writings; w != nil; w = w.next {
		if w.recvID == recvID && w.off == off {
			return true
		}
	}
	return false
}

// pin sees to it that the local memory is registered.
func (w *writing) pin() (err error) {
	s := w.s
	switch {
	case w.path.Reg == nil:
	case s.proto == protoPut: // the whole message is
		w.Mem, w.MemOff = s.mem, w.off
	default:
		mark := w.o.tr.transferBegin(s.life, traceRegister, w.N)
		w.Mem, err = w.path.Reg.Register(w.Local, w.N)
		w.o.tr.transferEnd(mark)
		w.pinned = err == nil
	}
	return err
}

// begin offers the range to the BTL.
func (w *writing) begin(first bool) {
	if w.path.Put == nil || w.s.peer.ep.Reduced { // what the receiver has named may be of a path that is lost
		w.over(btl.ErrNotSupported, false)
		return
	}
	w.mark = w.o.tr.transferBegin(w.s.life, tracePut, w.N)
	taken, err := w.path.Put.Put(&w.Transfer)
	switch {
	case errors.Is(err, btl.ErrAgain):
		w.o.tr.transferEnd(w.mark)
		w.o.out.hold(&w.item, first)
	case err != nil || taken:
		w.over(err, true)
	}
}

// TransferDone implements btl.Transferrer.
func (w *writing) TransferDone(_ *btl.Transfer, err error) { w.over(err, true) }

// over: the range has been written, or it goes another way. tried tells that the BTL said so.
func (w *writing) over(err error, tried bool) {
	o, s, path := w.o, w.s, w.path
	if tried {
		o.tr.transferEnd(w.mark)
	}
	d, id := done{recvID: w.recvID, offset: w.off, length: w.N}, s.id
	lasting := errors.Is(err, btl.ErrNotSupported)
	switch {
	case s.failure != nil:
		d.flags = flagFailed
	case err == nil:
		path.Counts.Puts++
		path.Counts.PutBytes += uint64(w.N)
		if o.opt.Checksum {
			d.flags, d.sum = flagSum, datatype.Sum(0, unsafe.Slice((*byte)(w.Local), w.N))
		}
	default:
		d.flags = flagFailed
		o.stats.CopyFallback++
		s.later(w.off, w.N)
		if lasting && tried {
			path.NoPut = true
			o.resolve(s.peer)
		}
	}
	o.freeWriting(w)
	peer := s.peer
	if o.answer(peer, d); s.id == id { // else the answer's sending has found that the peer is dead
		s.advance()
	}
}

func (o *module) answer(p *peer, d done) {
	c := o.newCtl(p)
	putDone(&c.frag, d)
	o.sendCtl(c)
}

// dropWritings gives up the ranges of a send that has failed, but for those that a BTL has.
func (s *sendReq) dropWritings() {
	o, peer := s.o, s.peer
	for w := s.writings; w != nil; {
		if w.item.list == nil {
			w = w.next
			continue
		}
		d := done{flags: flagFailed, recvID: w.recvID, offset: w.off, length: w.N}
		o.freeWriting(w)
		if peer.proc.Failed() == nil {
			o.answer(peer, d)
		}
		w = s.writings // the answer's sending may have found that the peer is dead, which has come here, too
	}
}

func (o *module) newWriting(s *sendReq) *writing {
	w := o.writings
	if w == nil {
		w = &writing{o: o}
		w.item.w = w
	} else {
		o.writings = w.next
	}
	w.s, w.path, w.pinned = s, s.path, false
	w.next, s.writings = s.writings, w
	s.underWay++
	o.nFree.moves++
	return w
}

// freeWriting takes a range off its send's list.
func (o *module) freeWriting(w *writing) {
	o.out.drop(&w.item)
	if w.pinned {
		w.path.Reg.Deregister(w.Mem)
	}
	at := &w.s.writings
	for *at != w {
		at = &(*at).next
	}
	*at = w.next
	w.s.underWay--
	w.s, w.path, w.Local = nil, nil, nil
	w.next, o.writings = o.writings, w
	o.nFree.moves--
}

// ask takes note that the receiver asks for a range. It reports false when the range is not the send's to give, was asked for before, or is
// one of more than any receiver asks for at a time.
func (s *sendReq) ask(flags uint8, off, n int64) bool {
	last, from := flags&flagMore == 0, s.head
	if flags&flagAgain != 0 {
		from = 0
	}
	switch {
	case len(s.todo) >= maxSpans && n < leastSpan, s.underWay == maxSpans, off < from || off > s.total || n > s.total-off,
		s.want >= 0 && (last || off+n > s.want),
		last && s.asked.end() > off+n:
		return false
	}
	if !s.asked.add(off, n) {
		return false
	}
	if last {
		s.want = off + n
	}
	return true
}

// whole reports whether the receiver has asked for all that it wants.
func (s *sendReq) whole() bool {
	return s.want >= 0 && s.asked.bytes == s.want-s.head
}

// answered: the receiver has matched, and asks for parts of the message. It reports whether peers that starve may be fed now.
func (s *sendReq) answered(flags uint8, recvID uint64, stage string) (rich bool) {
	if s.state == sendStream {
		return false
	}
	s.pending = 0
	if s.state == sendOut {
		s.pending = 1 // the first fragment
	}
	s.state, s.recvID, s.next, s.end = sendStream, recvID, 0, 0
	s.o.tr.answered(s, stage)
	return s.cheaper(flags)
}

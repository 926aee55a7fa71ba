package ob1

import (
	"errors"
	"slices"
	"unsafe"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// Messages whose path breaks under them. What a BTL gives back with an error has come or has not; so it is sent again over another
// path, and the receiver takes everything once:
//
//   - a message that was sent whole goes whole again, and a second one of its number is refused. Where it does not fit the other path,
//     it becomes a rendezvous;
//   - of an announced message, the announcement goes again, without data, and as RNDV whatever it was: memory is named to one BTL. It
//     keeps its name, so that the answer to either may come;
//   - a fragment's bytes are sent again, in pieces as the other path wants them, and counted once (ranges.go);
//   - a message of which a part lies in a receive's buffer already is placed from its beginning.
//
// A rendezvous that is sent again and refused for its number may be one that has come whole: then the receiver says that nothing more
// is wanted, which flagAgain has it do. Answers say which of the two they answer, since what the first brought, and cost, the second does
// not.

// flagAgain on RNDV: sent before, perhaps as another frame. On ACK and PUT: the answer to that.
const flagAgain = 0x80

// firstInDoubt sends the first fragment of s again, which a BTL has given back.
func (o *module) firstInDoubt(s *sendReq, err error) {
	if m := s.ch; s.failure == nil && o.chans[m.id] != m && !m.inner() && m.comm.Fault() == nil {
		s.firstDone() // the communicator is settled and freed: it has come, and again it would come to the next one of the number
		return
	}
	if s.failure != nil || s.ch.fault != nil || o.closed || !s.peer.survives(s.via) {
		o.sendFailed(s, err)
		return
	}
	s.again = true
	done, err := s.pushAgain()
	if err != nil {
		o.sendFailed(s, err)
	} else if !done {
		o.out.add(s.peer, &s.item)
	}
}

// pushAgain offers the first fragment to the paths but the one that gave it back. While it waits for room, the answer to what was sent
// first may still come.
func (s *sendReq) pushAgain() (done bool, err error) {
	o, p := s.o, s.peer
	err = errNoOtherPath
	for i := -1; i < len(p.ep.Bulk); i++ {
		path := p.path
		if i >= 0 {
			path = p.ep.Bulk[i]
		}
		if path == s.via || (i >= 0 && path == p.path) {
			continue
		}
		o.refit(s, path)
		sent, e := path.Send.Send(&s.frag)
		if errors.Is(e, btl.ErrAgain) {
			return false, nil
		}
		if e != nil {
			err = e
			continue
		}
		o.stats.Again++
		path.Counts.Sent++
		path.Counts.Bytes += uint64(s.frag.Len)
		s.via, s.again, s.state = path, false, sendOut
		if sent {
			s.firstDone()
		}
		return true, nil
	}
	return false, err
}

var errNoOtherPath = errors.New("no other path to the peer is left")

// refit fills the first fragment of s for a path over which it goes again.
func (o *module) refit(s *sendReq, path *bml.Path) {
	f, l := &s.frag, o.limitsOf(s.peer.ep, path)
	h0, h1 := le.Uint64(f.Hdr[0:])&^0xff, le.Uint64(f.Hdr[8:])
	f.Len, f.Data, f.Conv, f.Sent = 0, nil, nil, 0
	frame := uint8(typeMatch)
	if s.id == 0 && s.total <= l.eager {
		f.Len = int(s.total)
	} else {
		if s.id == 0 {
			s.id, s.proto = o.ids.add(s, nil), protoRndv
		}
		frame = typeRndv
		h0 |= flagAgain << 8
		s.resent = true
	}
	putMatch(f, h0, h1)
	if frame == typeRndv {
		putRndv(f, s.total, s.id)
	}
	f.Hdr[0], f.Tag = frame, tagOf(int(frame))
	if s.total > 0 {
		s.conv.Prepare(s.Buf.Type(), s.Buf.Count(), s.Buf.Addr())
	}
	switch {
	case f.Len == 0:
	case s.Buf.Type().Contiguous():
		f.Data = s.Buf.Addr()
	default:
		f.Conv = &s.conv
	}
	if o.extends {
		proto := s.proto
		if frame == typeRndv {
			s.proto = protoRndv // an offer of memory would be summed as a whole
		}
		o.extendFirst(s)
		s.proto = proto
	}
}

// fragInDoubt has bytes of a stream sent again, which a BTL has given back.
func (o *module) fragInDoubt(s *sendReq, path *bml.Path, at span, err error) {
	if s.failure != nil || s.ch.fault != nil || o.closed || !s.peer.survives(path) {
		o.sendFailed(s, err)
		return
	}
	o.stats.Again++
	s.redo = append(s.redo, at)
	s.advance()
}

// nextSpan is what a stream has to send next, empty when everything is on its way.
func (s *sendReq) nextSpan() span {
	if n := len(s.redo); n > 0 {
		return s.redo[n-1]
	}
	if s.next == s.end {
		s.turn()
	}
	return span{s.next, s.end}
}

// spanSent takes the first n bytes off nextSpan.
func (s *sendReq) spanSent(n int64) {
	k := len(s.redo) - 1
	switch {
	case k < 0:
		s.next += n
	case s.redo[k].off+n == s.redo[k].end:
		s.redo = s.redo[:k]
	default:
		s.redo[k].off += n
	}
}

// Reclaim implements btl.Reclaimer: an inline message, which is over for its sender, may not have come.
func (x *matchHandler) Reclaim(peer int, hdr, payload []byte) {
	o := x.o
	p, h := o.peers[peer], parseMatch(hdr)
	if p == nil || o.closed || p.proc.Failed() != nil || int(h.ctx) >= len(o.chans) || o.chans[h.ctx] == nil {
		return
	}
	m := o.chans[h.ctx]
	dest := m.comm.RankOf(peer)
	if dest < 0 || m.fault != nil || int16(h.seq-m.ranks[dest].sendSeq) >= 0 {
		return // it was for a communicator before this one, and has come
	}
	mem := append(make([]byte, 0, len(payload)+1), payload...)
	s := o.newSend()
	s.Renew(m.comm, "", dest, core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(mem)), int64(len(mem)), datatype.Byte))
	s.own = true
	s.ch, s.dest, s.tag, s.mode = m, dest, h.tag, 0
	s.peer, s.path, s.via = p, p.path, nil
	s.total, s.id, s.pending, s.ended, s.failure, s.redo = int64(len(mem)), 0, 0, false, nil, s.redo[:0]
	s.want, s.todo, s.head, s.resent, s.cost = -1, s.todo[:0], 0, false, costOf(int64(len(payload)))
	s.asked.reset()
	s.proto, s.state = protoEager, sendRndv
	s.item.s = s
	copy(s.frag.Hdr[:], hdr)
	o.firstInDoubt(s, errNoOtherPath)
}

// complete ends a send.
func (s *sendReq) complete() {
	s.state, s.again = sendIdle, false
	own := s.own
	s.own = false
	s.Finish()
	if own {
		s.o.freeSend(s)
	}
}

// cut is a receive whose message a BTL has placed in part: the rest will not come that way.
type cut struct {
	seq uint16
	r   *recvReq
}

// cutOff keeps a receive until its message comes again. Credit is given back for that one: the sender takes what they differ by himself.
func (o *module) cutOff(rs *rankState, seq uint16, r *recvReq) {
	if s := rs.spare; s != nil {
		rs.spare = nil
		o.credit.pays(s)
		o.deliverMsg(r, s)
		return
	}
	rs.cut = append(rs.cut, cut{seq, r})
}

// wholeNow drops the second copy of a message of which the first has come after all.
func (o *module) wholeNow(rs *rankState) {
	s := rs.spare
	if s == nil {
		return
	}
	rs.spare = nil
	if s.frame != typeMatch {
		o.sayComplete(s.ch, int(s.source), s.sendID)
	}
	o.freeMsg(s)
}

// comesAgain takes a message whose number has come before.
func (o *module) comesAgain(m *channel, peer int, h *match, frame uint8, x *rndv, payload []byte) {
	rs := &m.ranks[h.source]
	for i, c := range rs.cut {
		if c.seq == h.seq {
			rs.cut = slices.Delete(rs.cut, i, i+1)
			o.deliverMsg(c.r, o.store(peer, h, frame, x, payload))
			return
		}
	}
	o.refuse(peer)
	switch {
	case rs.placing != nil && rs.placingSeq == h.seq:
		if rs.spare == nil { // the first may break off yet, else it pays
			rs.spare = o.store(peer, h, frame, x, payload)
			o.credit.exempt(rs.spare)
			rs.spare.ch = m
		}
	case frame == typeRndv && h.flags&flagAgain != 0 && !o.announced(m, rs, peer, x.sendID):
		o.sayComplete(m, int(h.source), x.sendID)
	}
}

// sayComplete tells a sender that nothing more is wanted of a message.
func (o *module) sayComplete(m *channel, source int, sendID uint64) {
	p, err := o.connect(m, source)
	if err != nil {
		return
	}
	c := o.newCtl(p)
	putAck(&c.frag, ack{sendID: sendID})
	o.sendCtl(c)
}

// announced reports whether a rendezvous is known and will be answered when its time comes.
func (o *module) announced(m *channel, rs *rankState, peer int, sendID uint64) bool {
	for i := range o.ids.slots {
		if r := o.ids.slots[i].recv; r != nil && r.sendID == sendID && r.peer.proc.Rank == peer {
			return true
		}
	}
	is := func(s *message) bool { return s.from == peer && s.frame != typeMatch && s.sendID == sendID }
	for e := m.unexp.all.head; e != nil; e = e.next {
		if is(e.msg) {
			return true
		}
	}
	for e := m.unexp.pairs.head; e != nil; e = e.next {
		if is(e.msg) {
			return true
		}
	}
	for s := rs.held; s != nil; s = s.next {
		if is(s) {
			return true
		}
	}
	return slices.ContainsFunc(m.taken, is)
}

// endCut ends the receives that wait for a message to come again.
func (o *module) endCut(rs *rankState, err *core.Error) {
	if s := rs.spare; s != nil {
		rs.spare = nil
		o.freeMsg(s)
	}
	all := rs.cut
	rs.cut = nil
	for _, c := range all {
		c.r.FinishErr(err)
	}
}

var _ btl.Reclaimer = (*matchHandler)(nil)

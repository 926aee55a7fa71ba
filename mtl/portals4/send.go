package portals4

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mtl"
	ptl "github.com/ompi-go/ompi-go/portals4"
)

// sendReq is a message from the call that sends it until its receiver has it. That of a short message outlives the user's request, since
// the receiver may refuse it.
type sendReq struct {
	r    *mtl.Request // nil: the user has been told the end
	x    *channel
	p    *peer
	data []byte  // the message
	buf  *buffer // where data lies, if it is not the user's memory
	bits uint64  // without protocol
	seq  uint64  // of the messages to p
	id   uint32
	sync bool

	proto   uint64    // of the last try
	part    int       // bytes of the message in the put
	entry   ptl.Entry // where the message can be got, or its receiver tells that it has matched
	exposed bool      // entry is linked
	armed   ptl.Entry // for the get of a receive that has armed one: see triggered.go
	keyed   bool      // armed is linked
	flying  bool      // the put's ACK is to come
	queued  bool
	come    bool        // the put was taken
	matched bool        // the receiver has all that it wants
	over    bool        // the user has been told the end, and the ACK frees it
	err     *core.Error // its end, when the ACK has come

	at   int // in module.sends
	next *sendReq
}

// TrySend implements mtl.Module: short messages are copied and kept until the receiver has taken them.
func (m *module) TrySend(ch *core.Channel, buf core.Buffer, dest, tag int) bool {
	n := buf.Bytes()
	if n > m.opt.ShortLimit {
		return false
	}
	p := m.peerOf(ch, dest)
	x := m.chans[ch.ID]
	t, ok := m.split.tagBits(tag)
	if !ok || x == nil || !p.reached || !m.clear(p) || p.poor > 0 || p.proc.Failed() != nil || m.broken != nil || ch.Comm.Fault() != nil {
		return false
	}
	if !m.credit.affords(p, int(n)) {
		if p.proc.Rank != m.me || p.heads <= 0 { // what one sends to oneself may wait for a receive that comes later, and is announced from the copy
			return false
		}
	} else if m.quick(p, x, t, buf, int(n)) {
		return true
	}
	s := m.newSend(x, p, t)
	if n > 0 {
		m.copyIn(s, buf, int(n))
	}
	m.launch(s)
	return true
}

// clear reports whether a message to p may go now.
func (m *module) clear(p *peer) bool {
	return m.slots > 0 && p.q.head == nil && m.rec.state == recIdle && !p.delayed
}

// Send implements mtl.Module.
func (m *module) Send(r *mtl.Request) {
	p := m.peerOf(r.Ch, r.Peer)
	x := m.chans[r.Ch.ID]
	t, ok := m.split.tagBits(r.Tag)
	n := r.Buf.Bytes()
	var err *core.Error
	switch {
	case !ok:
		err = m.split.tagError(r.Tag)
	case n > maxLength:
		err = core.NewError(core.ErrCount, "mtl portals4: a message of %d bytes; %d bits of hdr_data have room for %d", n, idShift, int64(maxLength))
	default:
		err = m.refusal(r.Ch, x, p)
	}
	if err != nil {
		r.Owner.Done(r, core.EmptyStatus(), err)
		return
	}
	s := m.newSend(x, p, t)
	s.r, s.sync = r, r.Sync
	r.Priv = s
	short := n <= m.opt.ShortLimit
	if n > 0 {
		var conv datatype.Convertor
		mem, whole := block(r.Buf, &conv)
		switch {
		case !whole:
			s.buf = m.pools.get(int(n))
			s.data = s.buf.mem[:n]
			conv.Pack(s.data)
		default:
			s.data = mem
		}
	}
	if !short || s.sync {
		if s.id = m.ids.take(); s.id == 0 {
			m.endSend(s, core.NewError(core.ErrNoMem, "mtl portals4: %d long or synchronous sends are under way", maxIDs))
			return
		}
	}
	if !m.clear(p) || !m.credit.may(m, p) {
		m.enqueue(s)
	} else {
		m.launch(s)
	}
}

// refusal is why nothing can be sent to p or received from it (p nil: from anybody) on a channel.
func (m *module) refusal(ch *core.Channel, x *channel, p *peer) *core.Error {
	switch {
	case m.broken != nil:
		return m.broken
	case x == nil:
		return core.NewError(core.ErrComm, "mtl portals4: channel %d is not known here", ch.ID)
	}
	if f := ch.Comm.Fault(); f != nil && f.Fatal {
		return f.Err
	}
	if p != nil && p.proc.Failed() != nil {
		return ch.Comm.DeathOf(p.proc)
	}
	if p != nil && !p.reached { // told by the first send, since a copied one is over before its put has failed
		if cause := m.iface.Reaches(p.proc); cause != nil {
			err := core.NewError(core.ErrOther, "mtl portals4: %w", cause)
			err.Peer = ch.Comm.RankOf(p.proc.Rank)
			return err
		}
		p.reached = true
	}
	return nil
}

// copyIn copies a short message, so that its sender may go on.
func (m *module) copyIn(s *sendReq, buf core.Buffer, n int) {
	var conv datatype.Convertor
	conv.Prepare(buf.Type(), buf.Count(), buf.Addr())
	s.buf = m.pools.get(n)
	s.data = s.buf.mem[:n]
	conv.Pack(s.data)
}

func (m *module) newSend(x *channel, p *peer, tag uint64) *sendReq {
	s := m.free.sends
	if s == nil {
		s = new(sendReq)
	} else {
		m.free.sends = s.next
		s.next = nil
	}
	s.x, s.p, s.seq = x, p, p.seq
	s.bits = m.split.bits(x.ch.ID, x.ch.Comm.MyRank, tag)
	p.seq++
	x.open++
	s.at = len(m.sends)
	m.sends = append(m.sends, s)
	return s
}

// hdr is what hdr_data says of s.
func (s *sendReq) hdr() uint64 {
	h := uint64(s.id)<<idShift | uint64(len(s.data))
	if s.sync {
		h |= hdrSync
	}
	return h
}

// launch puts s, for which there are a slot and credit.
func (m *module) launch(s *sendReq) {
	p := s.p
	n := len(s.data)
	s.part, s.proto = n, protoShort
	switch {
	case n > int(m.opt.ShortLimit) && m.long == protoRndv && n > int(m.opt.EagerLimit):
		s.part, s.proto = int(m.opt.EagerLimit), protoRndv
		if !m.credit.affords(p, s.part) || p.poor > 0 || m.trig && !m.trigs.room(m, n-s.part) {
			s.proto = protoLong
		}
		if m.trig && s.proto == protoLong {
			s.part-- // sets off no get
		}
	case n > int(m.opt.ShortLimit):
		s.part, s.proto = min(n, int(m.opt.MaxMsgSize)), protoLong
		if m.long == protoRndv {
			s.part = min(n, int(m.opt.EagerLimit))
		}
		if m.trig {
			s.part = min(n, int(m.opt.EagerLimit)-1)
		}
	case n > 0 && (p.poor > 0 || !m.credit.affords(p, n)):
		s.proto = protoLong // the receiver has no memory for it: it keeps the header
		m.stats.poor++
	}
	if p.poor > 0 {
		p.poor--
	}
	if s.proto == protoLong && s.id == 0 {
		if s.id = m.ids.take(); s.id == 0 {
			m.endSend(s, core.NewError(core.ErrNoMem, "mtl portals4: %d long or synchronous sends are under way", maxIDs))
			return
		}
	}
	if err := m.expose(s); err != nil {
		m.endSend(s, err)
		return
	}
	m.credit.spend(p, s.proto, s.part)
	short := s.proto == protoShort && !s.sync
	if short && s.buf == nil && n > 0 && s.r != nil { // the user's memory until now
		b := m.pools.get(n)
		copy(b.mem, s.data)
		s.buf, s.data = b, b.mem[:n]
	}
	m.stats.sent(s.proto, n)
	t := &m.xfer
	*t = ptl.Transfer{Mem: s.data[:s.part], Length: uint64(s.part), Ack: ptl.Ack, Target: p.id, PT: m.recvPT.Index(),
		MatchBits: s.bits | s.proto<<protoShift, HdrData: s.hdr(), UserPtr: s}
	m.slots--
	m.flying++
	s.flying = true
	err := m.md.Put(t)
	t.Mem = nil // it lives no longer by this
	if err != nil {
		m.slots++
		m.flying--
		s.flying = false
		m.endSend(s, interfaceError("PtlPut", err))
		return
	}
	if r := s.r; short && r != nil { // copied: its user may go on
		s.r = nil
		r.Owner.Done(r, core.EmptyStatus(), nil)
	}
}

func interfaceError(op string, err error) *core.Error {
	return &core.Error{Class: core.ErrIntern, Peer: core.Undefined, Index: -1, Err: core.NewError(core.ErrIntern, "mtl portals4: %s: %w", op, err).Err}
}

// acked: the put of s has been dealt with by its target.
func (m *module) acked(s *sendReq, ev *ptl.Event) {
	m.slots++
	m.flying--
	s.flying = false
	if s.over {
		m.release(s)
		return
	}
	if s.err != nil {
		m.endSend(s, s.err)
		return
	}
	switch ev.NIFail {
	case ptl.OK:
	case ptl.PTDisabled, ptl.Dropped:
		m.refused(s)
		return
	default:
		m.endSend(s, m.failure(s.x.ch, s.p, ev.NIFail))
		return
	}
	if !s.come {
		s.come = true
		s.x.open--
	}
	if s.p.refused != 0 {
		s.p.refused, s.p.penalty = 0, 0
	}
	if ev.List == ptl.PriorityList && s.part == len(s.data) || !s.exposed {
		s.matched = true
	}
	if s.matched {
		m.endSend(s, nil)
	}
}

// failure is what the user hears when an operation with p came to nothing.
func (m *module) failure(ch *core.Channel, p *peer, why ptl.FailType) *core.Error {
	if f := ch.Comm.Fault(); f != nil && f.Fatal {
		return f.Err
	}
	if p.proc.Failed() != nil {
		return ch.Comm.DeathOf(p.proc)
	}
	class := core.ErrOther
	if why == ptl.Undeliverable {
		class = core.ErrProcFailed
	}
	err := core.NewError(class, "mtl portals4: rank %d of the job: the operation ended with %v", p.proc.Rank, why)
	err.Peer = ch.Comm.RankOf(p.proc.Rank)
	return err
}

// endSend ends s: its entries go, its user is told, and when nothing refers to it any more it is pooled.
func (m *module) endSend(s *sendReq, err *core.Error) {
	if s.queued {
		m.dequeue(s)
	}
	m.hide(s)
	if !s.come {
		s.come = true // or never will
		s.x.open--
	}
	r := s.r
	s.r = nil
	s.over = true
	m.release(s)
	if r != nil {
		r.Priv = nil
		if err != nil {
			r.Owner.Done(r, core.EmptyStatus(), err)
		} else {
			r.Owner.Done(r, core.EmptyStatus(), nil)
		}
	}
}

func (m *module) freeSend(s *sendReq) {
	m.pools.put(s.buf)
	m.ids.drop(s.id)
	last := len(m.sends) - 1
	moved := m.sends[last]
	m.sends[s.at] = moved
	moved.at = s.at
	m.sends[last] = nil
	m.sends = m.sends[:last]
	*s = sendReq{next: m.free.sends}
	m.free.sends = s
}

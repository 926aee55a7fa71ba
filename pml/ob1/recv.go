package ob1

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/trace"
)

// recvReq is a receive.
type recvReq struct {
	core.Request
	// Of every message: a few lines of memory.
	o       *module
	link    *recvReq // pool
	entry   entry    // place in the posted queue
	ch      *channel
	source  int32 // rank or any
	tag     int32 // tag or any
	room    int64 // bytes of the buffer
	id      uint64
	coming  int64 // bytes that BTLs are writing into the buffer: got+coming <= want
	placing int   // in so many fragments
	life    uint64
	isFlat  bool // one memory block
	over    bool // failed: ends when nobody writes to the buffer any more
	once    bool // its peer has several paths: bytes may come twice, have says which have come

	isMatched bool // and the trace has heard of it (life is its name there, 0: none)

	// Once matched with a long message: the sender sends or lets be read [0, want) of length bytes; got have come.
	proto  protocol // how it comes
	peer   *peer
	sendID uint64
	want   int64
	got    int64
	length int64
	conv   datatype.Convertor
	ext    ext   // what its first frame said besides
	again  uint8 // flagAgain if that was sent again
	have   ranges

	path    *bml.Path    // of what follows
	xfer    btl.Transfer // the read of the sender's memory
	item    outItem      // its place among what waits for room
	pinned  bool         // xfer.Mem is a registration
	reading bool         // the BTL has xfer
	mark    trace.Mark   // the read in the trace
	pieces  *piece       // parts of the buffer that the sender may write, out of them
	out     int
	primed  int64 // up to here the message has been asked for,
	step    int64 // so many bytes in a piece; 0: all in one
}

func (r *recvReq) prepare(o *module, m *channel, buf core.Buffer, source, tag int) {
	r.ch, r.source, r.tag = m, int32(source), int32(tag)
	r.room = buf.Bytes()
	r.isFlat = r.room == 0 || buf.Type().Contiguous()
	r.id, r.placing, r.coming, r.over = 0, 0, 0, false
	o.tr.recvPosted(r)
}

// Recv implements pml.Module.
func (o *module) Recv(ch *core.Channel, buf core.Buffer, source, tag int) (core.Status, error) {
	o.engine.Lock()
	r := o.newRecv()
	r.Renew(ch.Comm, "", source, buf)
	if m := o.chans[ch.ID]; o.match(r, m, buf, source, tag) {
		if o.engine.Driven() {
			m.posted.addWaiting(r)
		} else {
			m.posted.addFirst(r)
		}
		o.waits()
	}
	o.engine.WaitLocked(&r.Request)
	st := r.Status
	o.freeRecv(r)
	o.engine.Unlock()
	return st, st.Err
}

// Irecv implements pml.Module.
func (o *module) Irecv(ch *core.Channel, buf core.Buffer, source, tag int) *core.Request {
	o.engine.Lock()
	r := o.BeginRecv(ch, buf, source, tag)
	o.engine.Depart()
	return r
}

// BeginRecv implements pml.Module.
func (o *module) BeginRecv(ch *core.Channel, buf core.Buffer, source, tag int) *core.Request {
	r := o.newRecv()
	r.Renew(ch.Comm, "", source, buf)
	o.recvsOut.push(r)
	o.post(r, o.chans[ch.ID], buf, source, tag)
	return &r.Request
}

// RecvInit implements pml.Module.
func (o *module) RecvInit(ch *core.Channel, buf core.Buffer, source, tag int) *core.Request {
	o.engine.Lock()
	defer o.engine.Unlock()
	return o.RecvInitHeld(ch, buf, source, tag)
}

// RecvInitHeld implements pml.Module.
func (o *module) RecvInitHeld(ch *core.Channel, buf core.Buffer, source, tag int) *core.Request {
	r := o.newRecv()
	r.Renew(ch.Comm, "", source, buf)
	r.Persistent = true
	o.recvsOut.push(r)
	r.ch, r.source, r.tag = o.chans[ch.ID], int32(source), int32(tag)
	return &r.Request
}

// Start implements core.Operation for persistent receives.
func (r *recvReq) Start(q *core.Request) error {
	r.Reset()
	r.Status = core.EmptyStatus()
	r.SetActive(true)
	r.o.post(r, r.ch, q.Buf, int(r.source), int(r.tag))
	return nil
}

// Cancel implements core.Operation: a receive that has not matched is cancelled (MPI-3.1 §3.8.4).
func (r *recvReq) Cancel(*core.Request) error {
	if r.entry.q == nil {
		return nil
	}
	r.ch.posted.remove(r)
	r.Status.Cancelled = true
	r.Finish()
	return nil
}

// post matches a receive with the earliest message that waits for it, or lets it wait.
func (o *module) post(r *recvReq, m *channel, buf core.Buffer, source, tag int) {
	if o.match(r, m, buf, source, tag) {
		m.posted.add(r)
		o.waits()
	}
}

// waits: a receive has been posted, for which a peer may keep something back.
func (o *module) waits() {
	if len(o.credit.starved) != 0 {
		o.credit.wake()
	}
}

// match prepares a receive and matches it with the earliest message that waits for it. It reports whether there is none, but may be one.
func (o *module) match(r *recvReq, m *channel, buf core.Buffer, source, tag int) bool {
	r.prepare(o, m, buf, source, tag)
	if m.fault != nil { // before the look at what has come: the rest of a long message would not
		r.FinishErr(m.fault)
		return false
	}
	if s := m.unexp.find(r.source, r.tag); s != nil {
		m.unexp.remove(s)
		o.stats.Matches++
		o.deliverMsg(r, s)
		return false
	}
	if err := o.cannotCome(m, r.source); err != nil {
		r.FinishErr(err)
		return false
	}
	return true
}

// cannotCome is why no message from source will come any more, nil while one may.
func (o *module) cannotCome(m *channel, source int32) *core.Error {
	if m.fault != nil {
		return m.fault
	}
	if source == anySource || m.inner() {
		if f := m.comm.Fault(); f != nil {
			return f.Err
		}
		return nil
	}
	if err := m.comm.Procs[source].Failed(); err != nil {
		return peerError(err, int(source))
	}
	return nil
}

// deliverMsg gives a stored message to a receive.
func (o *module) deliverMsg(r *recvReq, s *message) {
	o.tr.found(r, s)
	switch {
	case s.frame != typeMatch:
		o.beginLong(r, s.from, s.frame, s.source, s.tag, rndv{s.flags, s.length, s.sendID, s.handle, s.ext}, s.payload)
	case s.ext.arch != datatype.ArchNative:
		o.deliverExt(r, s.source, s.tag, &s.ext, s.payload)
	default:
		o.deliver(r, s.source, s.tag, s.payload)
	}
	o.freeMsg(s)
	if len(o.credit.pending) != 0 {
		o.credit.payAll()
	}
}

// deliver completes a receive with a whole eager message.
func (o *module) deliver(r *recvReq, source, tag int32, data []byte) {
	n := int64(len(data))
	o.tr.matched(r, source, tag, typeMatch, n)
	r.Status.Source, r.Status.Tag = int(source), int(tag)
	if n > r.room {
		data = data[:r.room]
		r.Status.Err = truncated(r, n)
		n = r.room
	}
	r.Status.SetBytes(n)
	o.stats.Received[protoEager]++
	o.stats.ReceivedBytes[protoEager] += uint64(n)
	if n > 0 {
		if r.isFlat {
			if n == 8 {
				*(*[8]byte)(r.Buf.Addr()) = [8]byte(data)
			} else {
				copy(unsafe.Slice((*byte)(r.Buf.Addr()), n), data)
			}
		} else {
			r.conv.Prepare(r.Buf.Type(), r.Buf.Count(), r.Buf.Addr())
			r.conv.Unpack(data)
		}
	}
	r.Finish()
}

func truncated(r *recvReq, n int64) *core.Error {
	return &core.Error{Class: core.ErrTruncate, Peer: r.Status.Source, Index: -1,
		Err: core.NewError(core.ErrTruncate, "the message has %d bytes, the buffer has room for %d", n, r.room).Err}
}

// arrived puts a first frame in sequence. It returns the channel when the frame is the next of its sender and should be matched
// now; otherwise the frame has been stored or refused.
func (o *module) arrived(peer int, h *match, frame uint8, x *rndv, payload []byte) *channel {
	if o.overdrawn(peer) {
		return nil
	}
	if int(h.ctx) >= len(o.chans) || o.chans[h.ctx] == nil {
		if h.ctx > o.MaxContext() || h.source < 0 {
			o.refuse(peer)
			return nil
		}
		if !o.keepEarly(peer, len(payload)) {
			return nil
		}
		o.stats.Stray++
		o.stray[h.ctx] = append(o.stray[h.ctx], o.store(peer, h, frame, x, payload))
		return nil
	}
	m := o.chans[h.ctx]
	if uint(h.source) >= uint(len(m.ranks)) || m.ranks[h.source].job != peer || h.tag < 0 {
		o.refuse(peer)
		return nil
	}
	r := &m.ranks[h.source]
	if h.seq != r.expected {
		at, ok := r.place(h.seq)
		if !ok {
			o.comesAgain(m, peer, h, frame, x, payload)
			return nil
		}
		if !o.keepEarly(peer, len(payload)) {
			return nil
		}
		o.stats.OutOfSequence++
		s := o.store(peer, h, frame, x, payload)
		s.next, *at = *at, s
		return nil
	}
	r.expected++
	return m
}

// place finds where a message with this number is held until those before it have come; ok is false when it has come before. Senders
// never run so far ahead that their numbers would look like that.
func (r *rankState) place(seq uint16) (at **message, ok bool) {
	if int16(seq-r.expected) < 0 {
		return nil, false
	}
	at = &r.held
	for *at != nil && (*at).seq-r.expected < seq-r.expected {
		at = &(*at).next
	}
	return at, *at == nil || (*at).seq != seq
}

// catchUp matches held messages whose turn has come.
func (o *module) catchUp(m *channel, r *rankState) {
	for s := r.held; s != nil && s.seq == r.expected; s = r.held {
		r.held = s.next
		s.next = nil
		r.expected++
		o.due(s)
		o.matchMsg(m, s)
	}
}

// replay treats a message of a communicator that was unknown when it came.
func (o *module) replay(m *channel, s *message) {
	if int(s.source) < len(m.ranks) && m.comm.Procs[s.source].Rank == s.from && s.tag >= 0 {
		r := &m.ranks[s.source]
		if at, ok := r.place(s.seq); ok {
			s.next, *at = *at, s
			o.catchUp(m, r)
			return
		}
		h := match{flags: s.flags, seq: s.seq, ctx: m.id, source: s.source, tag: s.tag}
		o.credit.exempt(s)
		o.comesAgain(m, s.from, &h, s.frame, &rndv{s.flags, s.length, s.sendID, s.handle, s.ext}, s.payload)
	} else {
		o.refuse(s.from)
	}
	o.due(s)
	o.freeMsg(s)
}

// matchMsg matches a stored message.
func (o *module) matchMsg(m *channel, s *message) {
	if r := m.posted.take(s.source, s.tag); r != nil {
		o.stats.Matches++
		o.deliverMsg(r, s)
		return
	}
	o.wait(m, s)
}

// wait makes a message unexpected, and tells probes.
func (o *module) wait(m *channel, s *message) {
	o.stats.Unexpected++
	o.tr.unexpected(m, s)
	s.ch = m
	m.unexp.add(s)
	if len(m.probes) > 0 {
		o.tellProbes(m)
	}
}

// store keeps a message; x is what a RNDV, RGET or extended header says besides, nil for MATCH.
func (o *module) store(peer int, h *match, frame uint8, x *rndv, payload []byte) *message {
	s := o.newMsg(payload)
	s.frame, s.flags, s.seq, s.source, s.tag, s.from = frame, h.flags, h.seq, h.source, h.tag, peer
	s.length = int64(len(payload))
	if x != nil {
		s.length, s.sendID, s.handle, s.ext = x.length, x.sendID, x.handle, x.ext
	}
	s.cost = costOf(int64(len(payload)))
	o.credit.keep(s)
	return s
}

func (o *module) refuse(int) { o.stats.Refused++ }

// matchHandler receives MATCH frames.
type matchHandler struct{ o *module }

// Receive implements btl.Handler.
func (x *matchHandler) Receive(peer int, hdr, payload []byte) {
	o := x.o
	if len(hdr) != matchSize {
		o.refuse(peer)
		return
	}
	h0, h1 := le.Uint64(hdr), le.Uint64(hdr[8:])
	// The common case, with nothing out of order; arrived treats all others.
	if ctx, source := uint32(h0>>32), uint32(h1); int(ctx) < len(o.chans) {
		if m := o.chans[ctx]; m != nil && int(source) < len(m.ranks) {
			rs := &m.ranks[source]
			if rs.expected == uint16(h0>>16) && rs.job == peer && rs.held == nil && int32(h1>>32) >= 0 {
				if r := m.posted.take(int32(source), int32(h1>>32)); r != nil {
					rs.expected++
					o.stats.Matches++
					o.deliver(r, int32(source), int32(h1>>32), payload)
					o.came(peer, costOf(int64(len(payload))))
					return
				}
			}
		}
	}
	h := parseMatch(hdr)
	m := o.arrived(peer, &h, typeMatch, nil, payload)
	if m == nil {
		return
	}
	if r := m.posted.take(h.source, h.tag); r != nil {
		o.stats.Matches++
		o.deliver(r, h.source, h.tag, payload)
		o.came(peer, costOf(int64(len(payload))))
	} else {
		o.wait(m, o.store(peer, &h, typeMatch, nil, payload))
	}
	if rs := &m.ranks[h.source]; rs.held != nil {
		o.catchUp(m, rs)
	}
}

// Place implements btl.Placer: a message that matches now, and whose receive is one block of memory with room for it, is written
// there as it comes. It is matched from here on; the receive completes when all is in place.
func (x *matchHandler) Place(peer int, hdr []byte, n int) []byte {
	o := x.o
	if len(hdr) != matchSize || n == 0 {
		return nil
	}
	h := parseMatch(hdr)
	if int(h.ctx) >= len(o.chans) || o.chans[h.ctx] == nil {
		return nil
	}
	m := o.chans[h.ctx]
	if uint(h.source) >= uint(len(m.ranks)) || h.tag < 0 {
		return nil
	}
	rs := &m.ranks[h.source]
	if rs.job != peer || rs.expected != h.seq || rs.held != nil || rs.placing != nil {
		return nil
	}
	r := m.posted.peek(h.source, h.tag)
	if r == nil || !r.isFlat || r.room < int64(n) {
		return nil
	}
	m.posted.remove(r)
	rs.expected++
	rs.placing, rs.placingSeq = r, h.seq
	o.tr.matched(r, h.source, h.tag, typeMatch, int64(n))
	o.stats.Matches++
	r.Status.Source, r.Status.Tag = int(h.source), int(h.tag)
	return unsafe.Slice((*byte)(r.Buf.Addr()), n)
}

// Placed implements btl.Placer.
func (x *matchHandler) Placed(peer int, hdr []byte, n int, err error) {
	o := x.o
	h := parseMatch(hdr)
	if !o.placedFirst(peer, &h, n, err) {
		o.came(peer, costOf(int64(n)))
	}
}

// placedFirst ends a placing. It reports whether the message comes again, which then pays.
func (o *module) placedFirst(peer int, h *match, n int, err error) (again bool) {
	if at := (place{peer, h.ctx}); len(o.late) > 0 && o.late[at] != nil {
		r := o.late[at]
		delete(o.late, at)
		if err != nil {
			r.FinishErr(o.asError(err, int(h.source)))
			return false
		}
		o.placed(r, n)
		return false
	}
	m := o.chans[h.ctx]
	if m == nil {
		return false
	}
	rs := &m.ranks[h.source]
	r := rs.placing
	if r == nil {
		return false // the sender's death has ended it
	}
	rs.placing = nil
	if err != nil {
		if p, e := o.connect(m, int(h.source)); e == nil && m.fault == nil && !o.closed && (p.ep.Reduced || len(p.ep.Bulk) > 1) {
			o.cutOff(rs, h.seq, r)
			return true
		}
		r.FinishErr(o.asError(err, int(h.source)))
		return false
	}
	o.placed(r, n)
	o.wholeNow(rs)
	if rs.held != nil {
		o.catchUp(m, rs)
	}
	return false
}

// placed completes a receive whose n bytes a BTL has written.
func (o *module) placed(r *recvReq, n int) {
	r.Status.SetBytes(int64(n))
	o.stats.Received[protoEager]++
	o.stats.ReceivedBytes[protoEager] += uint64(n)
	r.Finish()
}

package ob1

import (
	"errors"
	"fmt"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/pml"
)

// sendState is where a send stands.
type sendState uint8

const (
	sendIdle   sendState = iota // in the pool, or a persistent one not started
	sendFirst                   // its first fragment waits for room
	sendOut                     // its first fragment is under way in the BTL
	sendRndv                    // the receiver knows of it; it will ACK or FIN
	sendStream                  // the receiver has matched; fragments go
)

func (s sendState) String() string {
	return [...]string{"idle", "first", "out", "rndv", "stream"}[s]
}

// sendReq is a send.
type sendReq struct {
	core.Request
	o     *module
	link  *sendReq // pool
	item  outItem  // place in a peer's queue
	ch    *channel
	peer  *peer
	path  *bml.Path // of the first fragment
	via   *bml.Path // the same, or over which it went again
	dest  int
	tag   int32
	mode  pml.Mode
	state sendState
	proto protocol
	conv  datatype.Convertor
	total int64
	id    uint64 // while a receiver may speak of it
	mem   btl.MemHandle
	head  int64    // bytes that go with the first fragment
	cost  int64    // of the first frame, taken off the credit at the peer
	frag  btl.Frag // the first fragment

	// While streaming: [next, end) goes in fragments now, todo later. pending fragments are in BTLs, writings are ranges that the
	// BTL writes to the receiver's memory. The receiver wants the message up to want, -1 until it has said so.
	recvID   uint64
	next     int64
	end      int64
	todo     []span
	asked    spans
	want     int64
	writings *writing
	underWay int // writings
	pending  int
	ended    bool        // the receiver is done with it, but the BTL still holds the first fragment
	failure  *core.Error // first error; reported when nothing is pending
	redo     []span      // bytes to be sent again
	again    bool        // the first fragment is to be sent again
	resent   bool        // it has been, as an announcement without data
	own      bool        // not a user's: an inline message that is sent again
	life     uint64      // in the trace; 0: none
}

// Send implements pml.Module.
func (o *module) Send(ch *core.Channel, buf core.Buffer, dest, tag int, mode pml.Mode) error {
	o.engine.Lock()
	m := o.chans[ch.ID]
	if mode != pml.Synchronous && o.sendNow(m, &buf, dest, tag) {
		o.engine.Unlock()
		return nil
	}
	s := o.newSend()
	s.Renew(ch.Comm, "", dest, buf)
	o.start(s, m, buf, dest, tag, mode)
	o.engine.WaitLocked(&s.Request)
	err := s.Status.Err
	o.freeSend(s)
	o.engine.Unlock()
	return err
}

// sendNow is the short way of a small message: inline and at once, when nothing waits before it. It reports false when the message
// must go the long way; then nothing has been sent.
func (o *module) sendNow(m *channel, buf *core.Buffer, dest, tag int) bool {
	n := buf.Bytes()
	r := &m.ranks[dest]
	p := r.peer
	if p == nil || n > p.limits.inline || p.queue.head != nil || p.left < costOf(n) || m.fault != nil || (n != 0 && !buf.Type().Contiguous()) {
		return false
	}
	h0, h1 := matchWords(typeMatch, 0, r.sendSeq, m.id, uint32(m.comm.MyRank), int32(tag))
	from := o.tr.start()
	if !p.path.Inline.SendInline(tagOf(typeMatch), h0, h1, buf.Addr(), int(n)) {
		return false
	}
	o.tr.inline(from, m, dest, tag, n)
	r.sendSeq++
	p.left -= costOf(n)
	o.countInline(p.path, n)
	return true
}

// Isend implements pml.Module.
func (o *module) Isend(ch *core.Channel, buf core.Buffer, dest, tag int, mode pml.Mode) *core.Request {
	o.engine.Lock()
	r := o.isend(ch, &buf, dest, tag, mode)
	if o.starveds != 0 { // who only posts sends would never hear of new credit
		o.engine.TryPoll()
	}
	o.engine.Depart()
	return r
}

// BeginSend implements pml.Module.
func (o *module) BeginSend(ch *core.Channel, buf core.Buffer, dest, tag int) *core.Request {
	return o.isend(ch, &buf, dest, tag, pml.Standard)
}

func (o *module) isend(ch *core.Channel, buf *core.Buffer, dest, tag int, mode pml.Mode) *core.Request {
	m := o.chans[ch.ID]
	s := o.newSend()
	if mode != pml.Synchronous && o.sendNow(m, buf, dest, tag) {
		s.RenewDone()
		o.sendsOut.push(s)
		return &s.Request
	}
	s.Renew(ch.Comm, "", dest, *buf)
	o.sendsOut.push(s)
	o.start(s, m, *buf, dest, tag, mode)
	return &s.Request
}

// SendInit implements pml.Module.
func (o *module) SendInit(ch *core.Channel, buf core.Buffer, dest, tag int, mode pml.Mode) *core.Request {
	o.engine.Lock()
	s := o.newSend()
	s.Renew(ch.Comm, "", dest, buf)
	s.Persistent = true
	o.sendsOut.push(s)
	s.ch, s.dest, s.tag, s.mode = o.chans[ch.ID], dest, int32(tag), mode
	o.engine.Unlock()
	return &s.Request
}

// Start implements core.Operation for persistent sends.
func (s *sendReq) Start(r *core.Request) error {
	s.Reset()
	s.Status = core.EmptyStatus()
	s.SetActive(true)
	s.o.start(s, s.ch, r.Buf, s.dest, int(s.tag), s.mode)
	return nil
}

// Cancel implements core.Operation. Sends are not cancelled: MPI allows that, and the operation completes as if never asked.
func (s *sendReq) Cancel(*core.Request) error { return nil }

// countInline counts a message that has gone inline.
func (o *module) countInline(p *bml.Path, n int64) {
	o.stats.Sent[protoInline]++
	o.stats.SentBytes[protoInline] += uint64(n)
	p.Counts.Sent++
	p.Counts.Bytes += uint64(n)
}

// start sends a message's first fragment, or queues it.
func (o *module) start(s *sendReq, m *channel, buf core.Buffer, dest, tag int, mode pml.Mode) {
	s.ch, s.dest, s.tag, s.mode = m, dest, int32(tag), mode
	s.total, s.id, s.pending, s.ended, s.failure, s.cost = buf.Bytes(), 0, 0, false, nil, 0
	s.want, s.todo = -1, s.todo[:0]
	s.asked.reset()
	s.redo, s.again, s.resent = s.redo[:0], false, false
	if m.fault != nil {
		s.FinishErr(peerError(m.fault, dest))
		return
	}
	r := &m.ranks[dest]
	p := r.peer
	if p == nil {
		var err *core.Error
		if p, err = o.connect(m, dest); err != nil {
			s.FinishErr(err)
			return
		}
	}
	s.peer, s.path = p, p.path
	flags := uint8(0)
	if mode == pml.Synchronous {
		flags = flagSync
	}
	h0, h1 := matchWords(0, flags, r.sendSeq, m.id, uint32(m.comm.MyRank), int32(tag))
	r.sendSeq++
	o.tr.posted(s)
	if p.left < smallCost {
		o.starve(s, h0, h1)
		return
	}
	behind := p.queue.head != nil // nothing overtakes what waits for room: sequence numbers would wrap
	contiguous := s.total == 0 || buf.Type().Contiguous()
	if s.total <= p.limits.inline && !behind && p.left >= costOf(s.total) { // else it cannot be inline
		proto, _ := choose(s.total, contiguous, p.differs, mode, &p.limits)
		if proto == protoInline && p.path.Inline.SendInline(tagOf(typeMatch), h0|typeMatch, h1, buf.Addr(), int(s.total)) {
			p.left -= costOf(s.total)
			o.countInline(p.path, s.total)
			s.state = sendIdle
			s.Finish()
			return
		}
	}
	o.prepare(s, buf, &p.limits, h0, h1)
	o.launch(s)
}

// launch sends a prepared first fragment, or queues it.
func (o *module) launch(s *sendReq) {
	p := s.peer
	s.state = sendFirst
	if p.queue.head != nil {
		o.out.add(p, &s.item)
	} else if done, err := s.push(); err != nil {
		o.sendFailed(s, err)
	} else if !done {
		o.out.add(p, &s.item)
	}
}

// prepare chooses a protocol for the message's path, and fills the first fragment. h0 and h1 are the match header without its type.
func (o *module) prepare(s *sendReq, buf core.Buffer, l *limits, h0, h1 uint64) {
	f := &s.frag
	contiguous := s.total == 0 || buf.Type().Contiguous()
	var why reason
	if s.proto, why = choose(s.total, contiguous, s.peer.differs, s.mode, l); why != suits {
		o.overrule(l.wish, s.proto, why)
	}
	putMatch(f, h0, h1)
	f.Hdr[1] &= flagSync
	f.Len, f.Data, f.Conv, f.Sent = 0, nil, nil, 0
	s.item.s = s
	if s.total > 0 {
		s.conv.Prepare(buf.Type(), buf.Count(), buf.Addr())
	}
	if s.proto <= protoEager && !s.affords(s.total) {
		s.proto = protoRndv
		o.credit.stats.Poor++
	}
	frame := uint8(typeMatch)
	if s.pins() {
		s.mem = btl.MemHandle{}
		if s.path.Reg != nil {
			var err error
			if s.mem, err = s.path.Reg.Register(buf.Addr(), s.total); err != nil {
				s.proto = protoRndv
				o.stats.CopyFallback++
			}
		}
	} else if s.proto == protoRndv && s.offerShared(buf, contiguous, l) {
		if s.proto = protoRget; l.shared > 0 && s.total >= l.shared && l.wish != protoRget {
			s.proto = protoCoop
		}
	}
	switch s.proto {
	case protoRget, protoCoop:
		frame = typeRget
		if s.proto == protoCoop {
			f.Hdr[1] |= flagShared
		}
		s.id = o.ids.add(s, nil)
		putRndv(f, s.total, s.id)
		putRget(f, s.mem)
	case protoPut:
		frame = typeRndv
		f.Hdr[1] |= flagPut
		s.id = o.ids.add(s, nil)
		putRndv(f, s.total, s.id)
	case protoRndv, protoPipeline:
		frame = typeRndv
		if s.proto == protoPipeline {
			f.Hdr[1] |= flagPut | flagPiped
		}
		s.id = o.ids.add(s, nil)
		putRndv(f, s.total, s.id)
		f.Len = int(min(s.total, l.head))
		if s.mode == pml.Synchronous && s.total <= l.eager-rndvSize {
			f.Len = int(s.total)
		}
		if !s.affords(int64(f.Len)) {
			f.Len = 0
		}
	default:
		s.proto = protoEager // an inline message that found no room, too
		f.Len = int(s.total)
	}
	s.head = int64(f.Len)
	s.charge(f.Len)
	f.Hdr[0] = frame
	f.Tag = tagOf(int(frame))
	if f.Len > 0 {
		if contiguous {
			f.Data = buf.Addr()
		} else {
			f.Conv = &s.conv
		}
	}
	if o.extends {
		o.extendFirst(s)
	}
	o.tr.chosen(s, l, contiguous)
	o.stats.Sent[s.proto]++
	o.stats.SentBytes[s.proto] += uint64(s.total)
}

// pins reports whether the whole message is registered while the send lasts.
func (s *sendReq) pins() bool {
	return s.proto == protoRget || s.proto == protoCoop || s.proto == protoPut
}

// overrule counts a message that cannot go as pml_ob1_protocol wishes, and says so the first time.
func (o *module) overrule(wish, instead protocol, why reason) {
	o.stats.Overruled++
	if o.stats.Overruled == 1 {
		o.env.Upcalls.Say("ob1-protocol", fmt.Sprintf("pml_ob1_protocol is %s, but not every message can go that way; the first goes by %s: %s", wish, instead, why))
	}
}

// push offers what s has to send to its BTL. done: nothing more to offer now.
func (s *sendReq) push() (done bool, err error) {
	if s.state == sendStream {
		return s.stream()
	}
	if s.again {
		return s.pushAgain()
	}
	if done, err = s.offer(); err != nil {
		return s.detour(err)
	}
	return done, nil
}

// offer offers the first fragment to its path.
func (s *sendReq) offer() (done bool, err error) {
	path, n := s.path, s.frag.Len
	sent, err := path.Send.Send(&s.frag)
	if err != nil {
		if errors.Is(err, btl.ErrAgain) {
			err = nil
		}
		return false, err
	}
	path.Counts.Sent++
	path.Counts.Bytes += uint64(n)
	s.via, s.state = path, sendOut
	s.o.tr.out(s)
	if sent {
		s.firstDone()
	}
	return true, nil
}

// firstDone: the first fragment has left. A BTL may tell so only after the receiver has answered.
func (s *sendReq) firstDone() {
	switch {
	case s.ended:
		s.o.finishSend(s)
	case s.state == sendStream:
		s.pending--
		s.advance()
	case s.id != 0:
		s.state = sendRndv // the receiver will speak
	default:
		s.complete()
	}
}

// FragDone implements btl.Completer for the first fragment.
func (s *sendReq) FragDone(_ *btl.Frag, err error) {
	if err != nil && s.failure == nil && (s.ended || s.state == sendStream) {
		err = nil // the receiver has answered: it has come
	}
	if err == nil && s.failure != nil {
		err = s.failure
	}
	if err != nil {
		if s.state == sendStream {
			s.pending--
		}
		s.state = sendRndv // no longer in the BTL
		s.o.firstInDoubt(s, err)
		return
	}
	s.firstDone()
}

// finishSend ends a long send.
func (o *module) finishSend(s *sendReq) {
	o.out.drop(&s.item)
	o.release(s)
	if s.failure != nil {
		s.Status.Err = s.failure
	}
	s.complete()
}

// release takes back what peers knew of s.
func (o *module) release(s *sendReq) {
	if s.id != 0 {
		o.ids.remove(s.id)
		s.id = 0
	}
	if s.pins() && s.path.Reg != nil {
		s.path.Reg.Deregister(s.mem)
	}
}

// sendFailed ends s with an error once no BTL holds a fragment of it.
func (o *module) sendFailed(s *sendReq, err error) {
	if s.failure == nil {
		s.failure = o.asError(err, s.dest)
	}
	o.out.drop(&s.item)
	if s.state == sendFirst { // nobody will give this back
		s.peer.left += s.cost
		s.cost = 0
	}
	id := s.id
	if s.dropWritings(); s.id != id {
		return // the peer's death, found meanwhile, has ended it
	}
	if s.pending > 0 || s.writings != nil || s.state == sendIdle || s.state == sendOut {
		return // the BTL will tell when it lets go of the last fragment
	}
	o.finishSend(s)
}

// asError gives a transport's error its class.
func (o *module) asError(err error, rank int) *core.Error {
	var e *core.Error
	if errors.As(err, &e) {
		return peerError(e, rank)
	}
	return &core.Error{Class: core.ErrProcFailed, Peer: rank, Index: -1, Err: err}
}

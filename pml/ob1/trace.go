package ob1

import (
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/pml"
	"github.com/ompi-go/ompi-go/trace"
)

// The trace of messages: at each end a life (trace.Life), from the call to its completion, in stages, with the protocol and why it was
// chosen; an arrow leads from the send to the receive that got it. With tracing off module.tr is nil, and a hook is one comparison;
// recording allocates nothing either way.
//
// Requests end in many places, which the trace need not know: their Finish and FinishErr, below, stand before those of core.Request.

// Tracers is how ob1 gets the instance's trace: optional among env.Upcalls.
type Tracers interface {
	// Trace is nil when nobody wants one.
	Trace() *trace.Ring
	// OfUsers reports whether a channel is for messages of the program, or for the library's own.
	OfUsers(channel uint32) bool
}

// tracer records the messages of one module. The token is held.
type tracer struct {
	ring  *trace.Ring
	o     *module
	users func(channel uint32) bool
	me    int // rank in the job
	chans []traced
}

// traced is a channel number as the trace sees it, whatever communicator has it.
type traced struct {
	cat    string   // "" when its messages are not recorded
	counts []counts // by job rank; nil until first used
}

// counts number the messages with one rank: as sequence numbers do, but they do not wrap, and go on when another communicator gets the
// channel. All that was sent has come by then, so that both ends count alike.
type counts struct{ sent, came uint64 }

// arrival is what a stored message keeps for the trace.
type arrival struct {
	mark trace.Mark // of the time it waits
	flow uint64
}

// Names of transfers, for transferBegin.
const (
	traceRegister = "register" // memory is made ready for transfers
	traceGet      = "get"
	tracePut      = "put"
)

const (
	catUser     = "pml"
	catInternal = "pml.internal"
)

func newTracer(o *module, env *btl.Env) *tracer {
	t, ok := env.Upcalls.(Tracers)
	if !ok || t.Trace() == nil {
		return nil
	}
	return &tracer{ring: t.Trace(), o: o, users: t.OfUsers, me: env.Job.Rank()}
}

// of gives what the trace knows of a channel; nil when its messages are not recorded.
func (t *tracer) of(m *channel) *traced {
	for int(m.id) >= len(t.chans) {
		t.chans = append(t.chans, traced{})
	}
	x := &t.chans[m.id]
	if x.counts == nil {
		x.counts = make([]counts, len(t.o.procs))
		switch {
		case t.users(m.id):
			x.cat = catUser
		case t.o.opt.TraceInternal:
			x.cat = catInternal
		}
	}
	if x.cat == "" {
		return nil
	}
	return x
}

// flow names the arrow of a message: both ends come to the same.
func flow(channel uint32, from, to int, number uint64) uint64 {
	var h uint64
	for _, x := range [...]uint64{uint64(channel), uint64(from), uint64(to), number} {
		h = (h ^ x) + 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return max(h, 1) // 0 is none
}

// outFlow names the arrow of a message that has got its number in the sequence.
func (t *tracer) outFlow(x *traced, m *channel, to int) uint64 {
	c := &x.counts[to]
	c.sent++
	return flow(m.id, t.me, to, c.sent)
}

// inFlow names the arrow of the message of source that has just been put in sequence.
func (t *tracer) inFlow(x *traced, m *channel, source int32) uint64 {
	from := m.ranks[source].job
	c := &x.counts[from]
	c.came++
	return flow(m.id, from, t.me, c.came)
}

// start is the present time, 0 when nothing is recorded.
func (t *tracer) start() int64 {
	if t == nil {
		return 0
	}
	return t.ring.Now()
}

// inline records a message that has gone at once, which was begun at from.
func (t *tracer) inline(from int64, m *channel, dest, tag int, n int64) {
	if t != nil {
		t.addInline(from, m, dest, tag, n)
	}
}

func (t *tracer) addInline(from int64, m *channel, dest, tag int, n int64) {
	x := t.of(m)
	if x == nil {
		return
	}
	to := m.ranks[dest].job
	l := trace.Life{At: from, End: t.ring.Now(), Cat: x.cat, Name: "send", Detail: protoInline.String(), Why: whyInline, Bytes: n,
		Peer: int32(to), Tag: int32(tag), Context: m.id, Flow: t.outFlow(x, m, to)}
	t.ring.Begin(&l)
}

// posted begins the life of a send that has got its number in the sequence.
func (t *tracer) posted(s *sendReq) {
	if t != nil {
		t.addSend(s)
	}
}

func (t *tracer) addSend(s *sendReq) {
	s.life = 0
	x := t.of(s.ch)
	if x == nil {
		return
	}
	to := s.ch.ranks[s.dest].job
	l := trace.Life{At: t.ring.Now(), Cat: x.cat, Name: "send", Bytes: s.total, Peer: int32(to), Tag: s.tag, Context: s.ch.id, Flow: t.outFlow(x, s.ch, to)}
	l.Stage(l.At, "waits for room")
	s.life = t.ring.Begin(&l)
}

// chosen records a send's protocol, again when another path takes the message.
func (t *tracer) chosen(s *sendReq, l *limits, contiguous bool) {
	if t != nil && s.life != 0 {
		t.setProtocol(s, l, contiguous)
	}
}

func (t *tracer) setProtocol(s *sendReq, l *limits, contiguous bool) {
	if x := t.ring.Edit(s.life); x != nil {
		x.Detail, x.Why = s.proto.String(), why(s, l, contiguous)
		t.ring.Done()
	}
}

const whyInline = "fits the inline limit"

// why tells what choose, or prepare after it, went by.
func why(s *sendReq, l *limits, contiguous bool) string {
	switch {
	case s.mode == pml.Synchronous:
		return "the sender must hear of the match"
	case s.proto == protoEager && contiguous && s.total <= l.inline:
		return "would go inline, but there was no room"
	case s.proto == protoEager:
		return "fits the eager limit"
	case s.proto == protoRget:
		return "exceeds the eager limit, and the receiver can read the memory"
	case s.total <= l.eager:
		return "the receiver is to say when"
	case !contiguous:
		return "exceeds the eager limit, and has gaps"
	case s.peer.differs:
		return "exceeds the eager limit, and is to be converted"
	case s.path.Get == nil || s.path.NoGet:
		return "exceeds the eager limit, and the path cannot read memory"
	case s.total < l.get:
		return "exceeds the eager limit, and is too small to be read"
	}
	return "exceeds the eager limit"
}

// out: a send's first fragment has left.
func (t *tracer) out(s *sendReq) {
	if t != nil && s.life != 0 {
		t.addOut(s)
	}
}

func (t *tracer) addOut(s *sendReq) {
	stage := "leaves"
	if s.id != 0 {
		stage = "waits for the receiver"
	}
	t.stage(s.life, stage)
}

// answered: the receiver of a long message has asked for the rest, or has it.
func (t *tracer) answered(s *sendReq) {
	if t != nil && s.life != 0 {
		t.addAnswer(s)
	}
}

func (t *tracer) addAnswer(s *sendReq) {
	stage := "ACK came"
	switch {
	case s.state == sendStream:
		stage = "ACK came: fragments"
	case s.frag.Hdr[0] == typeRget:
		stage = "FIN came"
	}
	t.stage(s.life, stage)
}

func (t *tracer) stage(life uint64, name string) {
	at := t.ring.Now()
	if x := t.ring.Edit(life); x != nil {
		x.Stage(at, name)
		t.ring.Done()
	}
}

// fragment: n more bytes have been given to a BTL.
func (t *tracer) fragment(s *sendReq, n int64) {
	if t != nil && s.life != 0 {
		t.addFragment(s.life, n)
	}
}

func (t *tracer) addFragment(life uint64, n int64) {
	cat := ""
	if x := t.ring.Edit(life); x != nil {
		x.Pieces++
		cat = x.Cat
		t.ring.Done()
	}
	if cat != "" {
		t.ring.Point(trace.Event{At: t.ring.Now(), Cat: cat, Name: "fragment", Bytes: n, Of: life})
	}
}

// transferBegin records that a transfer of n bytes begins for the message of a life (sendReq.life, recvReq.life): traceGet or tracePut, or
// the registration of memory for them, traceRegister. transferEnd ends it. Transfers may overlap, so that a pipeline can be seen. The
// mark is the caller's to keep, in its object for the transfer; without a trace it is 0.
func (t *tracer) transferBegin(life uint64, what string, n int64) trace.Mark {
	if t == nil || life == 0 {
		return 0
	}
	return t.beginTransfer(life, what, n)
}

func (t *tracer) beginTransfer(life uint64, what string, n int64) trace.Mark {
	return t.ring.BeginEvent(trace.Event{At: t.ring.Now(), Cat: "pml.transfer", Name: what, Bytes: n, Of: life})
}

// transferEnd ends what transferBegin began, successful or not.
func (t *tracer) transferEnd(m trace.Mark) {
	if t != nil && m != 0 {
		t.endTransfer(m)
	}
}

func (t *tracer) endTransfer(m trace.Mark) { t.ring.EndEvent(m, t.ring.Now()) }

// recvPosted begins the life of a receive.
func (t *tracer) recvPosted(r *recvReq) {
	if t != nil {
		t.addRecv(r)
	}
}

func (t *tracer) addRecv(r *recvReq) {
	r.life, r.isMatched = 0, false
	x := t.of(r.ch)
	if x == nil {
		return
	}
	peer, tag := int32(-1), r.tag
	if r.source != anySource {
		peer = int32(r.ch.ranks[r.source].job)
	}
	if tag == anyTag {
		tag = -1
	}
	l := trace.Life{At: t.ring.Now(), Cat: x.cat, Name: "receive", Bytes: r.room, Peer: peer, Tag: tag, Context: r.ch.id, In: true}
	l.Stage(l.At, "waits for a message")
	r.life = t.ring.Begin(&l)
}

// unexpected: a message waits for its receive.
func (t *tracer) unexpected(m *channel, s *message) {
	if t != nil {
		t.addUnexpected(m, s)
	}
}

func (t *tracer) addUnexpected(m *channel, s *message) {
	if x := t.of(m); x != nil {
		s.came.flow = t.inFlow(x, m, s.source)
		s.came.mark = t.ring.BeginEvent(trace.Event{At: t.ring.Now(), Cat: x.cat, Name: "unexpected", Bytes: s.length})
	}
}

// found: a receive has got a message that was stored.
func (t *tracer) found(r *recvReq, s *message) {
	if t != nil && r.life != 0 {
		t.match(r, s.source, s.tag, s.frame, s.length, s.came.flow)
	}
}

// matched: a receive has got the message of n bytes that has just been put in sequence; or that found has told of already.
func (t *tracer) matched(r *recvReq, source, tag int32, frame uint8, n int64) {
	if t != nil && r.life != 0 {
		t.match(r, source, tag, frame, n, 0)
	}
}

// match joins a receive to its message; of flow 0, to the one that has just been put in sequence.
func (t *tracer) match(r *recvReq, source, tag int32, frame uint8, n int64, flow uint64) {
	if flow == 0 {
		if r.isMatched {
			return
		}
		flow = t.inFlow(t.of(r.ch), r.ch, source)
	}
	r.isMatched = true
	at := t.ring.Now()
	if l := t.ring.Edit(r.life); l != nil {
		l.Stage(at, "data")
		l.Peer, l.Tag, l.Bytes, l.Flow = int32(r.ch.ranks[source].job), tag, n, flow
		switch frame {
		case typeMatch:
			l.Detail = protoEager.String()
		case typeRget:
			l.Detail = protoRget.String()
		case typeRndv:
			l.Detail = protoRndv.String()
		}
		t.ring.Done()
	}
}

// Finish hides that of core.Request, to end the life too.
func (s *sendReq) Finish() {
	if s.o.tr != nil {
		s.o.tr.endSend(s)
	}
	s.Request.Finish()
}

// FinishErr is Finish with an error.
func (s *sendReq) FinishErr(err error) {
	s.Status.Err = err
	s.Finish()
}

func (t *tracer) endSend(s *sendReq) {
	if s.life == 0 {
		return
	}
	at := t.ring.Now()
	if x := t.ring.Edit(s.life); x != nil {
		x.End, x.Failed = at, s.Status.Err != nil
		if x.Detail == "" && !x.Failed { // it went before anything had to be prepared
			x.Detail, x.Why = protoInline.String(), whyInline
		}
		t.ring.Done()
	}
	s.life = 0
}

// Finish hides that of core.Request, to end the life too.
func (r *recvReq) Finish() {
	if r.o.tr != nil {
		r.o.tr.endRecv(r)
	}
	r.Request.Finish()
}

// FinishErr is Finish with an error.
func (r *recvReq) FinishErr(err error) {
	r.Status.Err = err
	r.Finish()
}

func (t *tracer) endRecv(r *recvReq) {
	if r.life == 0 {
		return
	}
	at := t.ring.Now()
	if x := t.ring.Edit(r.life); x != nil {
		x.End, x.Failed = at, r.Status.Err != nil
		switch {
		case r.Status.Cancelled:
			x.Detail = "cancelled"
		case r.isMatched && x.Detail != protoEager.String() && !x.Failed:
			x.Detail = r.proto.String() // how it came, which may differ from what was offered
		}
		t.ring.Done()
	}
	r.life, r.isMatched = 0, false
}

package ob1

import (
	"github.com/ompi-go/ompi-go/pml"
	"github.com/ompi-go/ompi-go/trace"
)

// The lives of sends in the trace: see trace.go.

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
	case l.wish != protoAuto:
		return "pml_ob1_protocol"
	case s.proto == protoRget:
		return "exceeds the eager limit, and the receiver can read the memory"
	case s.proto == protoCoop:
		return "exceeds the eager limit, and both ends can copy"
	case s.proto == protoPut:
		return "exceeds the eager limit, and the receiver's memory can be written"
	case s.proto == protoPipeline:
		return "long enough to be registered piece by piece"
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
func (t *tracer) answered(s *sendReq, stage string) {
	if t != nil && s.life != 0 {
		t.stage(s.life, stage)
	}
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

package ob1

import "github.com/ompi-go/ompi-go/trace"

// The lives of receives in the trace, and the time that unexpected messages wait: see trace.go.

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

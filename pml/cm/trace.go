package cm

import (
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/trace"
)

// The trace of messages: at each end a life from the call to its completion. The transport matches, so that nobody here could tell which
// send a receive has got: no arrows join them.

// Tracers is how cm gets the instance's trace: optional among env.Upcalls.
type Tracers interface {
	// Trace is nil when nobody wants one.
	Trace() *trace.Ring
	// OfUsers reports whether a channel is for messages of the program, or for the library's own.
	OfUsers(channel uint32) bool
}

// tracer records the messages of one module. The token is held. A nil tracer is none.
type tracer struct {
	ring     *trace.Ring
	users    func(channel uint32) bool
	internal bool // the library's own messages, too
}

func newTracer(env *btl.Env, internal bool) *tracer {
	t, ok := env.Upcalls.(Tracers)
	if !ok || t.Trace() == nil {
		return nil
	}
	return &tracer{ring: t.Trace(), users: t.OfUsers, internal: internal}
}

// category is that of a channel's messages, "" when they are not recorded.
func (t *tracer) category(ch *core.Channel) string {
	switch {
	case t.users(ch.ID):
		return "pml"
	case t.internal:
		return "pml.internal"
	}
	return ""
}

// start is the present time, 0 when nothing is recorded.
func (t *tracer) start() int64 {
	if t == nil {
		return 0
	}
	return t.ring.Now()
}

// sentNow records a message that has gone without a request.
func (t *tracer) sentNow(from int64, ch *core.Channel, dest, tag int, n int64) {
	if cat := t.category(ch); cat != "" {
		t.ring.Begin(&trace.Life{At: from, End: t.ring.Now(), Cat: cat, Name: "send", Detail: protoInline, Bytes: n, Peer: int32(ch.Comm.Procs[dest].Rank), Tag: int32(tag), Context: ch.ID})
	}
}

// begin begins the life of a request.
func (t *tracer) begin(q *request) {
	q.life = 0
	ch := q.m.Ch
	cat := t.category(ch)
	if cat == "" {
		return
	}
	l := trace.Life{At: t.ring.Now(), Cat: cat, Name: "send", Detail: protoMTL, Bytes: q.m.Buf.Bytes(), Peer: -1, Tag: int32(max(q.m.Tag, -1)), Context: ch.ID, In: !q.isSend}
	if l.In {
		l.Name = "receive"
	}
	if q.m.Peer >= 0 {
		l.Peer = int32(ch.Comm.Procs[q.m.Peer].Rank)
	}
	q.life = t.ring.Begin(&l)
}

// end ends it.
func (t *tracer) end(q *request) {
	if q.life == 0 {
		return
	}
	at := t.ring.Now()
	if x := t.ring.Edit(q.life); x != nil {
		x.End, x.Failed = at, q.Status.Err != nil
		switch {
		case q.Status.Cancelled:
			x.Detail = "cancelled"
		case x.In && q.Status.Source >= 0:
			x.Peer, x.Tag, x.Bytes = int32(q.m.Ch.Comm.Procs[q.Status.Source].Rank), int32(q.Status.Tag), q.Status.Bytes()
		}
		t.ring.Done()
	}
	q.life = 0
}

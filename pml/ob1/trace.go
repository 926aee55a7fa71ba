package ob1

import (
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/trace"
)

// The trace of messages: at each end a life (trace.Life), from the call to its completion, in stages, with the protocol and why it was
// chosen; an arrow leads from the send to the receive that got it. With tracing off module.tr is nil, and a hook is one comparison;
// recording allocates nothing either way.
//
// Requests end in many places, which the trace need not know: their Finish and FinishErr (trace_send.go, trace_recv.go) stand
// before those of core.Request.

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
// channel. All that was sent has come by then, so that both ends count alike; only where a member of the one before had died, arrows of the
// next may lead astray.
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

package nbc

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/coll/colltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/pml"
)

// wire is a PML whose messages end when the test says so.
type wire struct {
	pml.Module
	list []*message
}

type message struct {
	req       core.Request
	recv      bool
	matched   bool // cancelling comes too late
	cancelled int
}

func (w *wire) MaxTag() int { return 1<<30 - 1 }

func (w *wire) begin(ch *core.Channel, b core.Buffer, peer int, recv bool) *core.Request {
	m := &message{recv: recv}
	m.req.Engine, m.req.Owner = ch.Comm.Engine, m
	m.req.Renew(ch.Comm, "", peer, b)
	w.list = append(w.list, m)
	return &m.req
}

func (w *wire) BeginSend(ch *core.Channel, b core.Buffer, dest, tag int) *core.Request {
	return w.begin(ch, b, dest, false)
}

func (w *wire) BeginRecv(ch *core.Channel, b core.Buffer, source, tag int) *core.Request {
	return w.begin(ch, b, source, true)
}

func (m *message) Start(*core.Request) error { panic("not persistent") }

func (m *message) Cancel(r *core.Request) error {
	if m.cancelled++; !m.matched {
		r.Status.Cancelled = true
		r.Finish()
	}
	return nil
}

// planner has one algorithm for an operation.
type planner map[alg.Kind]string

func (p planner) Plan(a *alg.Args) *alg.Algorithm { return alg.Named(a.Kind, p[a.Kind]) }

// bench is rank 0 of three.
type bench struct {
	t *testing.T
	w *wire
	m *module
}

func newBench(t *testing.T) *bench {
	c := colltest.NewFabric(3, 0).Comm(0, []int{0, 1, 2}, 0)
	w := new(wire)
	f := &factory{pml: w, opts: Options{ScratchLimitBytes: 1 << 20}}
	return &bench{t, w, &module{f: f, comm: c, plan: planner{alg.Allgather: "linear", alg.Bcast: "linear"}}}
}

// locked runs f with the token held.
func (b *bench) locked(f func()) {
	b.m.comm.Engine.Lock()
	defer b.m.comm.Engine.Unlock()
	f()
}

// finish ends the messages that are under way and takes what steps that allows.
func (b *bench) finish(err error) {
	b.locked(func() {
		list := b.w.list
		b.w.list = nil
		for _, m := range list {
			if !m.req.Done() {
				m.req.FinishErr(err)
			}
		}
		b.m.comm.Engine.Poll()
	})
}

func (b *bench) fail(err *core.Error) {
	b.locked(func() {
		b.m.comm.SetFault(&core.Fault{Err: err})
		b.m.f.CommFailed(b.m.comm)
		b.m.comm.Engine.Poll()
	})
}

func (b *bench) idle(want bool) {
	b.t.Helper()
	if got := b.m.comm.Idle().Done(); got != want {
		b.t.Errorf("the communicator is idle: %v, want %v", got, want)
	}
	if got := len(b.m.f.active) == 0; got != want {
		b.t.Errorf("nothing is active: %v, want %v", got, want)
	}
}

func (b *bench) args() *alg.Args {
	buf := make([]int64, 3)
	return &alg.Args{Kind: alg.Allgather, Send: core.InPlaceBuffer(), Recv: core.MakeBuffer(unsafe.Pointer(&buf[0]), 3, datatype.Int64)}
}

func (b *bench) start(h core.Handle) {
	b.locked(func() {
		if err := h.R.Owner.Start(h.R); err != nil {
			b.t.Error(err)
		}
	})
}

var died = core.NewError(core.ErrProcFailed, "a test's death")

// TestFreedWhilePending: an operation whose request is given up goes on, holds its communicator until it is over, and serves again.
func TestFreedWhilePending(t *testing.T) {
	for _, persistent := range []bool{false, true} {
		b := newBench(t)
		var h core.Handle
		if persistent {
			h = b.m.Init(b.args()).Handle()
			b.start(h)
		} else {
			h = b.m.Start(b.args()).Handle()
		}
		b.idle(false)
		b.locked(h.Abandon)
		b.idle(false)
		b.finish(nil)
		b.idle(true)
		if again := b.m.Start(b.args()); again != h.R {
			t.Errorf("persistent %v: the operation is not used again", persistent)
		}
		b.finish(nil)
		b.idle(true)
	}
}

// TestFreedAtRest: of a persistent operation that is given up between starts nothing stays.
func TestFreedAtRest(t *testing.T) {
	b := newBench(t)
	h := b.m.Init(b.args()).Handle()
	b.locked(h.Abandon)
	b.idle(true)
	if len(b.m.f.spare) != 0 {
		t.Error("it is kept")
	}
}

// TestFaultWhilePending: receives are cancelled, or waited for when they have matched; sends are left alone, with their memory.
func TestFaultWhilePending(t *testing.T) {
	for _, persistent := range []bool{false, true} {
		b := newBench(t)
		var h core.Handle
		if persistent {
			h = b.m.Init(b.args()).Handle()
			b.start(h)
		} else {
			h = b.m.Start(b.args()).Handle()
		}
		var late *message
		for _, m := range b.w.list {
			if m.recv && late == nil {
				m.matched, late = true, m
			}
		}
		b.fail(died)
		b.idle(false)
		if h.R.Done() {
			t.Fatal("it ended while a message came to its buffer")
		}
		sends := b.w.list
		b.w.list = []*message{late}
		b.finish(nil)
		b.idle(true)
		if st, ok := h.Take(); !ok || !errors.Is(st.Err, core.ErrProcFailed) {
			t.Errorf("persistent %v: %v, %v", persistent, st.Err, ok)
		}
		for _, m := range sends {
			if m.recv {
				if m.cancelled == 0 || !m.req.Retired() {
					t.Error("a receive is left")
				}
			} else if m.req.Done() || m.req.Hook != nil {
				t.Error("a send was ended, or still tells of its end")
			}
		}
		b.w.list = sends
		b.finish(died)
		if persistent { // it cannot work again, and says so
			b.start(h)
			if st, ok := h.Take(); !ok || !errors.Is(st.Err, core.ErrProcFailed) {
				t.Errorf("started again: %v, %v", st.Err, ok)
			}
		}
		b.idle(true)
	}
}

// TestFaultBeforeStart: nothing is begun on a communicator that has a fault.
func TestFaultBeforeStart(t *testing.T) {
	b := newBench(t)
	p := b.m.Init(b.args()).Handle()
	b.fail(died)
	b.start(p)
	for _, h := range []core.Handle{p, b.m.Start(b.args()).Handle()} {
		if st, ok := h.Take(); !ok || !errors.Is(st.Err, core.ErrProcFailed) {
			t.Errorf("%v, %v", st.Err, ok)
		}
	}
	if len(b.w.list) != 0 {
		t.Errorf("%d messages were begun", len(b.w.list))
	}
	b.idle(true)
}

// TestErrorOfOneMessage: others end as they would, and the first error is the operation's.
func TestErrorOfOneMessage(t *testing.T) {
	b := newBench(t)
	h := b.m.Start(b.args()).Handle()
	b.locked(func() { b.w.list[0].req.FinishErr(core.NewError(core.ErrTruncate, "a test's")) })
	b.idle(false)
	b.finish(nil)
	if st, ok := h.Take(); !ok || !errors.Is(st.Err, core.ErrTruncate) {
		t.Errorf("%v, %v", st.Err, ok)
	}
	b.idle(true)
}

// TestMemoryIsLetGo: an operation that has ended keeps nothing of its user.
func TestMemoryIsLetGo(t *testing.T) {
	b := newBench(t)
	h := b.m.Start(b.args()).Handle()
	b.finish(nil)
	h.Take()
	for _, o := range b.m.f.spare {
		if o.req.Buf.Addr() != nil {
			t.Error("the request keeps its buffer")
		}
		for _, s := range o.schedule.Steps[:cap(o.schedule.Steps)] {
			if s.Buf.Addr() != nil || s.From.Addr() != nil || s.Op != nil {
				t.Errorf("a step keeps %v", s)
			}
		}
		for _, p := range o.pending[:cap(o.pending)] {
			if p.h.R != nil {
				t.Error("a message is kept")
			}
		}
	}
}

// TestTagsOfPersistentOperations: however many operations come and go, none gets the tag of a persistent one, which may be under way.
func TestTagsOfPersistentOperations(t *testing.T) {
	m := newBench(t).m
	kept := m.nextTag(true)
	for range tagCount + 1 {
		if got := m.nextTag(false); got == kept || got < tagFirst || got >= tagFirst+tagCount {
			t.Fatalf("tag %d; the persistent operation has %d", got, kept)
		}
	}
	for _, seen := range []uint32{1<<31 - 1, 1<<32 - 2} { // no negative ones, after very many
		m.made.Store(seen)
		if got := m.nextTag(true); got < tagFirst+tagCount/2 || got >= tagFirst+tagCount {
			t.Errorf("tag %d after %d operations", got, seen)
		}
	}
}

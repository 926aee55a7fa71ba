// Package nbc is the collective component with the non-blocking and persistent forms of every operation. It asks the component below
// which algorithm to take, has it recorded as a schedule, and runs the schedule from the progress engine: the completion of the last
// message of a step wakes it, a poller of the engine takes the next step. So operations move on whenever this rank is inside any MPI
// call, and cost nothing while they wait.
//
// Only package coll calls it, through its mca registration.
package nbc

import (
	"slices"
	"sync/atomic"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/pml"
	"github.com/ompi-go/ompi-go/progress"
)

func init() { mca.Register(component{}) }

type component struct{}

// Options are the parameters coll_nbc_*.
type Options struct {
	Priority          int   `mca:"priority" default:"35" min:"0" max:"100" level:"6" help:"priority of the component; each operation is taken from the component of the highest"`
	ScratchLimitBytes int64 `mca:"scratch_limit" default:"1m" min:"0" level:"7" unit:"bytes" help:"scratch memory that a finished operation keeps for the next one; what is above is given back"`
}

func (component) Framework() string { return "coll" }
func (component) Name() string      { return "nbc" }
func (component) Options() any      { return new(Options) }

// Open implements coll.Component.
func (component) Open(env *coll.Env) (coll.Factory, error) {
	f := &factory{pml: env.PML, Uses: alg.Uses{Component: "nbc", Trace: env.Trace}}
	if err := env.Params.Decode("coll", "nbc", &f.opts); err != nil {
		return nil, err
	}
	return f, nil
}

// factory runs the operations of one instance. Its fields belong to the token but for those of package alg.
type factory struct {
	pml    pml.Module
	opts   Options
	source *progress.Source // on while something is ready
	ready  []*operation     // can take a step
	spare  []*operation     // ended, but perhaps still held by the user
	active []*operation     // begun and not ended
	alg.Uses
}

// Query implements coll.Factory: it works over whatever is below.
func (f *factory) Query(c *core.Comm) (priority int, ok bool) { return f.opts.Priority, true }

// Enable implements coll.Factory.
func (f *factory) Enable(c *core.Comm, below *coll.Table) (coll.Module, error) {
	return &module{f: f, comm: c, plan: below.Plan}, nil
}

// Poll implements progress.Poller: everything that is ready takes its steps.
func (f *factory) Poll() int {
	n := len(f.ready)
	for i := 0; i < len(f.ready); i++ { // steps may make others ready
		o := f.ready[i]
		f.ready[i] = nil
		o.advance()
	}
	f.ready = f.ready[:0]
	f.source.Off()
	return n
}

// wake has o take its next steps in the coming pass. The token is held.
func (f *factory) wake(o *operation) {
	if o.queued {
		return
	}
	o.queued = true
	f.ready = append(f.ready, o)
	if f.source == nil {
		f.source = o.comm.Engine.AddPoller(f)
	} else {
		f.source.On()
	}
	o.comm.Engine.Wake() // nobody polls while the driver sleeps
}

// CommFailed implements coll.FaultListener.
func (f *factory) CommFailed(c *core.Comm) {
	for _, o := range f.active {
		if o.comm == c {
			f.wake(o)
		}
	}
}

// module serves one communicator.
type module struct {
	f    *factory
	comm *core.Comm
	plan coll.Planner
	// Operations started and persistent ones made, each the same on all members.
	started, made atomic.Uint32
}

// Tags begin above those of blocking operations, one half for what is started once and one for persistent operations, which keep theirs.
// So two operations of a communicator that are under way together have different ones, but if half a million lie between them.
const (
	tagFirst = 64
	tagCount = 1 << 20
)

func (m *module) nextTag(persistent bool) int {
	half := uint32(min(tagCount, m.f.pml.MaxTag()-tagFirst) / 2)
	if persistent {
		return tagFirst + int(half+(m.made.Add(1)-1)%half)
	}
	return tagFirst + int((m.started.Add(1)-1)%half)
}

// Start implements coll.Starter.
func (m *module) Start(a *alg.Args) *core.Request {
	o := m.make(a, false)
	e := m.comm.Engine
	e.Lock()
	o.begin()
	e.Unlock()
	return &o.req
}

// Init implements coll.Starter.
func (m *module) Init(a *alg.Args) *core.Request {
	o := m.make(a, true)
	return &o.req
}

// make plans and records the operation.
func (m *module) make(a *alg.Args, persistent bool) *operation {
	f := m.f
	tag := m.nextTag(persistent)
	m.comm.Engine.Lock()
	o := f.take()
	o.comm, o.tag = m.comm, tag
	o.req.Renew(m.comm, "", core.Undefined, a.Recv)
	o.req.Engine, o.req.Owner, o.req.Persistent = m.comm.Engine, o, persistent
	m.comm.Engine.Unlock()
	if m.plan == nil {
		o.broken = core.NewError(core.ErrUnsupportedOperation, "coll: no component plans non-blocking operations of this communicator")
		return o
	}
	g := m.plan.Plan(a)
	o.bytes = a.Bytes(m.comm.MyRank, m.comm.Size())
	o.schedule, o.broken = alg.Record(o.schedule, g, a, m.comm)
	return o
}

// take gives an operation that nobody uses.
func (f *factory) take() *operation {
	for i, o := range f.spare {
		if o.req.Retired() {
			f.spare[i] = f.spare[len(f.spare)-1]
			f.spare = f.spare[:len(f.spare)-1]
			return o
		}
		if i == 8 { // users that keep many complete requests pay with memory, not with time
			break
		}
	}
	return &operation{f: f}
}

// maxSpare bounds the ended operations that are kept.
const maxSpare = 256

// ended takes o out of the active ones.
func (f *factory) ended(o *operation) {
	last := len(f.active) - 1
	moved := f.active[last]
	f.active[o.at] = moved
	moved.at = o.at
	f.active[last] = nil
	f.active = f.active[:last]
}

// Close implements coll.Module. Nothing is under way.
func (m *module) Close() error {
	e := m.comm.Engine
	e.Lock()
	defer e.Unlock()
	m.f.spare = slices.DeleteFunc(m.f.spare, func(o *operation) bool { return o.comm == m.comm && !o.req.Retired() })
	return nil
}

// Package pt2pt is the one-sided component that works over any PML, by messages alone. An operation is queued at its origin as a command (package osc/am), and
// the queue of a target is sent as one message when the synchronisation that closes the epoch comes, when it has grown to a message's size, or when somebody
// waits for a result; the request for a lock and its release ride in the same message. The target carries commands out while its engine moves, and answers with one
// message for each that wants results or an acknowledgement. Large contiguous operations are announced, and their data is a message of its own between the
// memories of both programs.
//
// This is how CH3 of MPICH does it, and what the RCKMPI paper compares with. A target that never enters the library needs mpi_async_progress, or a PML whose
// transport moves by itself.
//
//	packet.go   messages: their form, memory, sending and receiving
//	peer.go     what is queued for a target, and what is known of it
//	issue.go    operations at their origin
//	serve.go    what a target does with commands
//	lock.go     the queue for the lock of a window's memory
//	sync.go     fence; post, start, complete, wait; locks and flushes
//	wait.go     waiting for what comes
//
// Only package osc calls it, through its mca registration.
package pt2pt

import (
	"errors"
	"slices"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/pml"
	"github.com/ompi-go/ompi-go/progress"
)

func init() { mca.Register(component{}) }

type component struct{}

// Options are the parameters osc_pt2pt_*.
type Options struct {
	Priority   int   `mca:"priority" default:"10" min:"0" max:"100" level:"6" help:"priority of the component; each window is served by the component of the highest"`
	BufferSize int64 `mca:"buffer_size" default:"8k" min:"512" max:"1m" level:"5" unit:"bytes" help:"operations queued for one target before they are sent, which is the largest message of commands; of all members of a window the least value counts"`
	LongLimit  int64 `mca:"long_limit" default:"16k" min:"0" level:"5" unit:"bytes" help:"puts and gets of at least this size whose target is contiguous travel as messages of their own between the two memories"`
	Piggyback  bool  `mca:"piggyback" default:"true" level:"5" help:"a lock is asked for by the message that carries the first operations, so that lock, operation and unlock are one message; else lock waits until it is granted"`
	Receives   int   `mca:"receive_count" default:"4" min:"1" max:"1024" level:"6" help:"receives that wait for commands on each window"`
}

func (component) Framework() string { return "osc" }
func (component) Name() string      { return "pt2pt" }
func (component) Options() any      { return new(Options) }

// Open implements osc.Component.
func (component) Open(env *osc.Env) (osc.Factory, error) {
	f := &factory{env: env, pml: env.PML}
	if err := env.Params.Decode("osc", "pt2pt", &f.opts); err != nil {
		return nil, err
	}
	return f, nil
}

// factory moves the windows of one instance. Its fields belong to the token.
type factory struct {
	env     *osc.Env
	pml     pml.Module
	opts    Options
	source  *progress.Source // on while something is ready
	ready   []*module        // have something to look at
	windows []*module
	stats   stats
}

// Query implements osc.Factory.
func (f *factory) Query(w *osc.Win) (priority int, err error) {
	if w.Flavor == osc.Shared {
		return 0, errors.New("its members reach memory by messages only, not by loads and stores")
	}
	return f.opts.Priority, nil
}

// Poll implements progress.Poller: what has come is looked at.
func (f *factory) Poll() int {
	n := 0
	for i := 0; i < len(f.ready); i++ { // a look may make others ready
		m := f.ready[i]
		f.ready[i] = nil
		m.queued = false
		n += m.look()
	}
	f.ready = f.ready[:0]
	f.source.Off()
	return n
}

// wake has m looked at in the coming pass. The token is held.
func (f *factory) wake(m *module) {
	if m.queued {
		return
	}
	m.queued = true
	f.ready = append(f.ready, m)
	if f.source == nil {
		f.source = m.engine.AddPoller(f)
	} else {
		f.source.On()
	}
	m.engine.Wake() // nobody polls while the driver sleeps
}

// CommFailed implements osc.FaultListener.
func (f *factory) CommFailed(c *core.Comm) {
	for _, m := range f.windows {
		if m.comm == c {
			f.wake(m)
		}
	}
}

// Close implements osc.Factory.
func (f *factory) Close() error {
	if f.source != nil {
		f.windows, f.ready = nil, nil
	}
	return nil
}

// forget takes a window out.
func (f *factory) forget(m *module) {
	f.windows = slices.DeleteFunc(f.windows, func(o *module) bool { return o == m })
}

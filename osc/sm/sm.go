// Package sm is the one-sided component for members that share memory (MPI-3.1 chapter 11): processes of one host, goroutine ranks of one process. An
// operation is loads and stores by the origin, or atomic instructions, and complete when the call returns, so that there is nothing to flush; the target does nothing.
//
//	setup.go     a window's memory is made, and mapped by all
//	layout.go    what lies where in it
//	ops.go       operations
//	dynamic.go   memory that is attached later, among goroutine ranks
//	control.go   locks, post, start, complete, wait (package words) and the fence, over words in the same memory
//
// Between processes it serves windows whose memory MPI allocates; among goroutines all.
//
// Only package osc calls it, through its mca registration.
package sm

import (
	"errors"
	"slices"

	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/rte"
)

func init() { mca.Register(component{}) }

type component struct{}

// Options are the parameters osc_sm_*. All ranks must have the same values.
type Options struct {
	Priority int    `mca:"priority" default:"100" min:"0" max:"200" level:"6" help:"priority of the component; a window is served by the component of the highest that can"`
	Locks    string `mca:"locks" default:"auto" enum:"auto|queue|poll" level:"7" help:"how to wait for a lock: in a queue (MCS), in which those who came first are served first; by asking again and again (poll); or in a queue unless the host has more ranks than cores, where the next in a queue mostly has none"`
}

func (component) Framework() string { return "osc" }
func (component) Name() string      { return "sm" }
func (component) Options() any      { return new(Options) }

// Open implements osc.Component. It succeeds without shared memory, too: which component serves a window is agreed among its members.
func (component) Open(env *osc.Env) (osc.Factory, error) {
	f := &factory{env: env}
	if err := env.Params.Decode("osc", "sm", &f.opts); err != nil {
		return nil, err
	}
	return f, nil
}

type factory struct {
	env  *osc.Env
	opts Options
	open []*module // the token guards it
}

// Why windows are declined.
var (
	errHosts     = errors.New("members are on several hosts")
	errProcesses = errors.New("members are several processes, and the program's own memory cannot be mapped by the others; WinAllocate gives memory that can")
	errNoMemory  = errors.New("this rank has no shared memory")
)

// Query implements osc.Factory.
func (f *factory) Query(w *osc.Win) (int, error) {
	switch {
	case !w.OneHost:
		return 0, errHosts
	case !w.OneProcess && (w.Flavor == osc.Create || w.Flavor == osc.Dynamic):
		return 0, errProcesses
	}
	return f.opts.Priority, nil
}

// Close implements osc.Factory. Windows that were not freed lose their names; their memory goes with them.
func (f *factory) Close() error {
	var errs []error
	for len(f.open) > 0 {
		errs = append(errs, f.open[0].letGo())
	}
	return errors.Join(errs...)
}

// queues tells whether who waits for a lock stands in a queue. Members that differ agree all the same on who has it.
func (f *factory) queues() bool {
	switch f.opts.Locks {
	case "queue":
		return true
	case "poll":
		return false
	}
	return len(f.env.Job.LocalRanks()) <= rte.HostCores()
}

// forget takes a module out. The token is held.
func (f *factory) forget(m *module) {
	if i := slices.Index(f.open, m); i >= 0 {
		f.open = slices.Delete(f.open, i, i+1)
	}
}

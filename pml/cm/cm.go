// Package cm is the thin PML: it turns MPI's calls into requests and hands them to the one MTL of the instance, which matches messages
// itself, in hardware or in an interface of its own (package mtl). No protocol and no matching is here, and nothing is checked again.
//
// What is here is what every transport would need: requests and their pool (request.go), probes that wait (probe.go), what a death
// means to receives that nothing has matched (fault.go), and the end of a communicator (settle.go). Everything happens with the engine's token
// held. A small blocking send is one call of the MTL, without a request.
package cm

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/metrics"
	"github.com/ompi-go/ompi-go/mtl"
	"github.com/ompi-go/ompi-go/pml"
	"github.com/ompi-go/ompi-go/progress"
)

func init() { mca.Register(component{}) }

type component struct{}

// Options are the component's parameters.
type Options struct {
	Priority      int  `mca:"priority" default:"10" min:"0" max:"100" level:"9" help:"priority among the PMLs"`
	TraceInternal bool `mca:"trace_internal" default:"false" level:"6" help:"record the library's own messages, such as those of collectives, in mpi_trace_file too, under the category pml.internal"`
}

func (component) Framework() string { return "pml" }
func (component) Name() string      { return "cm" }
func (component) Options() any      { return new(Options) }

// Priority implements pml.Component.
func (component) Priority(params *mca.Params) (int, error) {
	var opt Options
	err := params.Decode("pml", "cm", &opt)
	return opt.Priority, err
}

// Open opens the MTL of the highest priority that works here, and the module over it.
func (component) Open(env *btl.Env) (pml.Module, error) {
	var opt Options
	if err := env.Params.Decode("pml", "cm", &opt); err != nil {
		return nil, err
	}
	if env.Mixed {
		return nil, fmt.Errorf("pml cm: %w: mpi_architecture is set, and no mtl converts between architectures; use pml ob1", btl.ErrUnavailable)
	}
	t, err := choose(env)
	if err != nil {
		return nil, err
	}
	if err := suits(t, env.Job.Size()); err != nil {
		env.Engine.Lock()
		defer env.Engine.Unlock()
		return nil, errors.Join(err, t.Close())
	}
	return newModule(env, t, opt), nil
}

// choose opens the MTLs that are allowed, and keeps the one of the highest priority.
func choose(env *btl.Env) (mtl.Module, error) {
	allowed := env.Params.Selection("mtl")
	var best mtl.Module
	high := 0
	var why []string
	for _, c := range env.Registry.Components("mtl") {
		if !allowed.Allows(c.Name()) {
			continue
		}
		t, priority, err := c.(mtl.Component).Open(env)
		if err != nil {
			why = append(why, fmt.Sprintf("mtl %s: %s", c.Name(), strings.TrimPrefix(err.Error(), "mtl "+c.Name()+": ")))
			continue
		}
		lesser := t
		if best == nil || priority > high {
			lesser, best, high = best, t, priority
		}
		if lesser != nil {
			env.Engine.Lock()
			err := lesser.Close()
			env.Engine.Unlock()
			if err != nil {
				return nil, fmt.Errorf("pml cm: closing mtl %s, which %s outdoes: %w", lesser.Name(), best.Name(), err)
			}
		}
	}
	if best == nil {
		if why == nil {
			why = []string{"the parameter mtl allows none"}
		}
		return nil, fmt.Errorf("pml cm: %w: no mtl can be used: %s", btl.ErrUnavailable, strings.Join(why, "; "))
	}
	return best, nil
}

// leastTag is the least TagUB of MPI (MPI-3.1 §8.1.2).
const leastTag = 32767

// suits refuses an MTL whose names are too short for the job.
func suits(t mtl.Module, size int) error {
	switch {
	case size-1 > t.MaxRank():
		return fmt.Errorf("pml cm: mtl %s names ranks from 0 to %d, and the job has %d; see its parameters, or use pml ob1", t.Name(), t.MaxRank(), size)
	case t.MaxTag() < leastTag:
		return fmt.Errorf("pml cm: the largest tag of mtl %s is %d, MPI wants %d at least; see its parameters", t.Name(), t.MaxTag(), leastTag)
	}
	return nil
}

type module struct {
	env        *btl.Env
	engine     *progress.Engine
	mtl        mtl.Module
	maxTag     int
	maxContext uint32
	tr         *tracer // nil: nobody wants a trace
	stats      stats
	source     *progress.Source // on while probes wait

	free  *request
	out   requestQueue // held by users
	recvs requestList  // receives that the MTL has
	sends int          // sends that it has

	probes     []*probe
	freeProbes *probe
	messages   *message
}

func newModule(env *btl.Env, t mtl.Module, opt Options) *module {
	o := &module{env: env, engine: env.Engine, mtl: t, maxTag: min(t.MaxTag(), pml.PairTags-1), maxContext: t.MaxContext()}
	o.tr = newTracer(env, opt.TraceInternal)
	o.engine.Lock()
	o.source = o.engine.AddPoller(o)
	o.source.Off()
	o.engine.Unlock()
	return o
}

func (o *module) Name() string       { return "cm" }
func (o *module) MaxTag() int        { return o.maxTag }
func (o *module) MaxContext() uint32 { return o.maxContext }

// Terms implements pml.Termed.
func (o *module) Terms() string {
	words := "mtl " + o.mtl.Name()
	if t, ok := o.mtl.(mtl.Termed); ok {
		words += " (" + t.Terms() + ")"
	}
	return words
}

// Limit implements pml.Limiter.
func (o *module) Limit(maxTag int, maxContext uint32) {
	o.maxTag, o.maxContext = min(o.maxTag, maxTag), min(o.maxContext, maxContext)
}

// AddComm implements pml.Module.
func (o *module) AddComm(c *core.Comm) error {
	o.engine.Lock()
	defer o.engine.Unlock()
	if c.Inner.ID > o.maxContext {
		return core.NewError(core.ErrOther, "pml cm over mtl %s has no context %d: its limit is %d", o.mtl.Name(), c.Inner.ID, o.maxContext)
	}
	return o.mtl.AddComm(c)
}

// DelComm implements pml.Module.
func (o *module) DelComm(c *core.Comm) {
	o.engine.Lock()
	defer o.engine.Unlock()
	o.mtl.DelComm(c)
}

// PathsChanged implements pml.Module: the MTL has ways of its own.
func (o *module) PathsChanged(*core.Proc) {}

// Finishing implements pml.Finisher.
func (o *module) Finishing() {
	if f, ok := o.mtl.(pml.Finisher); ok {
		f.Finishing()
	}
}

// Quiet implements pml.Module.
func (o *module) Quiet() bool { return o.sends == 0 && o.mtl.Quiet() }

// Pending implements pml.Pender.
func (o *module) Pending() string {
	var say []string
	if s := o.mtl.Pending(); s != "" {
		say = append(say, s)
	}
	for _, x := range []struct {
		n    int
		what string
	}{{o.sends, "sends under way"}, {o.recvs.n, "receives that wait for their messages or the rest of them"}, {len(o.probes), "probes that wait"}} {
		if x.n > 0 {
			say = append(say, fmt.Sprintf("%s: %d", x.what, x.n))
		}
	}
	return strings.Join(say, ", ")
}

// Close implements pml.Module.
func (o *module) Close() error {
	o.engine.RemovePoller(o)
	return o.mtl.Close()
}

// sources are what has counters.
func (o *module) sources() []metrics.Source {
	if s, ok := o.mtl.(metrics.Source); ok {
		return []metrics.Source{s}
	}
	return nil
}

var (
	_ pml.Module     = (*module)(nil)
	_ pml.Component  = component{}
	_ pml.Canceller  = (*module)(nil)
	_ pml.Finisher   = (*module)(nil)
	_ pml.Pender     = (*module)(nil)
	_ metrics.Source = (*module)(nil)
)

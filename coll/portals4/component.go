package portals4

import (
	"fmt"
	"slices"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	p4 "github.com/ompi-go/ompi-go/portals4"
)

func init() { mca.Register(component{}) }

type component struct{}

// Options are the parameters coll_portals4_*. All ranks must have the same values.
type Options struct {
	Priority int   `mca:"priority" default:"37" min:"0" max:"100" level:"6" help:"priority of the component; each operation is taken from the component of the highest. The default is between nbc and sm: within a host that shares memory, blocking operations meet on sm's board"`
	Radix    int   `mca:"radix" default:"4" min:"1" max:"64" level:"6" help:"children of a rank in the tree of a communicator; must be the same in all ranks"`
	Slots    int   `mca:"slots" default:"4" min:"1" max:"64" level:"6" help:"rounds that a communicator can have under way; more segments of large data travel at a time, for more memory; must be the same in all ranks"`
	Segment  int64 `mca:"segment" default:"8k" min:"64" max:"1m" level:"6" unit:"bytes" help:"size of the pieces in which data travels. A rank has room for two of them and one more for each child, for each slot of each communicator; must be the same in all ranks"`
	MaxData  int64 `mca:"max_data" default:"64k" min:"0" max:"1g" level:"6" unit:"bytes" help:"largest data of bcast and allreduce served here; larger data goes to the next component; must be the same in all ranks"`
}

func (component) Framework() string { return "coll" }
func (component) Name() string      { return "portals4" }
func (component) Options() any      { return new(Options) }

// Portal table indices, as in Open MPI.
const (
	ptUp   = 15 // what children send, and the own operand
	ptDown = 16 // what the parent sends
)

// Open implements coll.Component.
func (component) Open(env *coll.Env) (coll.Factory, error) {
	named := slices.Contains(env.Params.Selection("coll").Names(), "portals4")
	switch {
	case env.Env == nil || env.Env.Services == nil:
		return nil, fmt.Errorf("%w: nothing below can carry Portals", coll.ErrUnavailable)
	case env.Mixed:
		return nil, fmt.Errorf("%w: ranks are of different architectures, which atomic operations of the interface cannot convert between", coll.ErrUnavailable)
	case !named && !inUse(env):
		return nil, fmt.Errorf("%w: the instance does not use the Portals interface; name portals4 in the parameter coll to have it", coll.ErrUnavailable)
	}
	f := &factory{incarnations: map[uint64]uint32{}, Uses: alg.Uses{Component: "portals4", Trace: env.Trace}}
	if err := env.Params.Decode("coll", "portals4", &f.opts); err != nil {
		return nil, err
	}
	f.opts.Segment = max(min(f.opts.Segment, f.opts.MaxData+largestElement-1)&^(largestElement-1), largestElement)
	var err error
	if f.iface, err = p4.Of(env.Env); err != nil {
		return nil, fmt.Errorf("%w: %w", coll.ErrUnavailable, err)
	}
	e := env.Env.Engine
	e.Lock()
	defer e.Unlock()
	return f, f.open(env)
}

// inUse reports whether messages go over the Portals interface already; the same on all ranks.
func inUse(env *coll.Env) bool {
	return env.PML != nil && env.PML.Name() == "cm"
}

// open gets what all communicators share. The token is held.
func (f *factory) open(env *coll.Env) error {
	var err error
	if f.ni, err = f.iface.NI(p4.Matching|p4.PhysicalAddresses, p4.AnyPID, nil); err != nil {
		return err
	}
	f.limits = f.ni.Limits()
	f.opts.Segment = min(f.opts.Segment, int64(f.limits.MaxMsgSize-headerSize)&^(largestElement-1))
	f.atomicMax = min(f.opts.Segment, int64(f.limits.MaxAtomicSize)&^(largestElement-1))
	if f.up, err = f.ni.PTAlloc(0, nil, ptUp); err != nil {
		return err
	}
	if f.down, err = f.ni.PTAlloc(0, nil, ptDown); err != nil {
		return err
	}
	if f.nothing, err = f.ni.MDBind(&p4.MD{Options: p4.MDEventSuccessDisable}); err != nil {
		return err
	}
	// Greetings of communicators that this rank has not made yet wait here, as headers.
	if _, err = f.up.MEAppend(&p4.ME{UID: p4.AnyUID, Options: quiet &^ p4.EventCTComm, MatchID: p4.AnyProcess, MatchBits: phaseHello, IgnoreBits: ^uint64(phaseMask)},
		p4.OverflowList, nil); err != nil {
		return err
	}
	up := env.Env.Upcalls
	f.iface.OnFailure(func(p *core.Proc, cause error) { up.EndpointFailed(nil, p, true, cause) })
	return nil
}

// factory is what the communicators of one instance share. But for those of package alg its fields belong to the token.
type factory struct {
	opts      Options
	iface     *p4.Interface
	ni        *p4.NI
	limits    p4.Limits
	up, down  *p4.PT
	atomicMax int64 // bytes of one atomic operation; 0: the interface has none
	nothing   *p4.MDHandle
	// How many communicators of a context number (upper half) this rank has had in which it is a neighbour of a rank of the job.
	incarnations map[uint64]uint32
	reserved     int // triggered operations that the modules may need at a time
	modules      []*module
	graves       []*module    // closed, with messages under way
	spare        []*operation // ended, but perhaps still held by the user
	alg.Uses
}

// The way that operations go, for the metrics.
var (
	triggeredBarrier   = alg.Foreign(alg.Barrier, "triggered")
	triggeredBcast     = alg.Foreign(alg.Bcast, "triggered")
	triggeredAllreduce = alg.Foreign(alg.Allreduce, "triggered")
)

// Query implements coll.Factory.
func (f *factory) Query(c *core.Comm) (priority int, ok bool) {
	return f.opts.Priority, c.Remote() == nil && c.Size() > 1 && c.Context() < maxContext
}

// CommFailed implements coll.FaultListener.
func (f *factory) CommFailed(c *core.Comm) {
	for _, p := range c.Procs {
		if p.Failed() != nil {
			f.iface.ProcFailed(p)
		}
	}
	for _, m := range f.modules {
		if m.comm == c {
			m.fail(c.Fault().Err)
		}
	}
}

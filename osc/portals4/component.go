package portals4

import (
	"fmt"
	"slices"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/osc"
	p4 "github.com/ompi-go/ompi-go/portals4"
	"github.com/ompi-go/ompi-go/shm"
)

func init() { mca.Register(component{}) }

type component struct{}

// Options are the parameters osc_portals4_*. But for max_pending_ops all ranks must have the same values.
type Options struct {
	Priority   int    `mca:"priority" default:"20" min:"0" max:"100" level:"5" help:"priority of the component where it can be used: over pml cm, or where the parameter osc names it"`
	Lock       string `mca:"lock" default:"poll" enum:"poll|mcs" level:"5" help:"how locks are waited for: poll asks again and again with an atomic operation, as the paper does; mcs waits in a queue, without messages; must be the same in all ranks"`
	Flush      string `mca:"flush" default:"global" enum:"global|target" level:"5" help:"what MPI_Win_flush waits for: global all operations of the window, by one count, as the paper does; target those to its target, by counts for a few targets at a time"`
	Matching   bool   `mca:"matching" default:"true" level:"5" help:"windows are match list entries; without it they have portal table entries of their own on a non-matching interface, of which there are 256; must be the same in all ranks"`
	Dynamic    string `mca:"dynamic" default:"space" enum:"space|segments" level:"5" help:"dynamic windows: space is one entry for all attached memory, segments one for each piece"`
	Direct     bool   `mca:"direct" default:"true" level:"5" help:"small puts and gets to allocated windows are done by the origin itself where their memory is mapped, as on one host; without it they go by the interface, as in the paper; must be the same in all ranks"`
	Loc        string `mca:"loc" default:"lock" enum:"lock|engine" level:"5" help:"MAXLOC and MINLOC: lock gets, combines and puts back under a lock at the target, as the paper does; engine has the target's interface combine; must be the same in all ranks"`
	MaxMsg     int64  `mca:"max_msg_size" default:"1024g" min:"64" level:"6" unit:"bytes" help:"largest put or get, when the interface does not allow less; more is moved in pieces"`
	MaxAtomic  int64  `mca:"max_atomic_size" default:"16k" min:"64" level:"6" unit:"bytes" help:"largest atomic operation, when the interface does not allow less; larger accumulates go in pieces"`
	MaxPending int    `mca:"max_pending_ops" default:"512" min:"16" max:"64k" level:"6" help:"operations of a window under way from this rank; who begins more waits"`
	Targets    int    `mca:"flush_targets" default:"4" min:"1" max:"64" level:"6" help:"with osc_portals4_flush=target, how many targets have a count of their own at a time"`
}

func (component) Framework() string { return "osc" }
func (component) Name() string      { return "portals4" }
func (component) Options() any      { return new(Options) }

// Portal table indices and match bits.
const (
	ptWindows  = 4 // as in Open MPI
	bitControl = 1 << 60
)

// Open implements osc.Component.
func (component) Open(env *osc.Env) (osc.Factory, error) {
	named := slices.Contains(env.Params.Selection("osc").Names(), "portals4")
	inUse := env.PML != nil && env.PML.Name() == "cm" || slices.Contains(env.Params.Selection("btl").Names(), "portals4")
	switch {
	case env.Btl == nil || env.Btl.Services == nil:
		return nil, fmt.Errorf("%w: nothing below can carry Portals", osc.ErrUnavailable)
	case env.Btl.Mixed:
		return nil, fmt.Errorf("%w: ranks are of different architectures, which the interface cannot convert between", osc.ErrUnavailable)
	case !named && !inUse:
		return nil, fmt.Errorf("%w: the instance does not use the Portals interface; name portals4 in the parameter osc to have it", osc.ErrUnavailable)
	}
	f := &factory{alloc: env.Alloc, shm: env.Shm}
	if err := env.Params.Decode("osc", "portals4", &f.opts); err != nil {
		return nil, err
	}
	var err error
	if f.iface, err = p4.Of(env.Btl); err != nil {
		return nil, fmt.Errorf("%w: %w", osc.ErrUnavailable, err)
	}
	env.Btl.Bypass = true // targets compute, and do not call the library
	e := env.Btl.Engine
	e.Lock()
	defer e.Unlock()
	if err := f.open(); err != nil {
		return nil, err
	}
	up := env.Btl.Upcalls
	f.iface.OnFailure(func(p *core.Proc, cause error) { up.EndpointFailed(nil, p, true, cause) })
	return f, nil
}

// factory is what the windows of one instance share. Its fields belong to the token.
type factory struct {
	opts      Options
	alloc     func(n int64) (*core.Region, error)
	shm       *shm.Domain // nil when no memory is shared
	iface     *p4.Interface
	ni        *p4.NI
	limits    p4.Limits
	maxMsg    int64
	maxFetch  int64        // largest atomic operation; a multiple of 16
	maxAtomic [2]int64     // likewise, unordered and ordered
	pt        *p4.PT       // of all windows, on a matching interface
	control   *p4.EQ       // what comes to words of control
	mute      *p4.MDHandle // of what nobody hears of: operands of fetching operations, posts
	zeros     []byte       // operand of operations that change nothing
	trash     []byte       // where what is fetched for nothing goes
	ev        p4.Event     // the one that is looked at
	modules   []*module
	graves    []*module // freed, with operations under way to who does not answer
}

// open gets what all windows share. The token is held.
func (f *factory) open() error {
	var err error
	want := p4.Matching | p4.PhysicalAddresses
	var desired *p4.Limits
	if !f.opts.Matching {
		want = p4.NoMatching | p4.Logical
		all := p4.Limits{MaxEntries: 1 << 20, MaxUnexpectedHeaders: 1 << 20, MaxMDs: 1 << 16, MaxCTs: 1 << 16, MaxEQs: 1 << 14, MaxPTIndex: 255, MaxIovecs: 1 << 12, MaxListSize: 1 << 20,
			MaxTriggeredOps: 1 << 18, MaxMsgSize: 1 << 46, MaxAtomicSize: 1 << 20, MaxFetchAtomicSize: 1 << 20, MaxWAWOrderedSize: 1 << 20, MaxWAROrderedSize: 1 << 20, MaxVolatileSize: 1 << 20}
		desired = &all
	}
	if f.ni, err = f.iface.NI(want, p4.AnyPID, desired); err != nil {
		return err
	}
	if !f.opts.Matching {
		if err = f.ni.SetJobMap(); err != nil {
			return err
		}
	}
	l := f.ni.Limits()
	f.limits = l
	atMost := func(n int64, limits ...uint64) int64 {
		for _, x := range limits {
			n = int64(min(uint64(n), x))
		}
		return n
	}
	const whole = ^int64(15) // the largest element has 16 bytes
	f.maxMsg = atMost(f.opts.MaxMsg, l.MaxMsgSize)
	f.maxFetch = atMost(f.opts.MaxAtomic, l.MaxAtomicSize, l.MaxFetchAtomicSize) & whole
	f.maxAtomic = [2]int64{f.maxFetch, max(16, atMost(f.maxFetch, l.MaxWAWOrderedSize, l.MaxWAROrderedSize)&whole)}
	if f.control, err = f.ni.EQAlloc(controlEvents); err != nil {
		return err
	}
	if err = f.control.OnEvents(f); err != nil {
		return err
	}
	if f.opts.Matching {
		if f.pt, err = f.ni.PTAlloc(0, f.control, ptWindows); err != nil {
			return err
		}
	}
	f.mute, err = f.ni.MDBind(&p4.MD{Anywhere: true, Options: p4.MDEventSuccessDisable | p4.MDVolatile})
	f.zeros, f.trash = make([]byte, f.maxFetch), make([]byte, f.maxFetch)
	return err
}

// controlEvents is how many events of words of control the queue holds. A message makes one, and they are taken when it is through.
const controlEvents = 1024

// Query implements osc.Factory.
func (f *factory) Query(w *osc.Win) (priority int, err error) {
	if w.Flavor == osc.Shared {
		return 0, fmt.Errorf("members load and store each other's memory, which the interface does not give them")
	}
	return f.opts.Priority, nil
}

// CommFailed implements osc.FaultListener.
func (f *factory) CommFailed(c *core.Comm) {
	for _, p := range c.Procs {
		if p.Failed() != nil {
			f.iface.ProcFailed(p)
		}
	}
	for _, m := range f.modules {
		if m.comm == c {
			m.commFailed()
		}
	}
}

// Close implements osc.Factory. The instance closes the interface, and with it what is left.
func (f *factory) Close() error {
	f.bury()
	return nil
}

// bury gives back what is left of freed windows. The token is held.
func (f *factory) bury() {
	f.graves = slices.DeleteFunc(f.graves, func(m *module) bool { return m.release() })
}

var _ osc.FaultListener = (*factory)(nil)

// Package sm is the collective component for ranks that share memory: processes of one host, goroutine ranks of one process.
// Barrier, and Bcast, Reduce and Allreduce of small data, meet on a board (board.go), a piece of the shared memory of the
// communicator's rank 0. They are flat: everybody counts itself in, the last one does the work and releases all with one store.
// Among few cores that beats the logarithmic algorithms of component basic, since nothing is gained by spreading work that the
// same cores do anyway, and each rank needs to run only once an operation. What is large goes to the components below.
//
// A board is made when a communicator is used for the second time, so short-lived ones need none.
//
// Only package coll calls it, through its mca registration.
package sm

import (
	"sync"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

func init() { mca.Register(component{}) }

type component struct{}

// Options are the parameters coll_sm_*. All ranks must have the same values.
type Options struct {
	Priority int   `mca:"priority" default:"40" min:"0" max:"100" level:"6" help:"priority of the component; each operation is taken from the component of the highest"`
	MaxData  int64 `mca:"max_data" default:"4k" min:"0" max:"64k" level:"6" unit:"bytes" help:"largest data of one rank that bcast, reduce and allreduce move through the shared board; a board has room for five times that, and once more for each rank; larger data goes to the next component"`
}

func (component) Framework() string { return "coll" }
func (component) Name() string      { return "sm" }
func (component) Options() any      { return new(Options) }

// Open implements coll.Component. It succeeds without shared memory, too: whether a communicator has a board is agreed among its
// members, and a member without memory must be there to say no.
func (component) Open(env *coll.Env) (coll.Factory, error) {
	f := &factory{job: env.Job, shm: env.Shm, Uses: alg.Uses{Component: "sm", Trace: env.Trace}}
	if err := env.Params.Decode("coll", "sm", &f.opts); err != nil {
		return nil, err
	}
	return f, nil
}

type factory struct {
	job    rte.Job
	shm    *shm.Domain // nil: this rank shares nothing
	opts   Options
	graves []grave // guarded by the engine's token
	spread sync.Once
	alg.Uses
}

// How operations meet, for the metrics.
var (
	boardBarrier   = alg.Foreign(alg.Barrier, "board")
	boardBcast     = alg.Foreign(alg.Bcast, "board")
	boardReduce    = alg.Foreign(alg.Reduce, "board")
	boardAllreduce = alg.Foreign(alg.Allreduce, "board")
)

// Query implements coll.Factory: all members must be on this host. Localities are the same seen from every member.
func (f *factory) Query(c *core.Comm) (priority int, ok bool) {
	if c.Size() < 2 || c.Remote() != nil {
		return 0, false
	}
	for _, p := range c.Procs {
		if p.Locality == core.LocalRemote {
			return 0, false
		}
	}
	return f.opts.Priority, true
}

// Enable implements coll.Factory.
func (f *factory) Enable(c *core.Comm, below *coll.Table) (coll.Module, error) {
	if below.Barrier == nil || below.Finish == nil || below.Bcast == nil || below.Reduce == nil || below.Allreduce == nil {
		return nil, nil // the same on all members: they have chosen the same components
	}
	return &module{f: f, comm: c, engine: c.Engine, below: below, rank: c.MyRank, size: c.Size()}, nil
}

var _ interface {
	coll.Barrierer
	coll.Bcaster
	coll.Reducer
	coll.Allreducer
} = (*module)(nil)

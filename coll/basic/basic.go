// Package basic is the collective component that has every operation and works on every intracommunicator: point-to-point messages
// over the PML, nothing shared, no assumption about where ranks are. Faster components lie over it and leave it the rest.
//
// It chooses among the algorithms of package alg by a few limits:
//
//	barrier     dissemination
//	bcast       binomial tree
//	reduce      binomial tree; operands stay in rank order where the operation does not commute
//	allreduce   recursive doubling; large: ring of reduce-scatter and allgather, or reduce and bcast when order matters
//	gather(v)   binomial tree for small blocks, else every rank to the root at once; scatter(v) likewise
//	allgather   recursive doubling for small blocks on 2^k ranks, else ring; allgatherv ring
//	alltoall(v, w) pairwise exchange
//	reduce_scatter(_block) pairwise exchange; reduce and deal out when order matters
//	scan, exscan recursive doubling
//	neighbourhood operations: along all edges at once
//
// Only package coll calls it, through its mca registration.
package basic

import (
	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/pml"
)

func init() { mca.Register(component{}) }

type component struct{}

// Options are the parameters coll_basic_*. Where they choose an algorithm, all ranks must have the same values.
type Options struct {
	Priority          int   `mca:"priority" default:"10" min:"0" max:"100" level:"6" help:"priority of the component; each operation is taken from the component of the highest"`
	AllreduceLong     int64 `mca:"allreduce_long" default:"64k" min:"0" level:"6" unit:"bytes" help:"allreduce of at least this size uses the ring (reduce and bcast when the order of operands matters) instead of recursive doubling"`
	GatherShort       int64 `mca:"gather_short" default:"2k" min:"0" level:"6" unit:"bytes" help:"gather and scatter with blocks of at most this size use a binomial tree"`
	AllgatherShort    int64 `mca:"allgather_short" default:"32k" min:"0" level:"6" unit:"bytes" help:"allgather with a result of at most this size uses recursive doubling when the number of ranks is a power of two"`
	ScratchLimitBytes int64 `mca:"scratch_limit" default:"4m" min:"0" level:"7" unit:"bytes" help:"scratch memory that a communicator keeps between operations; what is above is given back"`
}

func (component) Framework() string { return "coll" }
func (component) Name() string      { return "basic" }
func (component) Options() any      { return new(Options) }

// Open implements coll.Component.
func (component) Open(env *coll.Env) (coll.Factory, error) {
	f := &factory{pml: env.PML, Uses: alg.Uses{Component: "basic", Trace: env.Trace}}
	if err := env.Params.Decode("coll", "basic", &f.opts); err != nil {
		return nil, err
	}
	return f, nil
}

type factory struct {
	pml  pml.Module
	opts Options
	alg.Uses
}

// Query implements coll.Factory: every intracommunicator will do.
func (f *factory) Query(c *core.Comm) (priority int, ok bool) {
	return f.opts.Priority, c.Remote() == nil
}

// Enable implements coll.Factory.
func (f *factory) Enable(c *core.Comm, below *coll.Table) (coll.Module, error) {
	m := new(module)
	m.Init(f.pml, c, &f.opts, &f.Uses, f.opts.ScratchLimitBytes)
	return m, nil
}

// module serves one communicator.
type module struct{ alg.Runner }

// The compiler checks that nothing is missing.
var _ interface {
	coll.Barrierer
	coll.Finisher
	coll.Bcaster
	coll.Reducer
	coll.Allreducer
	coll.Gatherer
	coll.Gatherver
	coll.Scatterer
	coll.Scatterver
	coll.Allgatherer
	coll.Allgatherver
	coll.Alltoaller
	coll.Alltoallver
	coll.Alltoallwer
	coll.ReduceScatterer
	coll.ReduceScatterBlocker
	coll.Scanner
	coll.Exscanner
	coll.Neighborer
	coll.Planner
} = (*module)(nil)

// Package inter is the collective component of intercommunicators, and of nothing else (MPI-3.1 §5.2.2). An operation goes through the
// leaders, rank 0 of either group: the local group's own intracommunicator (core.Comm.Local) gathers or reduces what goes to the
// leader, the leaders exchange it, and the local group spreads what came. What is different for every rank goes directly.
//
// Rooted operations have their root in one group: it calls with core.Root, the others of its group with core.ProcNull, and
// the other group with the root's rank.
//
// Only package coll calls it, through its mca registration.
package inter

import (
	"fmt"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/pml"
)

func init() { mca.Register(component{}) }

type component struct{}

// Options are the parameters coll_inter_*.
type Options struct {
	Priority int `mca:"priority" default:"40" min:"0" max:"100" level:"6" help:"priority of the component, which serves intercommunicators only"`
}

func (component) Framework() string { return "coll" }
func (component) Name() string      { return "inter" }
func (component) Options() any      { return new(Options) }

// Open implements coll.Component.
func (component) Open(env *coll.Env) (coll.Factory, error) {
	f := &factory{pml: env.PML}
	if err := env.Params.Decode("coll", "inter", &f.opts); err != nil {
		return nil, err
	}
	return f, nil
}

type factory struct {
	pml  pml.Module
	opts Options
}

// Query implements coll.Factory.
func (f *factory) Query(c *core.Comm) (priority int, ok bool) {
	return f.opts.Priority, c.Remote() != nil
}

// Enable implements coll.Factory.
func (f *factory) Enable(c *core.Comm, _ *coll.Table) (coll.Module, error) {
	local := coll.TableOf(c.Local)
	if local == nil {
		return nil, fmt.Errorf("coll inter: the local group of %s has no collectives", c.Name())
	}
	return &module{pml: f.pml, comm: c, ch: &c.Inner, local: local, rank: c.MyRank, mine: c.Size(), theirs: c.Peers()}, nil
}

// module serves one intercommunicator.
type module struct {
	pml          pml.Module
	comm         *core.Comm
	ch           *core.Channel
	local        *coll.Table // of the local group
	rank         int
	mine, theirs int // sizes of the groups
}

// Close implements coll.Module.
func (m *module) Close() error { return nil }

// leader is the rank of either group that speaks for it.
const leader = 0

func (m *module) leads() bool { return m.rank == leader }

// Tags, one an operation.
const (
	tagBarrier = 1 + iota
	tagBcast
	tagReduce
	tagAllreduce
	tagGather
	tagScatter
	tagAllgather
	tagAlltoall
	tagReduceScatter
)

var _ interface {
	coll.Barrierer
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
} = (*module)(nil)

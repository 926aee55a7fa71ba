// Package inter is the collective component of intercommunicators, and of nothing else (MPI-3.1 §5.2.2). Its algorithms are in
// package alg (inter.go).
//
// Only package coll calls it, through its mca registration.
package inter

import (
	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/pml"
)

func init() { mca.Register(component{}) }

type component struct{}

// Options are the parameters coll_inter_*.
type Options struct {
	Priority          int   `mca:"priority" default:"20" min:"0" max:"100" level:"6" help:"priority of the component, which serves intercommunicators only"`
	ScratchLimitBytes int64 `mca:"scratch_limit" default:"1m" min:"0" level:"7" unit:"bytes" help:"scratch memory that a communicator keeps between operations; what is above is given back"`
}

func (component) Framework() string { return "coll" }
func (component) Name() string      { return "inter" }
func (component) Options() any      { return new(Options) }

// Open implements coll.Component.
func (component) Open(env *coll.Env) (coll.Factory, error) {
	f := &factory{pml: env.PML, Uses: alg.Uses{Component: "inter", Trace: env.Trace}}
	if err := env.Params.Decode("coll", "inter", &f.opts); err != nil {
		return nil, err
	}
	return f, nil
}

type factory struct {
	pml  pml.Module
	opts Options
	alg.Uses
}

// Query implements coll.Factory.
func (f *factory) Query(c *core.Comm) (priority int, ok bool) {
	return f.opts.Priority, c.Remote() != nil
}

// Enable implements coll.Factory.
func (f *factory) Enable(c *core.Comm, _ *coll.Table) (coll.Module, error) {
	m := new(module)
	m.Init(f.pml, c, leaders{}, &f.Uses, f.opts.ScratchLimitBytes)
	return m, nil
}

// leaders chooses the only algorithm there is for an operation.
type leaders struct{}

// Choose implements alg.Chooser.
func (leaders) Choose(a *alg.Args, _ int64, _ int) *alg.Algorithm { return alg.Inter(a.Kind) }

// module serves one intercommunicator.
type module struct{ alg.Runner }

// Package tuned is the collective component that chooses an algorithm of package alg for each operation from a decision table, by the
// number of ranks, the bytes and whether the operator commutes (package coll/rules has the table's form). Three tables are built in, for
// communicators across hosts, within a host, and within a host that has more ranks than cores; parameters name others, which
// ompi-bench tune writes for a machine. Parameters coll_tuned_<operation>_algorithm
// and _segment force a choice. The table is the same on all ranks, and it is asked only for what all ranks know, so all choose alike.
//
// Component nbc above asks it for the algorithms of non-blocking operations, too. Only package coll calls it, through its mca
// registration.
package tuned

import (
	_ "embed"
	"fmt"
	"sync/atomic"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/coll/rules"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/metrics"
	"github.com/ompi-go/ompi-go/pml"
)

func init() { mca.Register(component{}) }

type component struct{}

func (component) Framework() string { return "coll" }
func (component) Name() string      { return "tuned" }
func (component) Options() any      { return new(Options) }

// Open implements coll.Component.
func (component) Open(env *coll.Env) (coll.Factory, error) {
	if env.Mixed {
		return nil, fmt.Errorf("%w: its algorithms cut data by bytes, which ranks of different architectures cannot", coll.ErrUnavailable)
	}
	f := &factory{pml: env.PML, say: env.Say, Uses: alg.Uses{Component: "tuned", Trace: env.Trace}}
	if err := env.Params.Decode("coll", "tuned", &f.opts); err != nil {
		return nil, err
	}
	for k, name := range f.opts.algorithms() {
		f.forced[k] = alg.Named(alg.Kind(k), name) // none for auto; mca has checked the name
	}
	f.segments = f.opts.segments()
	if err := f.loadTables(env.Job); err != nil {
		return nil, err
	}
	return f, nil
}

type factory struct {
	pml  pml.Module
	say  func(key, message string)
	opts Options
	tables
	forced   [alg.Kinds]*alg.Algorithm
	segments [alg.Kinds]int64
	unfit    [alg.Kinds]atomic.Uint64 // operations that the forced algorithm could not serve
	alg.Uses
}

// Query implements coll.Factory: every intracommunicator will do.
func (f *factory) Query(c *core.Comm) (priority int, ok bool) {
	return f.opts.Priority, c.Remote() == nil
}

// Enable implements coll.Factory.
func (f *factory) Enable(c *core.Comm, below *coll.Table) (coll.Module, error) {
	m := &module{f: f, comm: c, choices: f.tableFor(c).For(c.Size())}
	m.Init(f.pml, c, m, &f.Uses, f.opts.ScratchLimitBytes)
	return m, nil
}

// module serves one communicator.
type module struct {
	alg.Runner
	f       *factory
	comm    *core.Comm
	choices rules.Choices
}

// Choose implements alg.Chooser.
func (m *module) Choose(a *alg.Args, bytes int64, size int) *alg.Algorithm {
	f := m.f
	g := m.choices.Choose(a, bytes)
	if forced := f.forced[a.Kind]; forced != nil {
		if forced.Serves(a, size) {
			g, a.Segment = forced, 0
		} else if size > 1 { // of one rank nobody expects anything
			f.cannot(m.comm, forced, g)
		}
	}
	if s := f.segments[a.Kind]; s > 0 {
		a.Segment = s
	}
	return g
}

// cannot counts that a forced algorithm was of no use, and says so the first time.
func (f *factory) cannot(c *core.Comm, forced, instead *alg.Algorithm) {
	if f.unfit[forced.Kind].Add(1) > 1 || f.say == nil {
		return
	}
	why := fmt.Sprintf("%d ranks", c.Size())
	if forced.Fits == nil || forced.Fits(c.Size()) {
		why = "an operator that does not commute"
	}
	c.Engine.Lock()
	defer c.Engine.Unlock()
	f.say("coll_tuned_"+forced.Kind.String(), fmt.Sprintf("coll tuned: %s (parameter coll_tuned_%s_algorithm) cannot serve %s with %s; using the decision table there, first %s",
		forced.Name, forced.Kind, forced.Kind, why, instead.Name))
}

var unfitDesc = &metrics.Desc{
	Name: "ompi_coll_unfit_total", Labels: []string{"operation", "algorithm"},
	Help: "Operations for which the algorithm set by coll_tuned_<operation>_algorithm could not serve, so that the decision table chose.",
}

// Describe implements metrics.Source.
func (f *factory) Describe() []*metrics.Desc { return append(f.Uses.Describe(), unfitDesc) }

// Metrics implements metrics.Source.
func (f *factory) Metrics(emit metrics.Emit) {
	f.Uses.Metrics(emit)
	for k := range f.unfit {
		if n := f.unfit[k].Load(); n != 0 {
			emit(unfitDesc, n, alg.Kind(k).String(), f.forced[k].Name)
		}
	}
}

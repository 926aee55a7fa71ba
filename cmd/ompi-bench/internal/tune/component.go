// Package tune measures the algorithms of collective operations on this machine and writes a decision table for component tuned (package
// coll/rules has its form). Ompi-bench's main package calls it, for `ompi-bench tune`.
//
// It brings a collective component of its own, which stands above all others and runs the algorithm it is told to.
package tune

import (
	"errors"
	"sync"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/ompi"
	"github.com/ompi-go/ompi-go/pml"
)

// component makes a picker for each rank of this process.
type component struct{ pickers sync.Map } // by job rank

func (*component) Framework() string { return "coll" }
func (*component) Name() string      { return "tune" }
func (*component) Options() any      { return nil }

// Open implements coll.Component.
func (t *component) Open(env *coll.Env) (coll.Factory, error) {
	p := &picker{pml: env.PML, uses: alg.Uses{Component: "tune"}}
	t.pickers.Store(env.Job.Rank(), p)
	return p, nil
}

// of is the picker of a rank of this process.
func (t *component) of(w *ompi.Comm) (*picker, error) {
	if p, ok := t.pickers.Load(w.Rank()); ok {
		return p.(*picker), nil
	}
	return nil, errors.New("tune: parameter coll leaves out component tune, which does the measuring; add it to the list")
}

var _ mca.Component = (*component)(nil)

// picker chooses for one rank: what was forced, else the first algorithm of the operation, which serves everything.
type picker struct {
	pml    pml.Module
	uses   alg.Uses
	forced candidate
}

// priority is above that of every other component.
const priority = 1000

// Query implements coll.Factory.
func (p *picker) Query(c *core.Comm) (int, bool) { return priority, c.Remote() == nil }

// Enable implements coll.Factory.
func (p *picker) Enable(c *core.Comm, _ *coll.Table) (coll.Module, error) {
	r := new(alg.Runner)
	r.Init(p.pml, c, p, &p.uses, scratchKept)
	return r, nil
}

// scratchKept is the scratch memory kept between operations, in bytes: enough that no measurement pays for it anew.
const scratchKept = 64 << 20

// Choose implements alg.Chooser.
func (p *picker) Choose(a *alg.Args, _ int64, size int) *alg.Algorithm {
	if g := p.forced.algorithm; g != nil && g.Kind == a.Kind && g.Serves(a, size) {
		a.Segment = p.forced.segment
		return g
	}
	return alg.List(a.Kind)[0]
}

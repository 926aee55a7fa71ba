package alg

import (
	"sync/atomic"

	"github.com/ompi-go/ompi-go/metrics"
	"github.com/ompi-go/ompi-go/trace"
)

// Uses makes visible which algorithms a component ran in one instance: it counts them for the metrics, and records them in the
// trace.
type Uses struct {
	Component string
	Trace     *trace.Ring

	n    [Kinds][maxAlgorithms]atomic.Uint64
	seen [Kinds][maxAlgorithms]atomic.Pointer[Algorithm] // what n counts
}

// Begin counts an operation, and gives what End wants to know.
func (u *Uses) Begin(g *Algorithm) int64 {
	if u.n[g.Kind][g.index].Add(1) == 1 {
		u.seen[g.Kind][g.index].Store(g)
	}
	return u.Trace.Start()
}

// EndBeside is End of an operation during which the rank did other things.
func (u *Uses) EndBeside(from int64, g *Algorithm, bytes int64) {
	if u.Trace != nil {
		u.Trace.BesideSpan(from, u.Component, g.Kind.String(), g.Name, bytes)
	}
}

// End records the operation that began at from on so many bytes.
func (u *Uses) End(from int64, g *Algorithm, bytes int64) {
	if u.Trace != nil {
		u.Trace.Span(from, u.Component, g.Kind.String(), g.Name, bytes)
	}
}

var usesDesc = &metrics.Desc{
	Name: "ompi_coll_operations_total", Labels: []string{"component", "operation", "algorithm"},
	Help: "Collective operations begun, by the algorithm that carried them out.",
}

// Describe implements metrics.Source.
func (u *Uses) Describe() []*metrics.Desc { return []*metrics.Desc{usesDesc} }

// Metrics implements metrics.Source.
func (u *Uses) Metrics(emit metrics.Emit) {
	for k := range u.seen {
		for i := range u.seen[k] {
			if g := u.seen[k][i].Load(); g != nil {
				emit(usesDesc, u.n[k][i].Load(), u.Component, g.Kind.String(), g.Name)
			}
		}
	}
}

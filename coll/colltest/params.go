package colltest

import (
	"testing"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/pml"
)

// Params are the parameters with the given settings, name and value in turn, and the registry of the components that the test imports.
func Params(t testing.TB, settings ...string) (*mca.Registry, *mca.Params) {
	t.Helper()
	reg, err := mca.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	var in mca.Input
	for i := 0; i < len(settings); i += 2 {
		in.Settings = append(in.Settings, mca.CommandLine(settings[i], settings[i+1]))
	}
	p, err := mca.Load(reg, in)
	if err != nil {
		t.Fatal(err)
	}
	return reg, p
}

// Shuffled are n job ranks in an order of no meaning, so that no algorithm takes a rank for a job rank.
func Shuffled(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = (i*7 + 3) % n
		if n%7 == 0 {
			out[i] = n - 1 - i
		}
	}
	return out
}

// Instant is a PML on which everything is done at once and nothing moves, so that allocations counted are the component's own.
type Instant struct {
	pml.Module
	req core.Request
}

// NewInstant makes one for c.
func NewInstant(c *core.Comm) *Instant {
	p := new(Instant)
	p.req.Owner, p.req.Engine, p.req.Comm = p, c.Engine, c
	c.Engine.Complete(&p.req.Completion)
	return p
}

// Start implements core.Operation.
func (p *Instant) Start(*core.Request) error { return nil }

// Cancel implements core.Operation.
func (p *Instant) Cancel(*core.Request) error { return nil }

// Send implements pml.Module.
func (p *Instant) Send(*core.Channel, core.Buffer, int, int, pml.Mode) error { return nil }

// Recv implements pml.Module.
func (p *Instant) Recv(*core.Channel, core.Buffer, int, int) (core.Status, error) {
	return core.EmptyStatus(), nil
}

// Isend implements pml.Module.
func (p *Instant) Isend(*core.Channel, core.Buffer, int, int, pml.Mode) *core.Request { return &p.req }

// Irecv implements pml.Module.
func (p *Instant) Irecv(*core.Channel, core.Buffer, int, int) *core.Request { return &p.req }

package unimem

import (
	"errors"
	"slices"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
)

// Describe implements btl.Describer.
func (component) Describe(p *mca.Params, peer core.Locality) (*btl.Description, error) {
	var m module
	if err := p.Decode("btl", "unimem", &m.opt); err != nil {
		return nil, err
	}
	pinned, err := leavePinned(p)
	if err != nil {
		return nil, err
	}
	m.pinned = pinned && m.opt.RCache
	switch {
	case !slices.Contains(p.Selection("btl").Names(), "unimem"):
		return nil, errors.New("it is open only where the parameter btl names it")
	case peer != core.LocalProcess && peer != core.LocalHost:
		return nil, errors.New("it reaches other ranks of this host only")
	}
	d := &btl.Description{Limits: m.Limits()}
	if m.opt.Inline {
		d.MaxInline = inlineMost
	}
	if m.opt.RMA {
		d.Get, d.Put, d.Register = true, true, true
		d.Notes = []string{"only dmable memory, which AllocMem gives, is read and written; messages from other memory go in fragments"}
	}
	return d, nil
}

var _ btl.Describer = component{}

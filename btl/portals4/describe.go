package portals4

import (
	"errors"
	"slices"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
)

// Describe implements btl.Describer.
func (component) Describe(p *mca.Params, peer core.Locality) (*btl.Description, error) {
	var o Options
	if err := p.Decode("btl", "portals4", &o); err != nil {
		return nil, err
	}
	switch {
	case !slices.Contains(p.Selection("btl").Names(), "portals4"):
		return nil, errors.New("it is open only where the parameter btl names it")
	case peer == core.LocalSelf:
		return nil, errors.New("not to itself")
	}
	return &btl.Description{Limits: o.limits(), MaxInline: int(o.Inline), Get: true, Put: true, Register: true,
		Notes: []string{"which network abstraction layer carries it, the parameter portals4_nal decides"}}, nil
}

var _ btl.Describer = component{}

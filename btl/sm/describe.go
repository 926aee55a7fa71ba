package sm

import (
	"errors"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
)

// Describe implements btl.Describer.
func (component) Describe(p *mca.Params, peer core.Locality) (*btl.Description, error) {
	var m module
	if err := p.Decode("btl", "sm", &m.opt); err != nil {
		return nil, err
	}
	if peer != core.LocalProcess && peer != core.LocalHost {
		return nil, errors.New("it reaches other ranks of this host only")
	}
	d := &btl.Description{Limits: m.Limits(), MaxInline: m.opt.MaxInlineLen, Register: true}
	if m.opt.SingleCopy == "none" {
		d.Notes = []string{"btl_sm_single_copy_mechanism is none: the first long message finds out"}
		return d, nil
	}
	d.Get, d.Put = true, true
	if peer == core.LocalHost {
		d.Notes = []string{"reading and writing another process is tried with each peer; where the system refuses it, long messages go in fragments"}
	}
	return d, nil
}

var _ btl.Describer = component{}

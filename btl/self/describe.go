package self

import (
	"errors"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
)

// Describe implements btl.Describer.
func (component) Describe(p *mca.Params, peer core.Locality) (*btl.Description, error) {
	var m module
	if err := p.Decode("btl", "self", &m.opts); err != nil {
		return nil, err
	}
	if peer != core.LocalSelf {
		return nil, errors.New("it reaches this rank only")
	}
	return &btl.Description{Limits: m.Limits(), MaxInline: maxInline, Get: true, Put: true, Register: true}, nil
}

var _ btl.Describer = component{}

package r2

import (
	"slices"

	"github.com/ompi-go/ompi-go/bml"
)

// Arrange implements bml.Arranger.
func (component) Arrange(ep *bml.Endpoint, paths []*bml.Path) { arrange(ep, slices.Clone(paths)) }

var _ bml.Arranger = component{}

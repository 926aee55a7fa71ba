package btl

import (
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mca"
)

// Description is what a component would offer to a kind of peer: what r2 and the PML ask modules and endpoints for, worked out from
// parameters without a job.
type Description struct {
	Limits    Limits
	MaxInline int  // bytes; -1: no InlineSender
	Get       bool // Getter
	Put       bool // Putter
	Register  bool // Registrar
	Notes     []string
}

// Describer is an optional ability of a Component, for tools that explain what would happen. The error tells why such peers are
// not reached. What only a job can tell is in Notes.
type Describer interface {
	Describe(p *mca.Params, peer core.Locality) (*Description, error)
}

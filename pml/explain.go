package pml

import (
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/mca"
)

// Explainer is an optional ability of a Component, for tools: it tells how a message would go, from parameters, without a job.
type Explainer interface {
	// Explain decides for a message of size bytes, sent in standard mode over a path of which way says what it offers.
	Explain(p *mca.Params, size int64, contiguous bool, way *btl.Description) (*Explanation, error)
}

// Explanation is how a message would go, and why.
type Explanation struct {
	Protocol string
	Summary  string // how bytes and frames travel by it
	Steps    []Step // in the order in which the decision goes
}

// Step is a protocol that was considered.
type Step struct {
	Protocol string
	Chosen   bool
	Reason   string // why, or why not
}

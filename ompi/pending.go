package ompi

import "github.com/ompi-go/ompi-go/core"

// pendingOp is an operation that may wait for the program and not for a message, so that the PML does not end it when the instance is
// cancelled.
type pendingOp interface {
	// cancelled ends the operation with an error. The token is held.
	cancelled(err *core.Error)
}

// pendingOps are such operations under way. The token guards them.
type pendingOps map[pendingOp]struct{}

func (p *pendingOps) add(op pendingOp) {
	if *p == nil {
		*p = make(pendingOps)
	}
	(*p)[op] = struct{}{}
}

func (p *pendingOps) remove(op pendingOp) { delete(*p, op) }

// cancel ends all of them.
func (p *pendingOps) cancel(err *core.Error) {
	for op := range *p {
		delete(*p, op)
		op.cancelled(err)
	}
}

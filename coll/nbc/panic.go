package nbc

import (
	"fmt"
	"runtime/debug"

	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
)

// outcry is the panic of a user's operator. Operators run with the engine's token held, on whichever goroutine drives; a panic that went
// through there would leave the token taken for ever. So it is kept, the operation goes on, since other ranks wait for its messages, and
// who takes its outcome gets the panic.
type outcry struct {
	what  any
	stack []byte
}

// Query implements core.Outcome.
func (p *outcry) Query(*core.Status) error {
	panic(fmt.Sprintf("in an operator of a non-blocking collective: %v\n%s", p.what, p.stack))
}

// Retire implements core.Outcome.
func (p *outcry) Retire() error { return nil }

// apply is StepApply.
func (o *operation) apply(s *alg.Step) {
	if !s.Op.Predefined() {
		defer func() {
			if p := recover(); p != nil && o.req.Final == nil {
				o.req.Final = &outcry{p, debug.Stack()}
			}
		}()
	}
	s.Op.Apply(s.From.Addr(), s.Buf.Addr(), s.Buf.Count(), s.Buf.Type())
}

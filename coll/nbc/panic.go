package nbc

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
)

// outcry is the panic of a user's operator, or its end by runtime.Goexit, which Abort is in a goroutine rank (MPI-3.1 §5.9.5 allows that
// in an operator). Steps are taken with the engine's token held, on whichever goroutine drives; what ended that goroutine there would
// leave the token taken for ever. So operators run on goroutines of their own, the operation goes on, since other ranks wait for its
// messages, and the end comes to who takes the outcome.
type outcry struct {
	what  any // nil: Goexit
	stack []byte
}

// Query implements core.Outcome.
func (p *outcry) Query(*core.Status) error {
	if p.what == nil {
		runtime.Goexit()
	}
	panic(fmt.Sprintf("in an operator of a non-blocking collective: %v\n%s", p.what, p.stack))
}

// Retire implements core.Outcome.
func (p *outcry) Retire() error { return nil }

// apply is StepApply.
func (o *operation) apply(s *alg.Step) {
	if s.Op.Predefined() {
		s.Op.Apply(s.From.Addr(), s.Buf.Addr(), s.Buf.Count(), s.Buf.Type())
	} else if p := outcryOf(s); p != nil && o.req.Final == nil {
		o.req.Final = p
	}
}

// outcryOf applies a user's operator.
func outcryOf(s *alg.Step) *outcry {
	over := make(chan *outcry, 1)
	go func() {
		normal := false
		defer func() {
			if normal {
				over <- nil
			} else {
				over <- &outcry{recover(), debug.Stack()}
			}
		}()
		s.Op.Apply(s.From.Addr(), s.Buf.Addr(), s.Buf.Count(), s.Buf.Type())
		normal = true
	}()
	return <-over
}

package progress

import (
	"sync/atomic"

	"github.com/ompi-go/ompi-go/internal/relaxed"
)

// Cond is what a goroutine waits for. Done is called from whichever goroutine drives the engine, after every pass that found
// something and before sleeping, and by who parks, without the token; it must be cheap, and once true it must stay true.
type Cond interface{ Done() bool }

// Mark is how far a Cond has looked, for the next look: any goroutine may write it, and who misses that looks at more. Writing it
// costs no fence.
type Mark struct{ n uint32 }

// Load gives the number stored last, or one before it.
func (m *Mark) Load() uint32 { return atomic.LoadUint32(&m.n) }

// Store changes the number.
func (m *Mark) Store(n uint32) { relaxed.Store32(&m.n, n) }

// Completion is the simplest Cond: a flag set once by the engine's driver. It is embedded in requests and reused.
type Completion struct{ state uint32 }

// Done reports whether the operation is complete. It needs no lock.
func (c *Completion) Done() bool { return atomic.LoadUint32(&c.state) != 0 }

// Reset makes the completion pending again. Nobody may be waiting for it.
func (c *Completion) Reset() { relaxed.Store32(&c.state, 0) }

// SetDone makes the completion one of an operation that is over before anybody can wait for it.
func (c *Completion) SetDone() { relaxed.Store32(&c.state, 1) }

// Complete marks c done; whoever parked on it is woken when the caller, who holds the token, gives it back, or by the driver's
// next pass. Everything written before is visible to who sees Done.
func (e *Engine) Complete(c *Completion) {
	relaxed.Store32(&c.state, 1)
	e.dirty = true
}

// Ordinal numbers the things that happen in the engine, from 1: it tells which of two operations was complete first. The caller holds
// the token.
func (e *Engine) Ordinal() uint64 {
	e.ordinal++
	return e.ordinal
}

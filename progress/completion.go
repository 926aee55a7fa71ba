package progress

import "sync/atomic"

// Cond is what a goroutine waits for. Done is called from whichever goroutine drives the engine, after every pass that found
// something and before sleeping; it must be cheap, and once true it must stay true.
type Cond interface{ Done() bool }

// Completion is the simplest Cond: a flag set once by the engine's driver. It is embedded in requests and reused.
type Completion struct{ state atomic.Uint32 }

// Done reports whether the operation is complete. It needs no lock.
func (c *Completion) Done() bool { return c.state.Load() != 0 }

// Reset makes the completion pending again.
func (c *Completion) Reset() { c.state.Store(0) }

// Complete marks c done and wakes whoever parked on it. Everything written before is visible to who sees Done.
func (e *Engine) Complete(c *Completion) {
	c.state.Store(1) // sequentially consistent: a parker publishes itself, then looks at state once more
	if e.parked.Load() != 0 {
		e.wakeDone()
	}
}

// AnyOf is done when one of its members is.
type AnyOf []*Completion

// Done reports whether a member is done.
func (s *AnyOf) Done() bool {
	for _, c := range *s {
		if c.Done() {
			return true
		}
	}
	return false
}

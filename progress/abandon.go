package progress

import "time"

// LockFor is Lock that gives up after about d, and reports whether it has the token: for who must go on though a goroutine may have ended
// with the token in its hands, by a panic under an operation.
func (e *Engine) LockFor(d time.Duration) bool {
	if e.mu.TryLock() {
		return true
	}
	e.want.Add(1)
	defer e.want.Add(-1)
	e.mu.share()
	for deadline := time.Now().Add(d); !e.mu.TryLock(); time.Sleep(20 * time.Microsecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// Abandon is the end of an engine whose token is gone for good: its agent, if there is one, ends without the token. Nothing is closed, since
// nobody can tell who else is in here.
func (e *Engine) Abandon() {
	e.lost.Store(true)
	if a := e.agent; a != nil {
		a.stop.Store(true)
		if a.pause != nil {
			a.pause.ring()
		}
		<-a.over
	}
}

// Abandoned reports whether Abandon was called: who has failed to get the token need not try again.
func (e *Engine) Abandoned() bool { return e.lost.Load() }

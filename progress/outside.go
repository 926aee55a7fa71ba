package progress

import "sync/atomic"

// WaitOutside is Wait for a condition that nobody completes through this engine, such as a word in shared memory. Whoever makes
// it true wakes the engine afterwards (Wake, or the bell of package shm). While the caller is parked because another goroutine
// drives, the driver looks at the condition in every pass.
//
// ranks is how many it takes to make c true, the caller included. If they are goroutine ranks and cannot all run at once, the
// caller parks without having polled for long.
func (e *Engine) WaitOutside(c Cond, ranks int) {
	for !c.Done() {
		if e.crowded && e.tryNap(c, ranks) || e.tryDrive(c) {
			continue
		}
		e.outside.Add(1)
		e.park(c)
		e.outside.Add(-1)
	}
	e.passOn()
}

// tryNap is the short way of tryDrive for a goroutine rank among more than can run at once: it would sleep after its first pass
// anyway. Like that it may return before c is done. Nobody in this engine completes c, so it is not shown to those who complete.
func (e *Engine) tryNap(c Cond, ranks int) bool {
	if int32(ranks) <= e.procs && e.job.n.Load() <= e.procs || e.busy.Load() > 0 || !e.mu.TryLock() {
		return false
	}
	if atomic.LoadUint32(&e.driving) == callerDrives {
		e.mu.Unlock()
		return false
	}
	e.takeRole()
	e.setDriving(callerDrives)
	e.sleep(c, false)
	e.setDriving(nobodyDrives)
	e.Unlock()
	return true
}

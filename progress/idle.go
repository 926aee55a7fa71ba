package progress

import (
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// idleMode is what the driver does between passes that find nothing.
type idleMode uint8

const (
	idleHot   idleMode = iota // a core of its own: poll on
	idleYield                 // processes outnumber cores: sched_yield between passes
	idlePark                  // goroutine ranks: hot while they all can run, else park at once
)

func chooseIdle(cfg Config) idleMode {
	switch {
	case cfg.Job != nil:
		return idlePark
	case cfg.Yield == YieldAlways:
		return idleYield
	case cfg.Yield == YieldNever || cfg.LocalRanks <= cfg.Cores:
		return idleHot
	}
	return idleYield
}

// Runnable counts the goroutine ranks of a process that are not parked. Ranks on all cores write it, so it is written seldom: once
// by a rank that parks, and once by one that wakes others, however many.
type Runnable struct{ n atomic.Int32 }

// Enter counts a rank that starts.
func (r *Runnable) Enter() { r.n.Add(1) }

// Leave counts a rank that ends.
func (r *Runnable) Leave() { r.n.Add(-1) }

// Passes between looks at the clock and at the Go scheduler. A turn of the scheduler costs 125-150 ns, so hot polling pays for it
// rarely; other goroutines of the process get the core at least this often, besides the runtime's own preemption.
const (
	hotGosched   = 1024
	yieldGosched = 64
	parkGosched  = 256

	// When goroutine ranks outnumber the processors, one that is awake may stand in the queue of the processor on which this one
	// polls. So it is let by after a few passes, about as long as an answer from a rank that runs takes; and who gets none for some
	// tens of microseconds parks, though processors be idle: that costs little more than what it has lost by then.
	crowdedGosched = 16
	crowdedSpin    = 16 * parkGosched
)

// idle does one idle step, the n-th in a row, and reports whether it is time to sleep. since is when idling was first timed, 0
// when not yet.
func (m idleMode) idle(e *Engine, n uint32, since *int64) bool {
	switch m {
	case idlePark:
		switch {
		case e.job.n.Load() > e.procs, e.crowded && n >= crowdedSpin:
			return true
		case e.crowded && n == crowdedGosched:
			runtime.Gosched()
			return false
		}
		if n%parkGosched != 0 {
			return false
		}
	case idleYield:
		e.stats.Yields++
		unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // cannot fail
		if n%yieldGosched != 0 {
			return false
		}
	default:
		if n%hotGosched != 0 {
			return false
		}
	}
	runtime.Gosched()
	if e.sleepAfter <= 0 {
		return false
	}
	now := int64(time.Since(e.base))
	if *since == 0 {
		*since = now
		return false
	}
	return now-*since > int64(e.sleepAfter)
}

// Values of Engine.asleep: awake, or how to ring.
const (
	awake   = 0
	onBell  = 1 // on the channel
	onFDs   = 2 // in the netpoller: the ring is an eventfd
	onAgent = 3 // it is the agent that sleeps: see pause
)

// sleep blocks the driver until something rings. It is entered and left with the token held; between, the driver keeps its
// role but not the token.
//
//	publish that the engine sleeps; look once more; sleep.
//
// A peer writes its message first and looks for the sleeper afterwards, so one of the two sees the other. If show is set, so does
// a goroutine of this rank that completes something.
func (e *Engine) sleep(c Cond, show bool) {
	for _, s := range e.sleepers {
		s.Arm()
	}
	if show {
		e.setNap(c)
		e.parked.Add(1)
	}
	how := uint32(onBell)
	if e.fds.live != 0 {
		how = onFDs
	}
	if e.job != nil {
		e.job.n.Add(-1) // before asleep: who clears that counts this rank back
	}
	e.asleep.Store(how)
	if show {
		e.mu.barrier() // who completes c and gives the token back sees from now on that somebody sleeps
	}
	if e.dirty || e.outside.Load() != 0 { // the store above is a barrier
		e.dirty = false
		e.wakeDone()
	}
	n := e.pass()
	if how == onFDs {
		n += e.fds.poll()
	}
	if n != 0 {
		e.stats.Events += uint64(n)
	} else if !c.Done() && !e.dirty && e.want.Load() == 0 && e.busy.Load() == 0 && e.asleep.Load() == how {
		// Had it rung meanwhile, the poll above would have swallowed the ring. Nor may something have been completed by a poller
		// that does not count it: nobody would tell those that are parked.
		e.stats.Sleeps++
		timeout := e.untilTimer()
		e.mu.Unlock()
		var rung bool
		if how == onFDs {
			rung = e.fds.block(timeout)
		} else {
			rung = e.blockOnBell(timeout)
		}
		e.mu.Lock()
		e.roused()
		if rung {
			e.stats.Wakes++
		}
		if len(e.timers) > 0 {
			e.stats.Events += uint64(e.runTimers(time.Now()))
		}
	}
	if e.asleep.Load() != awake && e.asleep.Swap(awake) != awake && e.job != nil {
		e.job.n.Add(1)
	}
	if show {
		e.parked.Add(-1)
		e.setNap(nil)
	}
	for _, s := range e.sleepers {
		s.Disarm()
	}
}

// setNap says what the sleeping driver waits for.
func (e *Engine) setNap(c Cond) {
	e.wmu.Lock()
	e.nap = c
	e.wmu.Unlock()
}

// blockOnBell waits for the bell, and reports whether that and not the timeout (< 0: none) ended it.
func (e *Engine) blockOnBell(timeout time.Duration) bool {
	if timeout < 0 {
		<-e.bell
		return true
	}
	t := time.NewTimer(timeout)
	defer t.Stop()
	select {
	case <-e.bell:
		return true
	case <-t.C:
		return false
	}
}

// Wake rings the engine if its driver sleeps. Any goroutine may call it, with or without the token. Who wrote something that the
// driver should find calls it afterwards.
func (e *Engine) Wake() {
	if e.asleep.Load() != awake && e.WakeUncounted() && e.job != nil {
		e.job.n.Add(1)
	}
}

// WakeUncounted is Wake for who wakes many ranks of its process: it reports whether there was one to wake, and the caller has
// CountWoken of an engine of the process count them all at once.
func (e *Engine) WakeUncounted() bool {
	how := e.asleep.Load()
	if how == awake || !e.asleep.CompareAndSwap(how, awake) {
		return false
	}
	if how == onAgent {
		e.wmu.Lock() // StopAsync may be taking it away
		if e.agent != nil {
			e.agent.pause.ring()
		}
		e.wmu.Unlock()
		return false // no rank sleeps
	}
	if how == onFDs {
		e.wmu.Lock() // Close may be taking the descriptor away
		e.fds.ring()
		e.wmu.Unlock()
		return true
	}
	select {
	case e.bell <- struct{}{}:
	default:
	}
	return true
}

// CountWoken counts n ranks as runnable again.
func (e *Engine) CountWoken(n int32) {
	if n != 0 && e.job != nil {
		e.job.n.Add(n)
	}
}

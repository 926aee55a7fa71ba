package progress

import (
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/internal/relaxed"
)

// Three roles. The token holder may touch the domain's state, for the length of one operation. The driver (e.driving) is the
// one goroutine that polls; it holds the token but for moments when it lends it or sleeps. Everybody else that waits is a
// waiter: parked on its own channel until its condition holds or the driver's place falls vacant.
//
// No wake-up is lost: a waiter enlists, then looks at its condition and tries for the token; who completes something looks
// for waiters afterwards, and so does everybody who gives the token back while nobody drives.

// waiter is a goroutine that waits without the token.
type waiter struct {
	cond   Cond
	ch     chan struct{} // one slot
	parked atomic.Bool   // counted as not runnable; whoever clears it counts it back
	chosen bool          // woken to take over driving; guarded by wmu
}

var waiterPool = sync.Pool{New: func() any { return &waiter{ch: make(chan struct{}, 1)} }}

// Lock takes the token. A goroutine that drives lends it at its next pass.
func (e *Engine) Lock() {
	if !e.mu.TryLock() {
		e.want.Add(1)
		e.mu.Lock()
		e.want.Add(-1)
	}
}

// Unlock gives the token back. Giving it back is a full barrier: a waiter that enlisted too late to be seen below has seen what
// was completed.
func (e *Engine) Unlock() {
	dirty := e.dirty
	e.dirty = false
	if e.mu.give() || e.parked.Load() != 0 {
		e.unlockShared(dirty)
	}
}

// unlockShared is the rest of Unlock when other goroutines wait, or once did.
func (e *Engine) unlockShared(dirty bool) {
	e.mu.settle()
	if e.parked.Load() != 0 {
		e.serve(dirty)
	}
}

// serve does what giving the token back owes to those who are parked.
func (e *Engine) serve(dirty bool) {
	if dirty {
		e.wakeDone()
	}
	if atomic.LoadUint32(&e.driving) != callerDrives {
		e.handOff()
	}
}

// Wait returns when c is done. The caller does not hold the token.
func (e *Engine) Wait(c Cond) {
	for !c.Done() {
		if !e.tryDrive(c) {
			e.park(c)
		}
	}
	e.passOn()
}

// WaitLocked waits until c is done. The caller holds the token and holds it again on return; it may be given away between.
func (e *Engine) WaitLocked(c Cond) {
	for !c.Done() {
		if atomic.LoadUint32(&e.driving) != callerDrives {
			e.takeRole()
			e.setDriving(callerDrives)
			e.drive(c)
			e.setDriving(nobodyDrives)
			continue
		}
		e.Unlock()
		e.park(c)
		e.Lock()
	}
}

// passOn is what a goroutine owes that leaves a wait: it may have been chosen to drive, or have held the token for a look (vacant)
// just when another waiter tried for it.
func (e *Engine) passOn() {
	if e.parked.Load() != 0 && atomic.LoadUint32(&e.driving) != callerDrives {
		e.handOff()
	}
}

// WaitStop is Wait that gives up when stop becomes true; whoever sets stop calls Kick afterwards. It reports c.Done.
func (e *Engine) WaitStop(c Cond, stop *atomic.Bool) bool {
	e.Wait(&stoppable{c, stop})
	return c.Done()
}

type stoppable struct {
	c    Cond
	stop *atomic.Bool
}

func (s *stoppable) Done() bool { return s.c.Done() || s.stop.Load() }

// Driven reports whether a goroutine that waits drives, so that one that waits now would be parked. The caller holds the token.
func (e *Engine) Driven() bool { return atomic.LoadUint32(&e.driving) == callerDrives }

// setDriving needs no fence: the token's return, which follows, is one, and who looks without the token does so after it.
func (e *Engine) setDriving(v uint32) { relaxed.Store32(&e.driving, v) }

// tryDrive drives until c is done if the token is free and nobody drives.
func (e *Engine) tryDrive(c Cond) bool {
	if !e.TryDriver() {
		return false
	}
	e.setDriving(callerDrives)
	e.drive(c)
	e.setDriving(nobodyDrives)
	e.Unlock()
	return true
}

// TryDriver takes the token if it is free and nobody drives, so that WaitLocked drives at once. The agent makes room.
func (e *Engine) TryDriver() bool {
	if !e.mu.TryLock() {
		if atomic.LoadUint32(&e.driving) != agentDrives {
			return false
		}
		e.Lock() // it comes sooner than a goroutine that is parked would run again
	}
	if atomic.LoadUint32(&e.driving) != nobodyDrives {
		if atomic.LoadUint32(&e.driving) == callerDrives {
			e.Unlock()
			return false
		}
		e.takeRole()
	}
	return true
}

// drive polls until c is done. It is entered and left with the token held and the driver's role taken.
func (e *Engine) drive(c Cond) {
	idle := uint32(0)
	var since int64
	for {
		if n := e.pass(); n != 0 {
			e.stats.Events += uint64(n)
			idle, since = 0, 0
		}
		if c.Done() {
			return
		}
		if e.outside.Load() != 0 || e.dirty && e.parked.Load() != 0 {
			e.dirty = false
			if e.wakeDone() {
				e.giveWay()
				if c.Done() {
					return
				}
			}
		}
		if e.want.Load() != 0 {
			e.lend()
			if c.Done() {
				return
			}
		}
		idle++
		if tired := e.mode.idle(e, idle, &since); tired && e.busy.Load() != 0 {
			runtime.Gosched() // no sleep, but those that make room must run
		} else if tired {
			e.sleep(c, true)
			idle, since = 0, 0
			if c.Done() {
				return
			}
		} else if e.mode == idleYield && c.Done() {
			return // others have run meanwhile
		}
	}
}

// Lend gives the token away for a moment: to those who want it, and the core to others. The caller holds the token, and again
// when it returns; it is for the rare loops that poll without waiting.
func (e *Engine) Lend() {
	e.Unlock()
	runtime.Gosched()
	e.Lock()
}

// giveWay lets the goroutine that was just woken run: on this processor it does so at once, while another one would have to be
// woken, and with a single one it would wait until the driver is tired of polling.
func (e *Engine) giveWay() {
	e.mu.Unlock()
	runtime.Gosched()
	e.mu.Lock()
}

// lend lets those who want the token have it for the length of an operation.
func (e *Engine) lend() {
	e.mu.Unlock()
	for i := 0; e.want.Load() != 0 && i < 1000; i++ {
		runtime.Gosched()
	}
	e.mu.Lock()
}

// park waits until c is done, or until this goroutine is chosen to drive or should look again.
func (e *Engine) park(c Cond) {
	w := e.enlist(c)
	if !c.Done() && !e.vacant() {
		e.blockOn(w)
	}
	e.delist(w)
}

// vacant reports whether the driver's place is free for the taking; if it cannot tell, the token's holder will hand off.
func (e *Engine) vacant() bool {
	if !e.mu.TryLock() {
		return false
	}
	free := atomic.LoadUint32(&e.driving) != callerDrives
	e.mu.Unlock()
	return free
}

// handOff wakes one waiter to drive, unless one is on its way.
func (e *Engine) handOff() {
	e.wmu.Lock()
	for _, w := range e.waiters {
		if w.chosen {
			e.wmu.Unlock()
			return
		}
	}
	if len(e.waiters) > 0 {
		w := e.waiters[0]
		w.chosen = true
		e.signal(w)
	}
	e.wmu.Unlock()
}

// signal wakes w, and reports whether nobody had done so before.
func (e *Engine) signal(w *waiter) bool {
	if w.parked.CompareAndSwap(true, false) && e.job != nil {
		e.job.n.Add(1)
	}
	select {
	case w.ch <- struct{}{}:
		return true
	default:
		return false
	}
}

func (e *Engine) blockOn(w *waiter) {
	e.parks.Add(1)
	if e.job == nil {
		<-w.ch
		return
	}
	e.job.n.Add(-1)
	w.parked.Store(true)
	<-w.ch
	if w.parked.CompareAndSwap(true, false) {
		e.job.n.Add(1)
	}
}

func (e *Engine) enlist(c Cond) *waiter {
	e.mu.share()
	w := waiterPool.Get().(*waiter)
	w.cond, w.chosen = c, false
	select { // a signal left over from an earlier life
	case <-w.ch:
	default:
	}
	e.wmu.Lock()
	e.waiters = append(e.waiters, w)
	e.wmu.Unlock()
	e.parked.Add(1)
	return w
}

// delist takes w out. Who was chosen to drive now drives, or hands off when it leaves Wait or gives the token back.
func (e *Engine) delist(w *waiter) {
	e.wmu.Lock()
	for i, x := range e.waiters {
		if x == w {
			e.waiters = append(e.waiters[:i], e.waiters[i+1:]...)
			break
		}
	}
	w.cond = nil
	e.wmu.Unlock()
	e.parked.Add(-1)
	waiterPool.Put(w)
}

// wakeDone wakes every waiter whose condition holds, and reports whether there was one that nobody had woken before.
func (e *Engine) wakeDone() (woken bool) {
	e.wmu.Lock()
	for _, w := range e.waiters {
		if w.cond != nil && w.cond.Done() && e.signal(w) {
			woken = true
		}
	}
	ring := e.nap != nil && e.nap.Done()
	e.wmu.Unlock()
	if ring {
		e.Wake()
	}
	return woken
}

// Kick makes everybody who waits look at its condition again: after a WaitStop's stop was set, or when a condition that is no
// Completion of this engine changed. Any goroutine may call it.
func (e *Engine) Kick() {
	if e.parked.Load() != 0 {
		e.wakeDone()
	}
	e.Wake()
}

// Alarm tells that something has failed, so that conditions may never hold for which somebody waits: those that look at Alarmed.
// It is for ever, and followed by Kick.
func (e *Engine) Alarm() { e.alarm.Store(true) }

// Alarmed reports whether Alarm was called.
func (e *Engine) Alarmed() bool { return e.alarm.Load() }

// Busy adds n to the count of things that need polling to move on (a send that waits for room): while it is not zero the
// driver does not sleep. Any goroutine may call it.
func (e *Engine) Busy(n int32) {
	if e.busy.Add(n) > 0 && n > 0 {
		e.Wake()
	}
}

// testGosched is how many calls that test and find nothing lie between turns of the Go scheduler.
const testGosched = 16

// Yield is for a call that has tested and found nothing, the token given back: a program that tests in a loop must not keep its core
// from whoever it waits for until the runtime takes it away, 10 ms later.
func (e *Engine) Yield() {
	if e.mode == idleYield {
		unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // cannot fail
	}
	if atomic.LoadUint32(&e.driving) == callerDrives || (e.job != nil && e.job.n.Load() > e.procs) || e.tests.Add(1)%testGosched == 0 {
		runtime.Gosched()
	}
}

// TryPoll makes one pass over everything unless somebody else drives. The caller holds the token. It is how calls that only test
// make progress.
func (e *Engine) TryPoll() int {
	if atomic.LoadUint32(&e.driving) == callerDrives {
		return 0
	}
	e.takeRole()
	e.setDriving(callerDrives)
	n := e.pass()
	e.stats.Events += uint64(n)
	e.setDriving(nobodyDrives)
	return n
}

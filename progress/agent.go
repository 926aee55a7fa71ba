package progress

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Async is the value of mpi_async_progress.
type Async uint8

// Modes of asynchronous progress.
const (
	AsyncNone   Async = iota // the engine moves while somebody waits or tests
	AsyncAgent               // an agent goroutine drives it when nobody else does, and sleeps when nothing comes
	AsyncThread              // the same with a thread and a processor of the Go scheduler of its own, which the caller adds
	AsyncCore                // an agent on a core of its own, which polls on
)

// Values of Engine.driving: who has the driver's role. The agent's is a role on loan: whoever holds the token and wants to wait takes it
// away (takeRole).
const (
	nobodyDrives = 0
	callerDrives = 1
	agentDrives  = 2
)

// The agent comes when the program is not there: only when no pass was made between two of its looks does it take the driver's role.
// Thus a program that waits again and again drives by itself and does not notice, and an answer to a rendezvous is late by two
// intervals at most. In the role the agent polls for a moment, then it sleeps as any driver does, so that peers ring; the program takes the role
// away by two stores. A program that itself sleeps in a call needs no looks: the agent dozes until it wakes.

// A look costs a program that polls some 40 µs, most of it the Go scheduler's. So when the program was found waiting in the engine
// agentTrust times in a row, the time between two looks doubles, up to agentPatience intervals, until the agent is needed. When it is found outside, the next
// look follows soon: it may have been between two calls.
const (
	agentTrust    = 8
	agentPatience = 16
	agentSoon     = 4 // part of an interval
)

// Looks that are rare find a computation late, or not at all. So when the agent was needed, the program's next calls that leave something
// unfinished hand the role over as they return (Depart), and peers ring at once: agentCredit calls at first, agentMost once that was of use.
// Each that was for nothing, because the program came back before anything else did, costs one.
const (
	agentCredit = 8
	agentMost   = 64
)

// agentBurst is how many passes that find nothing the agent makes before it sleeps, agentYields those between turns of others.
const (
	agentBurst  = 1024
	agentYields = 128
)

// yield lets others run: whoever stands in the queue of the core where the agent has its thread for itself, since a turn of the Go scheduler would
// change threads twice.
func (a *agent) yield() {
	if a.own {
		unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // cannot fail
	} else {
		runtime.Gosched()
	}
}

// standby is how many looks at a word the agent on its own core makes between two looks at the engine, some microseconds: each takes
// a cache line away from whoever drives.
const standby = 4096

// agent is the goroutine of asynchronous progress.
type agent struct {
	e        *Engine
	own      bool // a thread
	interval time.Duration
	wait     time.Duration // until the next look
	soon     bool          // that is to tell whether the program was between two calls
	busy     int           // looks in a row that found the program waiting
	credit   int           // calls that may hand the role over; guarded by the token
	pause    *pause        // nil on its own core
	armed    bool          // peers ring for it; guarded by the token
	dozing   bool          // it has no timer: whoever drives sleeps, and sets one when it wakes; guarded by the token
	stop     atomic.Bool
	over     chan struct{}

	cores   unix.CPUSet  // that the process may use
	program atomic.Int32 // the core on which the program was last seen, -1: not yet
	shunned int32        // the core that the agent's thread keeps away from, -1: none
}

// StartAsync begins asynchronous progress. interval is that between the looks of AsyncAgent; cpu the core that AsyncCore polls on, which
// must be one that this process may use. The caller does not hold the token, and calls StopAsync before Close.
func (e *Engine) StartAsync(mode Async, interval time.Duration, cpu int) error {
	if mode == AsyncNone || e.agent != nil {
		return nil
	}
	a := &agent{e: e, interval: max(interval, time.Microsecond), over: make(chan struct{}), own: mode == AsyncThread, shunned: -1}
	a.program.Store(-1)
	a.wait = a.interval
	begun := make(chan error, 1)
	if mode != AsyncCore {
		p, err := newPause(a.own)
		if err != nil {
			return err
		}
		a.pause = p
		begun <- nil
	}
	e.setAgent(a)
	if mode != AsyncCore {
		go a.run()
	} else {
		go a.runOn(cpu, begun)
	}
	err := <-begun
	if err != nil {
		e.StopAsync()
	}
	return err
}

// StopAsync ends asynchronous progress, and returns when it has ended. The caller does not hold the token.
func (e *Engine) StopAsync() {
	a := e.agent
	if a == nil {
		return
	}
	a.stop.Store(true)
	if a.pause != nil {
		a.pause.ring()
	}
	<-a.over
	e.setAgent(nil)
	if a.pause != nil {
		a.pause.close()
	}
}

func (e *Engine) setAgent(a *agent) {
	e.Lock()
	e.wmu.Lock()
	e.agent = a
	e.wmu.Unlock()
	e.Unlock()
}

// run is the life of the agent goroutine.
func (a *agent) run() {
	defer close(a.over)
	runtime.LockOSThread()                 // for ever: it blocks, and has an affinity of its own
	_ = unix.SchedGetaffinity(0, &a.cores) // else the set is empty, and the agent stays wherever it is
	seen := ^uint64(0)
	for !a.stop.Load() {
		if a.handed() || a.look(&seen) {
			a.drive()
			seen, a.soon = ^uint64(0), false
			a.pause.after(a.wait)
		}
		a.pause.block(&a.e.asleep)
	}
}

// Depart gives the token back at the end of a call that leaves something unfinished. An agent that was of use of late takes over at once.
func (e *Engine) Depart() {
	a := e.agent
	if a == nil || a.credit == 0 || e.driving != nobodyDrives || e.parked.Load() != 0 {
		e.Unlock()
		return
	}
	a.credit--
	a.saw()
	e.setDriving(agentDrives)
	e.Unlock()
	a.pause.ring()
}

// handed takes the token if the role was handed over.
func (a *agent) handed() bool {
	if atomic.LoadUint32(&a.e.driving) != agentDrives {
		return false
	}
	a.makeRoom()
	return a.again()
}

// look takes the driver's role, and the token with it, if no pass was made since the last look; else it sets the timer for the next.
func (a *agent) look(seen *uint64) bool {
	e := a.e
	if !e.mu.TryLock() {
		a.patient()
		return false
	}
	switch {
	case atomic.LoadUint32(&e.driving) == callerDrives && e.asleep.Load() != awake:
		a.dozing = true
	case atomic.LoadUint32(&e.driving) == nobodyDrives && e.tick == *seen:
		e.setDriving(agentDrives)
		a.makeRoom()
		a.wait, a.busy, a.credit = a.interval, 0, max(a.credit, agentCredit)
		return true
	case atomic.LoadUint32(&e.driving) == nobodyDrives && !a.soon:
		*seen, a.soon = e.tick, true
		a.pause.after(a.interval / agentSoon)
	default:
		*seen = e.tick
		a.patient()
	}
	e.Unlock()
	return false
}

// makeRoom has the agent's thread leave the core on which the program computes, if there is another. The kernel wakes it there, where its timer
// runs out or where it ran last, and when the other cores have been busy of late it does not look whether they still are: agent and program would take
// turns of milliseconds.
func (a *agent) makeRoom() {
	program := a.program.Load()
	if !a.own || program < 0 || program == a.shunned || core() != program {
		return
	}
	others := a.cores
	others.Clear(int(program))
	if others.Count() > 0 && unix.SchedSetaffinity(0, &others) == nil {
		a.shunned = program
	}
}

// saw notes where the program is.
func (a *agent) saw() {
	if a.own {
		a.program.Store(core())
	}
}

// core gives the number of the core that the caller runs on, -1 if it cannot be found.
func core() int32 {
	var cpu uint32
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); errno != 0 {
		return -1
	}
	return int32(cpu)
}

// patient sets the next look later than the last.
func (a *agent) patient() {
	a.soon = false
	if a.busy++; a.busy > agentTrust {
		a.wait = min(2*a.wait, agentPatience*a.interval)
	}
	a.pause.after(a.wait)
}

// ByAgent reports whether it is the agent that drives: the program computes, and cores may be scarce. The caller holds the token.
func (e *Engine) ByAgent() bool { return atomic.LoadUint32(&e.driving) == agentDrives }

// drive polls, and sleeps, until somebody takes the role or wants the token. It is entered with both, and left with neither.
func (a *agent) drive() {
	e := a.e
	for idle := 1; ; idle++ {
		if n := e.pass(); n != 0 {
			e.stats.Events += uint64(n)
			idle, a.credit = 0, agentMost
		}
		if a.wanted() {
			a.leave()
			return
		}
		if idle%agentYields == 0 {
			e.Unlock()
			a.yield()
			if !a.again() {
				return
			}
		}
		if idle >= agentBurst && e.busy.Load() == 0 {
			if !a.sleep() {
				return
			}
			idle = 0
		}
	}
}

// wanted reports whether the agent should make room.
func (a *agent) wanted() bool {
	return a.e.want.Load() != 0 || a.e.parked.Load() != 0 || a.stop.Load()
}

// leave gives up the role and the token, in favour of whoever waits.
func (a *agent) leave() {
	a.e.setDriving(nobodyDrives)
	a.e.Unlock()
}

// again takes the token back, unless the role is gone.
func (a *agent) again() bool {
	e := a.e
	for !e.mu.TryLock() {
		if atomic.LoadUint32(&e.driving) != agentDrives || e.lost.Load() {
			return false
		}
		a.yield()
	}
	if atomic.LoadUint32(&e.driving) != agentDrives {
		e.Unlock()
		return false
	}
	return true
}

// sleep blocks until something rings, comes, or is due: Engine.sleep for the agent, which rings on its own bell. It is entered with the
// token, and left with it, or with false when the role is gone.
func (a *agent) sleep() bool {
	e := a.e
	for _, s := range e.sleepers {
		s.Arm()
	}
	a.armed = true
	e.asleep.Store(onAgent)
	n := e.pass()
	if e.fds.live != 0 {
		n += e.fds.poll()
	}
	e.stats.Events += uint64(n)
	if n == 0 && !a.wanted() && e.busy.Load() == 0 && e.asleep.Load() == onAgent && a.pause.watch(&e.fds) == nil {
		e.stats.Sleeps++
		a.pause.after(e.untilTimer())
		e.Unlock() // who waits meanwhile, and found the token taken, is served here and takes the role
		rung := a.pause.block(&e.asleep)
		if !a.again() {
			return false
		}
		if rung {
			e.stats.Wakes++
		}
		if len(e.timers) > 0 {
			e.stats.Events += uint64(e.runTimers(time.Now()))
		}
	}
	a.disarm()
	return true
}

// disarm tells the peers that they need not ring any more. The caller holds the token.
func (a *agent) disarm() {
	a.armed = false
	a.e.asleep.Store(awake)
	for _, s := range a.e.sleepers {
		s.Disarm()
	}
}

// takeRole makes the driver's place free if it is the agent's, which is neither waited for nor woken now. The caller holds the token.
func (e *Engine) takeRole() {
	if atomic.LoadUint32(&e.driving) != agentDrives {
		return
	}
	a := e.agent
	a.saw()
	if a.armed {
		a.disarm()
		a.pause.after(a.interval) // it sleeps on: let it look whether it is needed again
	}
	e.setDriving(nobodyDrives)
}

// roused sets the agent to looking again after a sleep of the driver. The caller holds the token.
func (e *Engine) roused() {
	if a := e.agent; a != nil && a.dozing {
		a.dozing = false
		a.pause.after(a.interval)
	}
}

// runOn is the life of the agent on its own core. Its thread ends with it.
func (a *agent) runOn(cpu int, begun chan<- error) {
	defer close(a.over)
	runtime.LockOSThread() // for ever: a thread with its own affinity is of no use to others
	var one unix.CPUSet
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		begun <- fmt.Errorf("progress: placing the agent of asynchronous progress on core %d: %w", cpu, err)
		return
	}
	begun <- nil
	e, seen := a.e, ^uint64(0)
	for !a.stop.Load() {
		for range standby {
			if a.stop.Load() {
				break
			}
		}
		unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // if the core is not its own after all, whoever drives goes first
		if atomic.LoadUint32(&e.driving) != nobodyDrives || !e.mu.TryLock() {
			continue
		}
		if atomic.LoadUint32(&e.driving) == nobodyDrives && e.tick == seen {
			e.setDriving(agentDrives)
			a.poll()
			seen = ^uint64(0)
			continue
		}
		seen = e.tick
		e.Unlock()
	}
}

// poll makes pass after pass until somebody wants the token. It is entered with role and token, and left with neither.
func (a *agent) poll() {
	for !a.wanted() {
		a.e.stats.Events += uint64(a.e.pass())
	}
	a.leave()
}

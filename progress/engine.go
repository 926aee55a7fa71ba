// Package progress is the engine that moves everything: one Engine is one progress domain, and an instance has one. It holds
// the pollers of the transports, timers and file descriptors, and the token (one mutex) that guards them and everything they
// touch: rings, matching tables, free lists, counters.
//
// Whoever waits drives: it takes the token and polls until what it waits for is done. Others that wait meanwhile park and are
// woken by their own completion, or to drive when the driver leaves. Callbacks run with the token held and never assume which
// goroutine runs them.
//
// How the driver waits between passes that find nothing depends on where its peers are (see idle.go): hot polling with cores
// to spare, sched_yield when processes outnumber cores, parking at once when goroutine ranks outnumber cores, and real sleep
// when nothing has come for milliseconds.
//
// Transports, PMLs and collectives use this package; programs do not.
package progress

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Poller is a source of events. Poll is called with the token held and returns how many events it handled; finding nothing
// must cost nanoseconds.
type Poller interface{ Poll() int }

// Sleeper is a transport whose peers must know that the engine sleeps, so that they ring. Arm publishes it, Disarm takes it
// back; both are called with the token held. Between Arm and sleeping the engine polls once more.
type Sleeper interface {
	Arm()
	Disarm()
}

// Config tells the engine where it runs.
type Config struct {
	Cores      int           // usable cores of this process
	LocalRanks int           // ranks on this host that compete for them
	Job        *Runnable     // shared by the goroutine ranks of a process; nil in a process of one rank
	Yield      YieldMode     // how to idle while polling
	SleepAfter time.Duration // idle time before really sleeping; <= 0: never
}

// YieldMode is the value of mpi_yield_when_idle.
type YieldMode uint8

// Yield modes.
const (
	YieldAuto YieldMode = iota // when ranks outnumber cores
	YieldAlways
	YieldNever
)

// Stats are the engine's counters. They are written with the token held.
type Stats struct {
	Passes, Events uint64 // passes made, things found
	Yields         uint64 // sched_yield calls
	Sleeps         uint64 // real sleeps of the driver
	Wakes          uint64 // sleeps that something ended, not a timer
	Parks          uint64 // goroutines that waited while another drove
}

// Engine is one progress domain. Its fields are ordered by who writes them: between processors memory travels in lines of 64 bytes,
// and a goroutine rank that sleeps often wakes on another processor.
type Engine struct {
	// The first line is the token holder's.
	mu      token        // the token
	want    atomic.Int32 // goroutines that wait for the token inside Lock
	driving uint32       // atomic; who has the driver's role: see agent.go; changed with the token held
	tick    uint64
	high    []*Source // polled in every pass
	procs   int32     // how many goroutine ranks can run at once: GOMAXPROCS at start, or cores
	mode    idleMode
	crowded bool // goroutine ranks outnumber procs
	dirty   bool // something was completed since parked waiters were last looked at; guarded by the token
	_       [1]byte
	job     *Runnable

	stats   Stats  // likewise
	ordinal uint64 // see Ordinal; likewise
	_       [8]byte

	// The next is for sleeping, parking and waking: others read it, and write it seldom.
	asleep  atomic.Uint32 // the driver sleeps and needs a ring, and which: see idle.go
	busy    atomic.Int32  // see Busy
	parked  atomic.Int32  // entries of waiters, and 1 while the driver sleeps
	outside atomic.Int32  // parked waiters whose conditions nobody completes here: see WaitOutside
	bell    chan struct{} // the ring when there are no file descriptors
	wmu     sync.Mutex    // guards waiters and nap, and the bells against their end; a leaf lock
	nap     Cond          // what the sleeping driver waits for, else nil
	parks   atomic.Uint64
	tests   atomic.Uint32 // see Yield
	_       [8]byte

	waiters    []*waiter
	sleepers   []Sleeper
	fds        fdSet
	timers     timerHeap
	base       time.Time
	sleepAfter time.Duration
	closed     bool
	alarm      atomic.Bool
	lost       atomic.Bool // see Abandon
	agent      *agent      // of asynchronous progress, or nil; changed with both token and wmu held
}

// housekeeping is how many passes lie between looks at timers and quiet file descriptors: rare enough that an
// empty epoll_wait (165 ns) does not show, often enough that it happens every few microseconds.
const housekeeping = 1024

// New makes an engine.
func New(cfg Config) *Engine {
	e := &Engine{job: cfg.Job, procs: int32(min(runtime.GOMAXPROCS(0), runtime.NumCPU())), sleepAfter: cfg.SleepAfter, base: time.Now(), bell: make(chan struct{}, 1)}
	e.mu.init(cfg.Job != nil)
	e.mode = chooseIdle(cfg)
	e.crowded = cfg.Job != nil && int32(cfg.LocalRanks) > e.procs
	e.fds.every = housekeeping
	return e
}

// SetSleepAfter changes Config.SleepAfter. The caller holds the token.
func (e *Engine) SetSleepAfter(d time.Duration) { e.sleepAfter = d }

// Source is a poller's place in the engine. It is polled in every pass while it is on: a transport with nothing to look at
// switches itself off, so that a pass costs only what may find something.
type Source struct {
	e  *Engine
	p  Poller
	at int // in e.high, -1: off
}

// AddPoller makes a source for p, switched on. The caller holds the token.
func (e *Engine) AddPoller(p Poller) *Source {
	s := &Source{e: e, p: p, at: -1}
	s.On()
	return s
}

// On has the source polled. The caller holds the token. A driver that sleeps over something else wakes: nobody but it polls, and who waits
// for what the source has is parked.
func (s *Source) On() {
	if s.at < 0 {
		s.at = len(s.e.high)
		s.e.high = append(s.e.high, s)
		s.e.Wake()
	}
}

// Off stops polling the source; it may be called from Poll. The caller holds the token.
func (s *Source) Off() {
	if s.at < 0 {
		return
	}
	last := len(s.e.high) - 1
	moved := s.e.high[last]
	s.e.high[s.at] = moved
	moved.at = s.at
	s.e.high[last] = nil
	s.e.high = s.e.high[:last]
	s.at = -1
}

// RemovePoller takes a poller out. The caller holds the token.
func (e *Engine) RemovePoller(p Poller) {
	for _, s := range e.high {
		if s.p == p {
			s.Off()
			break
		}
	}
}

// AddSleeper adds a transport to tell when the engine sleeps. The caller holds the token.
func (e *Engine) AddSleeper(s Sleeper) { e.sleepers = append(e.sleepers, s) }

// Stats gives a copy of the counters. The caller holds the token.
func (e *Engine) Stats() Stats {
	s := e.stats
	s.Passes, s.Parks = uint64(e.tick), e.parks.Load()
	return s
}

// Passes is how many passes were made. The caller holds the token.
func (e *Engine) Passes() uint64 { return e.tick }

// Poll makes one pass. The caller holds the token.
func (e *Engine) Poll() int {
	e.fds.keepBell = atomic.LoadUint32(&e.driving) == callerDrives
	return e.beside(e.pass())
}

// PollAll makes one pass that also looks at file descriptors and timers. The caller holds the token.
func (e *Engine) PollAll() int {
	e.fds.keepBell = atomic.LoadUint32(&e.driving) == callerDrives
	n := e.pass() + e.housekeep()
	if e.fds.live != 0 {
		n += e.fds.poll()
	}
	return e.beside(n)
}

// beside ends a pass of who is perhaps not the driver. A driver that sleeps is woken by what was found: the descriptor that should wake
// it may have been emptied here, and what it told of have come after this pass had looked there.
func (e *Engine) beside(n int) int {
	e.fds.keepBell = false
	if n != 0 {
		e.stats.Events += uint64(n)
		e.Wake()
	}
	return n
}

func (e *Engine) pass() int {
	n := 0
	for i := len(e.high) - 1; i >= 0; i-- { // backwards: a source may switch itself off
		if i < len(e.high) {
			n += e.high[i].p.Poll()
		}
	}
	e.tick++
	if e.tick&uint64(e.fds.every-1) == 0 && e.fds.live != 0 {
		n += e.fds.poll()
	}
	if e.tick&(housekeeping-1) == 0 {
		n += e.housekeep()
	}
	return n
}

func (e *Engine) housekeep() int {
	n := 0
	if len(e.timers) > 0 {
		n += e.runTimers(time.Now())
	}
	return n
}

// Close releases the engine's file descriptors. Nobody may wait any more.
func (e *Engine) Close() error {
	e.Lock()
	defer e.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	e.wmu.Lock()
	defer e.wmu.Unlock()
	return e.fds.close()
}

package progress

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// lastCore is one that this process may use.
func lastCore(t testing.TB) int {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	for cpu := len(set)*64 - 1; cpu >= 0; cpu-- {
		if set.IsSet(cpu) {
			return cpu
		}
	}
	t.Fatal("no core")
	return 0
}

// begin starts asynchronous progress for the length of a test, with a processor of its own as instances do.
func begin(t testing.TB, e *Engine, mode Async) {
	t.Helper()
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(before + 1)
	if err := e.StartAsync(mode, 50*time.Microsecond, lastCore(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.StopAsync()
		runtime.GOMAXPROCS(before)
		if e.agent != nil || e.driving != nobodyDrives || e.asleep.Load() != awake {
			t.Errorf("after the end: agent %v, driving %d, asleep %d", e.agent, e.driving, e.asleep.Load())
		}
	})
}

var asyncModes = map[string]Async{"Agent": AsyncAgent, "Thread": AsyncThread, "Core": AsyncCore}

// TestAsyncNoLostWakeups: as without an agent, whatever the callers do to it.
func TestAsyncNoLostWakeups(t *testing.T) {
	for async, mode := range asyncModes {
		configs := modes()
		configs["GoroutineFew"] = goroutine(&Runnable{})
		for name, cfg := range configs {
			t.Run(async+name, func(t *testing.T) {
				if cfg.SleepAfter > 0 {
					cfg.SleepAfter = 50 * time.Microsecond
				}
				e := newEngine(t, cfg)
				locked(e, func() { mustPipe(t, e) }) // so that there is an epoll set to sleep on
				begin(t, e, mode)
				noLostWakeups(t, e, 60)
			})
		}
	}
}

// mustPipe watches a pipe that nobody writes to, and returns its writing end.
func mustPipe(t testing.TB, e *Engine) *readCount {
	t.Helper()
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	r := &readCount{in: p[0], out: p[1]}
	reg, err := e.AddFD(p[0], unix.EPOLLIN, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		locked(e, func() { e.RemoveFD(reg) })
		unix.Close(p[0])
		unix.Close(p[1])
	})
	return r
}

type readCount struct {
	in, out int
	n       atomic.Int32
}

func (r *readCount) Ready(uint32) {
	var b [16]byte
	if n, err := unix.Read(r.in, b[:]); err == nil {
		r.n.Add(int32(n))
	}
}

func (r *readCount) write(t testing.TB) {
	t.Helper()
	if _, err := unix.Write(r.out, []byte{1}); err != nil {
		t.Fatal(err)
	}
}

// until waits for a condition without a call to the engine.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(20 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}

// TestAsyncFinds: descriptors, timers and pollers are looked at while nobody calls, and callers find the engine free.
func TestAsyncFinds(t *testing.T) {
	for name, mode := range asyncModes {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, Config{Cores: 2, LocalRanks: 1, SleepAfter: 50 * time.Microsecond})
			begin(t, e, mode)
			var r *readCount
			locked(e, func() { r = mustPipe(t, e) })
			var ready atomic.Bool
			var polled atomic.Int32
			var s *Source
			p := &pollFunc{func() int {
				if !ready.Swap(false) {
					return 0
				}
				polled.Add(1)
				return 1
			}}
			locked(e, func() { s = e.AddPoller(p) })
			rnd := rand.New(rand.NewPCG(1, 1))
			for i := range int32(60) {
				time.Sleep(time.Duration(rnd.IntN(300)) * time.Microsecond)
				r.write(t)
				until(t, "a descriptor", func() bool { return r.n.Load() == i+1 })
				ready.Store(true)
				e.Wake()
				until(t, "a poller", func() bool { return polled.Load() == i+1 })
				c := &expiry{}
				locked(e, func() { e.AddTimer(time.Duration(rnd.IntN(200))*time.Microsecond, c) })
				until(t, "a timer", c.fired.Load)
				var done Completion
				go func() {
					e.Lock()
					e.Complete(&done)
					e.Unlock()
					e.Wake()
				}()
				e.Wait(&done)
			}
			locked(e, func() { s.Off() })
		})
	}
}

type expiry struct{ fired atomic.Bool }

func (x *expiry) Expired() { x.fired.Store(true) }

// TestAsyncSleeps: an agent with nothing to do, and one whose program sleeps in a call, uses next to no time of a processor.
func TestAsyncSleeps(t *testing.T) {
	e := newEngine(t, Config{Cores: 2, LocalRanks: 1, SleepAfter: time.Millisecond})
	var c Completion
	locked(e, func() { mustPipe(t, e) })
	begin(t, e, AsyncAgent)
	quiet := func(what string) {
		t.Helper()
		awaitSleep(t, e)
		time.Sleep(2 * time.Millisecond)
		var before, after uint64
		locked(e, func() { before = e.tick })
		used := cpuTime(t)
		time.Sleep(100 * time.Millisecond)
		locked(e, func() { after = e.tick })
		if after-before > 2*agentBurst {
			t.Errorf("%s: %d passes in 100 ms", what, after-before)
		}
		t.Logf("%s: %v of a processor in 100 ms", what, cpuTime(t)-used)
	}
	quiet("nobody calls")
	done := make(chan struct{})
	go func() {
		e.Wait(&c)
		close(done)
	}()
	until(t, "a caller that drives", func() (drives bool) {
		locked(e, func() { drives = e.driving == callerDrives })
		return drives
	})
	quiet("a caller sleeps")
	until(t, "the agent to doze", func() (dozes bool) {
		locked(e, func() { dozes = e.agent.dozing })
		return dozes
	})
	locked(e, func() { e.Complete(&c) })
	within(t, "the caller", done)
	quiet("nobody calls any more")
}

func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestAsyncArms: peers ring for the agent while it sleeps, and for nobody once a caller has taken the role away.
func TestAsyncArms(t *testing.T) {
	e := newEngine(t, Config{Cores: 2, LocalRanks: 1})
	s := &armCount{}
	locked(e, func() { e.AddSleeper(s) })
	begin(t, e, AsyncAgent)
	for range 50 {
		awaitSleep(t, e)
		locked(e, func() {
			if armed := s.n; armed != 1 && e.asleep.Load() == onAgent {
				t.Errorf("armed %d times", armed)
			}
			e.TryPoll()
			if s.n != 0 || e.asleep.Load() != awake {
				t.Errorf("armed %d times after a caller's pass, asleep %d", s.n, e.asleep.Load())
			}
		})
	}
}

type armCount struct{ n int }

func (s *armCount) Arm()    { s.n++ }
func (s *armCount) Disarm() { s.n-- }

// TestAsyncRefused: a core that is not there.
func TestAsyncRefused(t *testing.T) {
	e := newEngine(t, process(0))
	if err := e.StartAsync(AsyncCore, 0, len(unix.CPUSet{})*64-1); err == nil {
		t.Error("an agent on a core that does not exist")
	}
	if e.agent != nil {
		t.Error("an agent is left")
	}
}

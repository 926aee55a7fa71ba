package progress

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestNoLostWakeups: goroutines wait, complete, stop and take the token all at once; none may be left waiting.
func TestNoLostWakeups(t *testing.T) {
	configs := modes()
	configs["GoroutineFew"] = goroutine(&Runnable{})
	for name, cfg := range configs {
		t.Run(name, func(t *testing.T) {
			if cfg.SleepAfter > 0 {
				cfg.SleepAfter = 50 * time.Microsecond
			}
			noLostWakeups(t, newEngine(t, cfg), 150)
		})
	}
}

func noLostWakeups(t *testing.T, e *Engine, rounds int) {
	t.Helper()
	const waiters = 8
	todo := make(chan *Completion, waiters)
	var wg, stopped sync.WaitGroup
	for i := range waiters {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rnd := rand.New(rand.NewPCG(uint64(i), 1))
			for range rounds {
				waitSomehow(e, rnd, todo)
			}
		}()
	}
	quit := make(chan struct{})
	for i := range 2 {
		stopped.Add(1)
		go func() {
			defer stopped.Done()
			rnd := rand.New(rand.NewPCG(uint64(i), 2))
			for {
				select {
				case c := <-todo:
					if rnd.IntN(3) == 0 {
						time.Sleep(time.Duration(rnd.IntN(100)) * time.Microsecond)
					}
					e.Lock()
					e.Complete(c)
					e.Unlock() // tells whoever waits, also a driver that sleeps
				case <-quit:
					return
				}
			}
		}()
	}
	all := make(chan struct{})
	go func() {
		wg.Wait()
		close(all)
	}()
	within(t, "all waits", all)
	close(quit)
	stopped.Wait()
	if n, role := e.parked.Load(), atomic.LoadUint32(&e.driving); n != 0 || e.want.Load() != 0 || role == callerDrives {
		t.Errorf("left: %d parked, %d wanting, driving %d", n, e.want.Load(), role)
	}
}

// waitSomehow makes a completion, has somebody complete it, and waits in one of the ways there are.
func waitSomehow(e *Engine, rnd *rand.Rand, todo chan *Completion) {
	c := &Completion{}
	switch rnd.IntN(3) {
	case 0:
		todo <- c
		e.Wait(c)
	case 1:
		e.Lock()
		todo <- c
		e.WaitLocked(c)
		e.Unlock()
	case 2: // gives up, then waits to the end
		var stop atomic.Bool
		go func() {
			stop.Store(true)
			e.Kick()
		}()
		e.WaitStop(c, &stop)
		todo <- c
		e.Wait(c)
	}
}

// TestWaitOutside: a condition that nobody completes here is found by whoever drives, and by a sleeping driver when it is woken.
func TestWaitOutside(t *testing.T) {
	for name, cfg := range modes() {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, cfg)
			var last Completion
			driver := make(chan struct{})
			go func() {
				e.Wait(&last)
				close(driver)
			}()
			for range 50 {
				w := &word{}
				done := make(chan struct{})
				go func() {
					e.WaitOutside(w, 2)
					close(done)
				}()
				if rand.IntN(2) == 0 {
					time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
				}
				w.set.Store(true)
				e.Wake()
				within(t, "a condition from outside", done)
			}
			locked(e, func() { e.Complete(&last) })
			within(t, "the driver", driver)
		})
	}
}

type word struct{ set atomic.Bool }

func (w *word) Done() bool { return w.set.Load() }

// TestWaitStop: who gives up leaves the operation, and the duty to drive, to others.
func TestWaitStop(t *testing.T) {
	for name, cfg := range modes() {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, cfg)
			var stop atomic.Bool
			var never, late Completion
			gave := make(chan bool)
			go func() { gave <- e.WaitStop(&never, &stop) }()
			awaitSleep(t, e)
			done := make(chan struct{})
			go func() {
				e.Wait(&late)
				close(done)
			}()
			stop.Store(true)
			e.Kick()
			select {
			case ok := <-gave:
				if ok {
					t.Error("WaitStop says that it is done")
				}
			case <-time.After(patience):
				t.Fatal("WaitStop did not stop")
			}
			// The other must drive now: only a poller can complete it.
			locked(e, func() { e.AddPoller(&pollFunc{func() int { e.Complete(&late); return 1 }}) })
			e.Wake()
			within(t, "the one that is left to drive", done)
			if !e.WaitStop(&late, &stop) {
				t.Error("WaitStop of what is done says it is not")
			}
		})
	}
}

// TestLend: a driver that never finds anything gives the token to who asks for it.
func TestLend(t *testing.T) {
	e := newEngine(t, Config{Cores: 2, LocalRanks: 1}) // hot, never sleeps
	var c Completion
	done := make(chan struct{})
	go func() {
		e.Wait(&c)
		close(done)
	}()
	taken := make(chan struct{})
	go func() {
		var wg sync.WaitGroup
		for range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for range 200 {
					locked(e, func() {})
				}
			}()
		}
		wg.Wait()
		close(taken)
	}()
	within(t, "the token, 800 times", taken)
	locked(e, func() { e.Complete(&c) })
	within(t, "the driver", done)
}

// TestCompletedBefore: waiting for what is done returns at once, with or without the token.
func TestCompletedBefore(t *testing.T) {
	e := newEngine(t, process(0))
	var c Completion
	c.SetDone()
	e.Wait(&c)
	e.Lock()
	e.WaitLocked(&c)
	e.Unlock()
	if c.Reset(); c.Done() {
		t.Error("done after Reset")
	}
	locked(e, func() { e.Complete(&c) })
	if !c.Done() {
		t.Error("Done is wrong")
	}
	if a := testing.AllocsPerRun(100, func() {
		c.Reset()
		e.Lock()
		e.Complete(&c)
		e.WaitLocked(&c)
		e.Unlock()
		e.Wait(&c)
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
}

// TestSleepers: transports are told before the engine sleeps and after it has woken, and what they find in between is not slept over.
func TestSleepers(t *testing.T) {
	for name, cfg := range modes() {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, cfg)
			var c Completion
			s := &armed{}
			locked(e, func() {
				e.AddSleeper(s)
				e.AddPoller(&pollFunc{func() int { // a message that came just before the peer could see that this engine sleeps
					if s.arms == 3 && s.on {
						e.Complete(&c)
						return 1
					}
					return 0
				}})
			})
			done := make(chan struct{})
			go func() {
				e.Wait(&c)
				close(done)
			}()
			for range 2 {
				awaitSleep(t, e)
				e.Wake() // once: the next sleep is the next round's
			}
			// It may have been woken more often than it slept; the third arming ends it.
			for {
				select {
				case <-done:
				case <-time.After(time.Millisecond):
					e.Wake()
					continue
				}
				break
			}
			locked(e, func() {
				if s.on || s.arms != 3 || s.disarms != 3 {
					t.Errorf("armed %d times, disarmed %d times", s.arms, s.disarms)
				}
			})
		})
	}
}

type armed struct {
	arms, disarms int
	on            bool
}

func (a *armed) Arm()    { a.arms++; a.on = true }
func (a *armed) Disarm() { a.disarms++; a.on = false }

// TestBusy: while something must be polled for, the driver does not sleep.
func TestBusy(t *testing.T) {
	for name, cfg := range modes() {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, cfg)
			var c Completion
			passes := make(chan struct{})
			n := 0
			locked(e, func() {
				e.AddPoller(&pollFunc{func() int {
					if e.busy.Load() == 0 {
						return 0
					}
					if n++; n == 20_000 {
						close(passes)
					}
					return 0
				}})
			})
			done := make(chan struct{})
			go func() {
				e.Wait(&c)
				close(done)
			}()
			awaitSleep(t, e)
			e.Busy(1)
			within(t, "20,000 passes", passes)
			locked(e, func() {
				if e.Stats().Sleeps > 5 {
					t.Errorf("slept %d times though busy", e.Stats().Sleeps)
				}
			})
			e.Busy(-1)
			awaitSleep(t, e)
			locked(e, func() { e.Complete(&c) })
			e.Wake()
			within(t, "the driver", done)
		})
	}
}

// TestRunnable: goroutine ranks that sleep or park are not counted as runnable, and are again when they go on.
func TestRunnable(t *testing.T) {
	job := &Runnable{}
	for range 1000 {
		job.Enter()
	}
	before := job.n.Load()
	e := newEngine(t, goroutine(job))
	for range 20 {
		var a, b Completion
		var wg sync.WaitGroup
		for _, c := range []*Completion{&a, &b} {
			wg.Add(1)
			go func() {
				defer wg.Done()
				e.Wait(c)
			}()
		}
		awaitSleep(t, e)
		locked(e, func() { e.Complete(&a) })
		locked(e, func() { e.Complete(&b) })
		wg.Wait()
		if n := job.n.Load(); n != before {
			t.Fatalf("%d ranks count as runnable, want %d", n, before)
		}
	}
}

// TestYield: on one core, who tests in a loop lets the others run.
func TestYield(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	e := newEngine(t, Config{Cores: 1, LocalRanks: 1})
	for range 20 {
		var c Completion
		go locked(e, func() { e.Complete(&c) })
		looks := 0
		for ; !c.Done(); looks++ {
			locked(e, func() { e.TryPoll() })
			e.Yield()
		}
		if looks > 10*testGosched {
			t.Fatalf("%d looks until the other got the core", looks)
		}
	}
}

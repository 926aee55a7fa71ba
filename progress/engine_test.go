package progress

import (
	"slices"
	"testing"
	"time"
)

// process is an engine as a process of its own has it, goroutine one as a goroutine rank has it.
func process(sleepAfter time.Duration) Config {
	return Config{Cores: 1, LocalRanks: 2, Yield: YieldAlways, SleepAfter: sleepAfter}
}

func goroutine(job *Runnable) Config { return Config{Cores: 1, LocalRanks: 2, Job: job} }

func newEngine(t testing.TB, cfg Config) *Engine {
	e := New(cfg)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return e
}

// locked runs f with the token.
func locked(e *Engine, f func()) {
	e.Lock()
	defer e.Unlock()
	f()
}

// pollFunc is a Poller.
type pollFunc struct{ f func() int }

func (p *pollFunc) Poll() int { return p.f() }

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// within fails the test unless done is closed in time.
func within(t testing.TB, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("waited %v for %s", patience, what)
	}
}

func TestPollers(t *testing.T) {
	e := newEngine(t, process(0))
	calls := map[string]int{}
	poller := func(name string) *pollFunc { return &pollFunc{func() int { calls[name]++; return 0 }} }
	high, off := poller("high"), poller("off")
	locked(e, func() {
		e.AddPoller(high)
		s := e.AddPoller(off)
		for range housekeeping {
			e.Poll()
		}
		s.Off()
		s.Off()
		e.Poll()
		s.On()
		s.On()
		e.Poll()
		if calls["high"] != housekeeping+2 || calls["off"] != housekeeping+1 {
			t.Errorf("calls %v", calls)
		}
		e.PollAll()
		e.RemovePoller(high)
		e.PollAll()
		if calls["high"] != housekeeping+3 || calls["off"] != housekeeping+3 {
			t.Errorf("calls after removal %v", calls)
		}
		if s := e.Stats(); s.Passes != housekeeping+4 {
			t.Errorf("%d passes", s.Passes)
		}
	})
}

// TestPollersChange: pollers may be switched on and off, added and removed from inside a pass.
func TestPollersChange(t *testing.T) {
	e := newEngine(t, process(0))
	var order []string
	var a, b, c *Source
	add := func(name string, f func()) *Source {
		return e.AddPoller(&pollFunc{func() int {
			order = append(order, name)
			f()
			return 1
		}})
	}
	locked(e, func() {
		a = add("a", func() {})
		b = add("b", func() { b.Off() })
		c = add("c", func() {
			a.Off()
			c.Off()
		})
		e.Poll()
		if slices.Index(order, "c") < 0 {
			t.Errorf("c was not polled: %v", order)
		}
		e.Poll()
		e.Poll()
		order = nil
		e.Poll()
		if len(order) != 0 {
			t.Errorf("polled though off: %v", order)
		}
		grown := add("first", func() {})
		grown.Off()
		_ = add("adds", func() {
			if grown.at < 0 {
				grown.On()
			}
		})
		e.Poll()
		e.Poll()
		if !slices.Contains(order, "first") {
			t.Errorf("switched on inside a pass and never polled: %v", order)
		}
	})
}

func TestTryPoll(t *testing.T) {
	e := newEngine(t, process(0))
	n := 0
	locked(e, func() {
		e.AddPoller(&pollFunc{func() int {
			if n++; n == 1 && e.TryPoll() != 0 {
				t.Error("TryPoll polled inside a pass")
			}
			return 1
		}})
		if e.TryPoll() != 1 || n != 1 {
			t.Errorf("TryPoll: %d passes", n)
		}
	})
}

// expire counts calls.
type expire struct {
	e     *Engine
	n     int
	again time.Duration
	done  Completion
}

func (x *expire) Expired() {
	x.n++
	if x.again > 0 {
		x.e.AddTimer(x.again, x)
	}
	if x.n == 3 || x.again == 0 {
		x.e.Complete(&x.done)
	}
}

func TestTimers(t *testing.T) {
	e := newEngine(t, process(0))
	late, early, never := &expire{e: e}, &expire{e: e}, &expire{e: e}
	locked(e, func() {
		e.AddTimer(2*time.Millisecond, late)
		e.AddTimer(0, early)
		x := e.AddTimer(0, never)
		e.StopTimer(x)
		e.StopTimer(x)
		e.StopTimer(nil)
		e.PollAll()
		if early.n != 1 || never.n != 0 {
			t.Errorf("a timer of 0 expired %d times, a stopped one %d times", early.n, never.n)
		}
	})
	e.Wait(&late.done)
	if late.n != 1 || early.n != 1 || never.n != 0 {
		t.Errorf("expired %d, %d, %d times", late.n, early.n, never.n)
	}
}

// TestTimerWakes: a timer ends a sleep, also one that is added, or repeats itself, while the driver sleeps.
func TestTimerWakes(t *testing.T) {
	for name, cfg := range modes() {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, cfg)
			x := &expire{e: e, again: time.Millisecond}
			done := make(chan struct{})
			go func() {
				e.Wait(&x.done)
				close(done)
			}()
			awaitSleep(t, e)
			locked(e, func() { e.AddTimer(time.Millisecond, x) })
			within(t, "a timer that repeats", done)
		})
	}
}

// modes are the ways an engine can idle until it sleeps.
func modes() map[string]Config {
	busy := &Runnable{}
	for range 1000 {
		busy.Enter() // more ranks than cores: park at once
	}
	return map[string]Config{
		"Hot":       {Cores: 2, LocalRanks: 1, SleepAfter: time.Millisecond},
		"Yield":     process(time.Millisecond),
		"Goroutine": goroutine(busy),
	}
}

// awaitSleep waits until the engine's driver sleeps.
func awaitSleep(t testing.TB, e *Engine) {
	t.Helper()
	for deadline := time.Now().Add(patience); e.asleep.Load() == awake; time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatal("the engine does not go to sleep")
		}
	}
}

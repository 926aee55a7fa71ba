package progress

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestTokenExcludes: of many goroutines one at a time holds the token, from the first use on and after it has become shared.
func TestTokenExcludes(t *testing.T) {
	for _, shared := range []bool{false, true} {
		var tok token
		tok.init(shared)
		const goroutines, rounds = 8, 5000
		var wg sync.WaitGroup
		n := 0
		for range goroutines {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for i := range rounds {
					if i%3 != 0 || !tok.TryLock() {
						tok.Lock()
					}
					n++
					tok.Unlock()
				}
			}()
		}
		wg.Wait()
		if n != goroutines*rounds {
			t.Errorf("shared %v: counted to %d, want %d", shared, n, goroutines*rounds)
		}
	}
}

// TestTokenFirstWait: the first goroutine that ever waits is seen by one that gives the token back all the time without looking for
// others. Each round has a token of its own.
func TestTokenFirstWait(t *testing.T) {
	for range 200 {
		var tok token
		tok.init(false)
		var stop atomic.Bool
		over := make(chan struct{})
		go func() {
			defer close(over)
			for n := 0; !stop.Load(); {
				tok.Lock()
				n++
				tok.Unlock()
			}
		}()
		for range 3 {
			tok.Lock()
			time.Sleep(10 * time.Microsecond) // the other waits, and sleeps
			tok.Unlock()
		}
		stop.Store(true)
		select {
		case <-over:
		case <-time.After(10 * time.Second):
			t.Fatal("a goroutine that waits for the token is forgotten")
		}
	}
}

// TestSleeperSeen: a driver that sleeps is seen by another goroutine that completes what it waits for, though the token was never
// contended.
func TestSleeperSeen(t *testing.T) {
	for range 100 {
		e := New(Config{Cores: 2, LocalRanks: 1, SleepAfter: time.Nanosecond})
		var c Completion
		over := make(chan struct{})
		go func() {
			defer close(over)
			e.Wait(&c)
		}()
		for e.asleep.Load() == awake {
			time.Sleep(10 * time.Microsecond)
		}
		e.Lock()
		e.Complete(&c)
		e.Unlock()
		select {
		case <-over:
		case <-time.After(10 * time.Second):
			t.Fatal("a driver that sleeps is forgotten")
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkToken(b *testing.B) {
	for _, shared := range []bool{false, true} {
		b.Run(map[bool]string{false: "One", true: "Shared"}[shared], func(b *testing.B) {
			var tok token
			tok.init(shared)
			b.ReportAllocs()
			for n := 0; n < b.N; {
				tok.Lock()
				n++
				tok.Unlock()
			}
		})
	}
	b.Run("Mutex", func(b *testing.B) {
		var mu sync.Mutex
		for n := 0; n < b.N; {
			mu.Lock()
			n++
			mu.Unlock()
		}
	})
}

// tally counts passes where nothing but the token keeps others away.
type tally struct{ n int }

func (c *tally) Poll() int { c.n++; return 0 }

// TestAgentAndToken: an agent alone does not make the token shared, and beside it the token keeps what it guards.
func TestAgentAndToken(t *testing.T) {
	for name, mode := range asyncModes {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, Config{})
			c := &tally{}
			e.Lock()
			e.AddPoller(c)
			e.Unlock()
			alone := atomic.LoadUint32(&e.mu.shared)
			e.setAgent(nil)
			if got := atomic.LoadUint32(&e.mu.shared); got != alone {
				t.Errorf("shared is %d after an agent was set, %d before", got, alone)
			}
			begin(t, e, mode)
			const calls = 20000
			for k := range calls {
				e.Lock()
				before := c.n
				c.n++
				if k%64 == 0 {
					e.Poll()
				}
				after := c.n
				e.Unlock()
				if n := after - before; n != 1 && n != 2 {
					t.Fatalf("call %d: somebody else counted from %d to %d", k, before, after)
				}
				if k%2000 == 0 {
					time.Sleep(200 * time.Microsecond) // the agent drives
				}
			}
			e.Lock()
			defer e.Unlock()
			if want := int(e.tick) + calls; c.n != want {
				t.Errorf("counted to %d in %d passes and %d calls, want %d", c.n, e.tick, calls, want)
			}
		})
	}
}

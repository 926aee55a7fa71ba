package progress

import (
	"testing"
	"time"
)

// TestAbandon: a token that is gone is found out, and an agent that waits for it ends all the same, wherever it is.
func TestAbandon(t *testing.T) {
	for name, mode := range asyncModes {
		t.Run(name, func(t *testing.T) {
			e := New(Config{Cores: 2, LocalRanks: 1})
			if err := e.StartAsync(mode, 50*time.Microsecond, lastCore(t)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond) // it looks, drives, sleeps
			if !e.LockFor(time.Minute) {
				t.Fatal("the token is not to be had")
			}
			if e.LockFor(time.Millisecond) {
				t.Fatal("the token was had twice")
			}
			if n := e.want.Load(); n != 0 {
				t.Errorf("%d want the token", n)
			}
			done := make(chan struct{})
			go func() {
				e.Abandon()
				close(done)
			}()
			within(t, "the agent's end", done)
		})
	}
}

// TestLockFor: it gets the token from a driver, as Lock does.
func TestLockFor(t *testing.T) {
	for name, cfg := range modes() {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, cfg)
			var c Completion
			done := make(chan struct{})
			go func() {
				e.Wait(&c)
				close(done)
			}()
			for range 50 {
				if !e.LockFor(patience) {
					t.Fatal("the driver does not lend the token")
				}
				e.Unlock()
			}
			locked(e, func() { e.Complete(&c) })
			within(t, "the driver", done)
		})
	}
}

package progress

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestPollBesideSleeper: a message comes just behind the look of a goroutine that polls beside a sleeping driver, or the agent, and that
// goroutine empties the descriptor that rang for it. The sleeper looks all the same.
func TestPollBesideSleeper(t *testing.T) {
	for _, async := range []Async{AsyncNone, AsyncAgent} {
		e := newEngine(t, Config{Cores: 2, LocalRanks: 1, SleepAfter: time.Nanosecond})
		if async != AsyncNone {
			begin(t, e, async)
		}
		var late, come bool // guarded by the token
		var c *Completion
		var bell *readCount
		locked(e, func() {
			bell = mustPipe(t, e)
			e.AddPoller(&pollFunc{func() int { // the first one is polled last
				if late {
					late, come = false, true
					if _, err := unix.Write(bell.out, []byte{1}); err != nil {
						t.Error(err)
					}
				}
				return 0
			}})
			e.AddPoller(&pollFunc{func() int {
				if !come {
					return 0
				}
				come = false
				e.Complete(c)
				return 1
			}})
		})
		for range 20 {
			next := new(Completion)
			locked(e, func() { c = next })
			done := make(chan struct{})
			if async == AsyncNone {
				go func() {
					e.Wait(next)
					close(done)
				}()
			} else {
				go func() {
					for !next.Done() {
						time.Sleep(10 * time.Microsecond)
					}
					close(done)
				}()
			}
			awaitSleep(t, e)
			locked(e, func() {
				late = true
				e.PollAll()
			})
			within(t, "the message", done)
		}
	}
}

// TestUncounted: a poller completes what a parked goroutine waits for and says that it has found nothing, in the last pass before the
// driver sleeps.
func TestUncounted(t *testing.T) {
	for name, cfg := range modes() {
		t.Run(name, func(t *testing.T) {
			cfg.SleepAfter = time.Nanosecond
			e := newEngine(t, cfg)
			var last, c Completion
			done := make(chan struct{})
			s := &lastPass{e: e, c: &c}
			locked(e, func() {
				e.AddSleeper(s)
				e.AddPoller(s)
			})
			driver := make(chan struct{})
			go func() {
				e.Wait(&last)
				close(driver)
			}()
			awaitSleep(t, e)
			go func() {
				e.Wait(&c)
				close(done)
			}()
			for e.parked.Load() < 2 {
				time.Sleep(10 * time.Microsecond)
			}
			locked(e, func() { s.ready = true })
			e.Wake() // it looks, and sleeps again
			within(t, "what the last pass completed", done)
			locked(e, func() { e.Complete(&last) })
			within(t, "the driver", driver)
		})
	}
}

// lastPass completes c in the pass between Arm and sleep, and does not count it.
type lastPass struct {
	e     *Engine
	c     *Completion
	ready bool
	about bool
}

func (s *lastPass) Arm()    { s.about = s.ready }
func (s *lastPass) Disarm() { s.about = false }
func (s *lastPass) Poll() int {
	if s.about {
		s.about, s.ready = false, false
		s.e.Complete(s.c)
	}
	return 0
}

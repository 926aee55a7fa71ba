package progress

import (
	"runtime"
	"testing"
)

// TestGiveWay: on one processor, a goroutine whose condition the driver completes runs before the driver has polled much further.
func TestGiveWay(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	e := newEngine(t, Config{Cores: 2, LocalRanks: 1})
	var last, mine Completion
	var at, ran uint64
	passes := uint64(0)
	locked(e, func() {
		e.AddPoller(&pollFunc{func() int {
			passes++
			if e.parked.Load() != 0 && at == 0 { // the other goroutine is parked
				at = passes
				e.Complete(&mine)
				return 1
			}
			return 0
		}})
	})
	other := make(chan struct{})
	driver := make(chan struct{})
	go func() {
		e.Wait(&last)
		close(driver)
	}()
	go func() {
		e.Wait(&mine)
		e.Lock()
		ran = passes
		e.Complete(&last)
		e.Unlock()
		close(other)
	}()
	within(t, "the goroutine", other)
	within(t, "the driver", driver)
	if ran-at > hotGosched/2 {
		t.Errorf("it ran %d passes later", ran-at)
	}
}

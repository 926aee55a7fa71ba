package progress

import (
	"container/heap"
	"time"
)

// TimerHandler is told that its time has come, with the token held.
type TimerHandler interface{ Expired() }

// Timer is a pending call of a TimerHandler.
type Timer struct {
	when  time.Time
	h     TimerHandler
	index int // in the heap, -1 when not pending
}

type timerHeap []*Timer

func (t timerHeap) Len() int           { return len(t) }
func (t timerHeap) Less(i, j int) bool { return t[i].when.Before(t[j].when) }
func (t timerHeap) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].index, t[j].index = i, j
}
func (t *timerHeap) Push(x any) {
	n := x.(*Timer)
	n.index = len(*t)
	*t = append(*t, n)
}
func (t *timerHeap) Pop() any {
	old := *t
	n := old[len(old)-1]
	n.index = -1
	*t = old[:len(old)-1]
	return n
}

// AddTimer calls h after d, give or take a housekeeping interval. The caller holds the token.
func (e *Engine) AddTimer(d time.Duration, h TimerHandler) *Timer {
	t := &Timer{when: time.Now().Add(d), h: h}
	heap.Push(&e.timers, t)
	e.Wake() // a sleeping driver must sleep no longer than this
	return t
}

// StopTimer takes t back; it may have expired. The caller holds the token.
func (e *Engine) StopTimer(t *Timer) {
	if t != nil && t.index >= 0 {
		heap.Remove(&e.timers, t.index)
	}
}

func (e *Engine) runTimers(now time.Time) int {
	n := 0
	for len(e.timers) > 0 && !e.timers[0].when.After(now) {
		t := heap.Pop(&e.timers).(*Timer)
		t.h.Expired()
		n++
	}
	return n
}

// untilTimer is the time to the next timer, negative when there is none.
func (e *Engine) untilTimer() time.Duration {
	if len(e.timers) == 0 {
		return -1
	}
	return max(0, time.Until(e.timers[0].when))
}

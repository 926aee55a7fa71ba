package progress

import (
	"runtime"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/metrics"
)

// count is a poller that finds something n times.
type count struct{ n int }

func (c *count) Poll() int {
	if c.n == 0 {
		return 0
	}
	c.n--
	return 1
}

// alarm completes something when its time has come.
type alarm struct {
	e *Engine
	c *Completion
}

func (a alarm) Expired() { a.e.Complete(a.c) }

// sleepy is an engine that sleeps in its first idle pass.
func sleepy() *Engine {
	job := new(Runnable)
	for range runtime.GOMAXPROCS(0) + 1 {
		job.Enter()
	}
	return New(Config{Cores: 1, LocalRanks: 1, Job: job, SleepAfter: time.Hour})
}

func stats(e *Engine) Stats {
	e.Lock()
	defer e.Unlock()
	return e.Stats()
}

func TestEventsAreCountedOnce(t *testing.T) {
	e := New(Config{Cores: 1, LocalRanks: 1})
	p := &count{n: 3}
	e.Lock()
	e.AddPoller(p)
	for _, pass := range []func() int{e.Poll, e.PollAll, e.TryPoll} {
		pass()
		pass()
		p.n += 1
	}
	e.Unlock()
	// Found: 2 by Poll, 2 by PollAll, 1 + 0 by TryPoll, after 3 and two more were put there.
	if s := stats(e); s.Events != 5 || s.Passes != 6 || s.Sleeps != 0 || s.Parks != 0 {
		t.Errorf("%+v", s)
	}
}

func TestSleepEndedByTimer(t *testing.T) {
	e := sleepy()
	var c Completion
	e.Lock()
	e.AddTimer(time.Millisecond, alarm{e, &c})
	e.Unlock()
	e.Wait(&c)
	if s := stats(e); s.Sleeps == 0 || s.Wakes != 0 || s.Events != 1 {
		t.Errorf("%+v", s)
	}
}

func TestSleepEndedByRing(t *testing.T) {
	e := sleepy()
	var c Completion
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.Wait(&c)
	}()
	for stats(e).Sleeps == 0 {
		runtime.Gosched()
	}
	e.Lock()
	e.Complete(&c)
	e.Unlock()
	<-done
	if s := stats(e); s.Sleeps != 1 || s.Wakes != 1 {
		t.Errorf("%+v", s)
	}
}

func TestMetricsAreTheStats(t *testing.T) {
	e := New(Config{Cores: 1, LocalRanks: 1})
	e.tick = 1
	e.stats = Stats{Events: 2, Yields: 3, Sleeps: 4, Wakes: 5}
	e.parks.Store(6)
	got := make(map[*metrics.Desc]uint64)
	e.Metrics(func(d *metrics.Desc, v uint64, labels ...string) { got[d] = v })
	for i, d := range e.Describe() {
		if got[d] != uint64(i+1) {
			t.Errorf("%s is %d, want %d", d.Name, got[d], i+1)
		}
	}
}

package udp

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/ompi-go/ompi-go/progress"
)

// Nobody but this process acknowledges what comes to it, so a peer that is alive must be seen to answer, or be given up. Two things see to it.
//
//   - A timer of the engine asks connections that are silent for half of btl_udp_timeout whether there is anybody. Where data is under way the flow asks by
//     itself. An endpoint gives its peer up when several questions in all that time found no answer.
//   - While the program computes, nobody drives the engine. A goroutine notices that the timer has stood still, and makes one pass of this
//     module alone. With asynchronous progress, or a rank inside of MPI, it finds nothing to do. Without a timeout it is not needed.
type watch struct {
	m     *module
	timer *progress.Timer
	every time.Duration
	beat  atomic.Uint32 // how often the timer has come
	stop  chan struct{} // nil: nobody stands in
}

// looks is how many looks at a connection make a timeout.
const looks = 8

func (w *watch) start(m *module) {
	w.m = m
	t := m.opts.Timeout
	if t == 0 {
		return
	}
	w.every = min(time.Second, t/looks)
	w.timer = m.engine.AddTimer(w.every, w)
	w.stop = make(chan struct{})
	go w.stand(w.stop)
}

func (w *watch) end(m *module) {
	m.engine.StopTimer(w.timer)
	if w.stop != nil {
		close(w.stop)
	}
}

// Expired is the timer's call.
func (w *watch) Expired() {
	m := w.m
	w.beat.Add(1)
	w.timer = m.engine.AddTimer(w.every, w)
	m.urgent = true // the clock is looked at
	m.Poll()        // what has come meanwhile counts
	timeout := m.opts.Timeout.Microseconds()
	if m.closed {
		return
	}
	m.now = m.clock()
	for _, ep := range m.eps {
		if ep == nil || ep.live == nil {
			continue
		}
		if c := ep.live; m.now-c.heard >= timeout/2 && c.una == c.sent {
			c.ping(m.now)
		}
		m.work(ep)
	}
	m.batch.flush()
}

// away sees to it that time in which this process did not run is not held against its peers: when the whole job is stopped and goes on, nobody has
// had time to answer. It is called with each look at the clock, the last of which was at m.looked.
func (w *watch) away() {
	m := w.m
	gap := m.now - m.looked
	m.looked = m.now
	most := looks / 2 * w.every.Microseconds()
	if w.stop == nil || gap <= most {
		return
	}
	for _, ep := range m.eps {
		switch {
		case ep == nil:
		case ep.call.on:
			ep.call.since += gap - most
		case ep.live != nil && ep.live.asked != 0:
			ep.live.asked += gap - most
		}
	}
}

// stand makes passes while nobody else does.
func (w *watch) stand(stop <-chan struct{}) {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for seen := w.beat.Load(); ; {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if now := w.beat.Load(); now != seen {
			seen = now
			continue
		}
		e := w.m.engine
		if !e.LockFor(time.Millisecond) {
			if e.Abandoned() { // and nobody will close the module
				return
			}
			continue
		}
		if !w.m.closed {
			w.m.stats.Stood++
			for _, s := range w.m.sockets {
				s.hot, s.misses = true, 0
			}
			w.m.source.On()
			w.m.urgent = true
			if w.m.Poll() > 0 {
				e.Wake()
			}
		}
		e.Unlock()
	}
}

// Arm implements progress.Sleeper: the engine's sleep is to end when something is due.
func (m *module) Arm() {
	if m.closed {
		return
	}
	at := int64(0)
	if m.inject != nil {
		at = m.inject.deadline()
	}
	for _, ep := range m.busy {
		if d := ep.deadline(); d != 0 && (at == 0 || d < at) {
			at = d
		}
	}
	if len(m.busy) > 0 && (at == 0 || slices.ContainsFunc(m.sockets, isFull)) {
		if soon := m.clock() + fullWait; at == 0 || soon < at {
			at = soon
		}
	}
	if at == 0 || m.alarmT != 0 && m.alarmT <= at {
		return
	}
	m.engine.StopTimer(m.alarm)
	m.alarmT = at
	m.alarm = m.engine.AddTimer(time.Duration(max(0, at-m.clock()))*time.Microsecond, (*alarm)(m))
}

func isFull(s *socket) bool { return s.full }

// Disarm implements progress.Sleeper. The alarm stays: it may be needed again, and finds nothing to do otherwise.
func (m *module) Disarm() {}

// alarm is the module as the handler of the timer that ends sleep.
type alarm module

// Expired does what is due.
func (a *alarm) Expired() {
	m := (*module)(a)
	m.alarmT = 0
	m.urgent = true
	m.Poll()
}

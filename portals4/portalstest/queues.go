package portalstest

import (
	"errors"
	"time"

	"github.com/ompi-go/ompi-go/portals4"
)

func queueCases() []testCase {
	return []testCase{
		{"EQOrder", any4, testEQOrder}, {"EQOverflow", any4, testEQOverflow}, {"EQPoll", any4, testEQPoll}, {"EQPollTimeout", any4, testEQPollTimeout},
		{"EQWait", any4, testEQWait}, {"EQWaitInterrupted", any4, testEQWaitInterrupted}, {"EQShared", any4, testEQShared}, {"EQInUse", any4, testEQInUse},
		{"EQSize", any4, testEQSize},
	}
}

// feed puts n empty messages, numbered by header data, into a fresh entry of a portal table entry on q.
func (r *rig) feed(q *portals4.EQ, n int) {
	r.Helper()
	pt := r.newPT(r.dst, 0, q)
	r.link(pt, entry(nil, portals4.OpPut|quiet), nil)
	md := r.bind(r.src, portals4.MD{})
	for k := range n {
		x := r.xfer(pt, 0)
		x.HdrData = uint64(k)
		r.must(md.Put(x))
	}
	r.settle()
}

func testEQOrder(r *rig) {
	q := r.newEQ(r.dst, 64)
	r.feed(q, 60)
	for k := range 60 {
		check(r, "HdrData", r.want(q, portals4.EventPut).HdrData, uint64(k))
	}
	r.none(q)
}

// testEQOverflow: a queue that nobody empties loses its oldest events, and says so once, with an event that is good.
func testEQOverflow(r *rig) {
	q := r.newEQ(r.dst, 8)
	r.feed(q, 100)
	var ev portals4.Event
	r.code(q.Get(&ev), portals4.ErrEQDropped)
	check(r, "event", ev.Type, portals4.EventPut)
	first := ev.HdrData
	if first == 0 || first > 92 {
		r.Fatalf("the first event that is left is %d of 100, of a queue for 8", first)
	}
	for k := first + 1; k < 100; k++ {
		check(r, "HdrData", r.want(q, portals4.EventPut).HdrData, k)
	}
	r.none(q)
	r.feed(q, 3)
	r.want(q, portals4.EventPut)
}

func testEQPoll(r *rig) {
	qs := []*portals4.EQ{r.newEQ(r.dst, 8), r.newEQ(r.dst, 8), r.newEQ(r.dst, 8)}
	var ev portals4.Event
	_, err := portals4.EQPoll(qs, 0, &ev)
	r.code(err, portals4.ErrEQEmpty)
	r.feed(qs[1], 1)
	which, err := portals4.EQPoll(qs, 0, &ev)
	r.must(err)
	check(r, "which", which, 1)
	check(r, "event", ev.Type, portals4.EventPut)
	r.feed(qs[2], 2)
	r.feed(qs[0], 2)
	var seen [3]int
	for range 4 {
		which, err = portals4.EQPoll(qs, -1, &ev)
		r.must(err)
		seen[which]++
	}
	check(r, "events by queue", seen, [3]int{2, 0, 2})
	_, err = portals4.EQPoll(qs, 0, &ev)
	r.code(err, portals4.ErrEQEmpty)
	// No queue starves another one.
	r.feed(qs[0], 6)
	r.feed(qs[1], 1)
	for k := 0; ; k++ {
		which, err = portals4.EQPoll(qs, 0, &ev)
		r.must(err)
		if which == 1 {
			break
		}
		check(r, "queue 1 waits for all of queue 0", k < 6, true)
	}
}

func testEQPollTimeout(r *rig) {
	q := r.newEQ(r.dst, 8)
	var ev portals4.Event
	begin := time.Now()
	_, err := portals4.EQPoll([]*portals4.EQ{q}, 20*time.Millisecond, &ev)
	r.code(err, portals4.ErrEQEmpty)
	if d := time.Since(begin); d < 20*time.Millisecond {
		r.Fatalf("it waited %v, want 20 ms", d)
	}
	r.feed(q, 1)
	_, err = portals4.EQPoll([]*portals4.EQ{q}, patience, &ev)
	r.must(err)
}

// testEQWait: who waits is woken, one for each event.
func testEQWait(r *rig) {
	q := r.newEQ(r.dst, 8)
	const waiters = 3
	got := make(chan uint64, waiters)
	for range waiters {
		go func() {
			var ev portals4.Event
			if err := q.Wait(&ev); err != nil {
				r.Error(err)
			}
			got <- ev.HdrData
		}()
	}
	r.feed(q, waiters)
	sum := uint64(0)
	for range waiters {
		select {
		case v := <-got:
			sum += v
		case <-time.After(patience):
			r.Fatal("nobody wakes up")
		}
	}
	check(r, "sum of header data", sum, 0+1+2)
	r.none(q)
}

func testEQWaitInterrupted(r *rig) {
	q := r.newEQ(r.dst, 8)
	done := make(chan error, 2)
	go func() {
		var ev portals4.Event
		done <- q.Wait(&ev)
	}()
	go func() {
		var ev portals4.Event
		_, err := portals4.EQPoll([]*portals4.EQ{q}, -1, &ev)
		done <- err
	}()
	time.Sleep(5 * time.Millisecond) // most of the time they wait already; if not, the queue is gone when they come
	r.must(q.Free())
	for range 2 {
		select {
		case err := <-done:
			if !errors.Is(err, portals4.ErrInterrupted) && !errors.Is(err, portals4.ErrArgInvalid) {
				r.Fatalf("error %v", err)
			}
		case <-time.After(patience):
			r.Fatal("nobody wakes up")
		}
	}
}

// testEQShared: several portal table entries and memory descriptors may have one queue.
func testEQShared(r *rig) {
	q := r.newEQ(r.dst, 32)
	r.src = r.dst
	a, b := r.newPT(r.dst, 0, q), r.newPT(r.dst, 0, q)
	for _, pt := range []*portals4.PT{a, b} {
		r.link(pt, entry(make([]byte, 8), portals4.OpPut|quiet), nil)
	}
	md := r.bind(r.dst, portals4.MD{Start: make([]byte, 8), EQ: q})
	for _, pt := range []*portals4.PT{a, b} {
		x := r.xfer(pt, 8)
		x.Ack = portals4.Ack
		r.must(md.Put(x))
		evs := r.all(q, portals4.EventPut, portals4.EventSend, portals4.EventAck)
		check(r, "PT", evs[0].PT, pt.Index())
	}
	r.none(q)
}

func testEQInUse(r *rig) {
	q := r.newEQ(r.dst, 8)
	pt := r.newPT(r.dst, 0, q)
	r.code(q.Free(), portals4.ErrInUse)
	r.must(pt.Free())
	md := r.bind(r.dst, portals4.MD{EQ: q})
	r.code(q.Free(), portals4.ErrInUse)
	r.must(md.Release())
	r.must(q.Free())
	r.code(q.Free(), portals4.ErrArgInvalid)
	var ev portals4.Event
	r.code(q.Get(&ev), portals4.ErrArgInvalid)
	r.code(q.Take(&ev), portals4.ErrArgInvalid)
	r.code(q.Wait(&ev), portals4.ErrArgInvalid)
	_, err := portals4.EQPoll([]*portals4.EQ{q}, 0, &ev)
	r.code(err, portals4.ErrArgInvalid)
}

// testEQSize: at least as many events fit as were asked for, whatever the number.
func testEQSize(r *rig) {
	for _, n := range []int{1, 2, 3, 7, 8, 9, 33} {
		q := r.newEQ(r.dst, n)
		r.feed(q, n)
		for k := range n {
			check(r, "HdrData", r.want(q, portals4.EventPut).HdrData, uint64(k))
		}
		r.none(q)
	}
}

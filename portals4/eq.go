package portals4

import (
	"slices"
	"time"

	"github.com/ompi-go/ompi-go/progress"
)

// EQ is an event queue (ptl_handle_eq_t): a ring that overwrites its oldest events when nobody takes them.
type EQ struct {
	ni       *NI
	ring     []Event
	mask     uint64
	head     uint64 // events posted
	tail     uint64 // events taken or lost
	dropped  bool   // events were lost since the last one taken
	freed    bool
	reserved int // slots for the PT_DISABLED events of flow-controlled portal table entries
	owed     int // slots for the events of their operations whose data is on the way
	users    int // portal table entries and memory descriptors
	waiters  []*waiter
	listener EQListener
	told     bool // the listener is about to be called
}

// EQListener hears that a queue has events.
type EQListener interface {
	// Events is called with the token held, by whoever drives the engine, after events were posted: it takes them all (EQ.Take).
	Events(q *EQ)
}

// waiter is somebody who waits for an event of queues, or for counting events, or for the time to be over.
type waiter struct {
	progress.Completion
	i       *Interface
	qs      []*EQ
	cs      []*CT
	tests   []uint64
	which   int
	ct      CTEvent
	err     error
	expired bool
	timer   *progress.Timer
}

// EQAlloc makes an event queue for at least count events.
func (ni *NI) EQAlloc(count int) (*EQ, error) {
	i, err := ni.enter("PtlEQAlloc")
	if err != nil {
		return nil, err
	}
	defer i.leave()
	if count < 1 || count > 1<<24 {
		return nil, bad("PtlEQAlloc", "%d events wanted, must be 1 to %d", count, 1<<24)
	}
	if ni.eqs >= ni.limits.MaxEQs {
		return nil, fail("PtlEQAlloc", ErrNoSpace, "all %d event queues are in use (max_eqs)", ni.limits.MaxEQs)
	}
	ni.eqs++
	n := uint64(1)
	for n < uint64(count) {
		n <<= 1
	}
	q := &EQ{ni: ni, ring: make([]Event, n), mask: n - 1}
	ni.allEQs = append(ni.allEQs, q)
	return q, nil
}

// OnEvents has f called when events were posted by others than the caller of this package, and soon when there are some. One listener a queue.
func (q *EQ) OnEvents(f EQListener) error {
	i, err := q.enter("PtlEQListen")
	if err != nil {
		return err
	}
	defer i.leave()
	q.listener = f
	if f != nil && q.head != q.tail && !q.told { // what came before
		q.told = true
		i.notify = append(i.notify, q)
	}
	return nil
}

// Free ends the queue; who waits for it is interrupted.
func (q *EQ) Free() error {
	i, err := q.enter("PtlEQFree")
	if err != nil {
		return err
	}
	defer i.leave()
	if q.users > 0 {
		return fail("PtlEQFree", ErrInUse, "%d portal table entries and memory descriptors use the queue", q.users)
	}
	q.end()
	q.ni.eqs--
	q.ni.allEQs = slices.DeleteFunc(q.ni.allEQs, func(o *EQ) bool { return o == q })
	return nil
}

// end interrupts who waits.
func (q *EQ) end() {
	q.freed = true
	for len(q.waiters) > 0 {
		q.waiters[0].over(errWaitFreed)
	}
	q.ring = nil
}

func (q *EQ) enter(op string) (*Interface, error) {
	if q == nil {
		return nil, bad(op, "no event queue")
	}
	i, err := q.ni.enter(op)
	if err == nil && q.freed {
		i.leave()
		return nil, bad(op, "the event queue was freed")
	}
	return i, err
}

// free is how many events fit without losing any.
func (q *EQ) free() int { return len(q.ring) - int(q.head-q.tail) }

// unreserved is how many fit beside those that flow control has to expect.
func (q *EQ) unreserved() int { return q.free() - q.reserved - q.owed }

// slot gives the next event to fill, all zero but for what the caller writes; done by posted.
func (q *EQ) slot() *Event {
	if q.head-q.tail > q.mask {
		q.tail++ // the oldest is lost
		q.dropped = true
	}
	return &q.ring[q.head&q.mask]
}

// posted publishes the event of slot.
func (q *EQ) posted() {
	q.head++
	if len(q.waiters) > 0 {
		q.waiters[0].over(nil) // it takes the event when it has woken, if nobody has by then
		return
	}
	if q.listener != nil && !q.told {
		q.told = true
		q.ni.i.notify = append(q.ni.i.notify, q)
	}
}

// take gives the oldest event.
func (q *EQ) take(ev *Event) error {
	if q.head == q.tail {
		return errEmpty
	}
	s := &q.ring[q.tail&q.mask]
	*ev = *s
	s.Start, s.UserPtr = nil, nil // memory must not live by what nobody looks at
	q.tail++
	if q.dropped {
		q.dropped = false
		return errDropped
	}
	return nil
}

var (
	errEmpty     = &Error{Op: "PtlEQGet", Code: ErrEQEmpty, Why: "no event"}
	errWaitFreed = &Error{Op: "PtlEQWait", Code: ErrInterrupted, Why: "the queue was freed"}
	errPollFreed = &Error{Op: "PtlEQPoll", Code: ErrInterrupted, Why: "one of the queues was freed"}
	errDropped   = &Error{Op: "PtlEQGet", Code: ErrEQDropped, Why: "the queue was too small: events before this one were lost"}
)

// Take gives the oldest event and makes no progress: for who is called by the engine. ErrEQEmpty: there is none. ErrEQDropped: the event is valid, and
// events before it were lost.
func (q *EQ) Take(ev *Event) error {
	i, err := q.enter("PtlEQGet")
	if err != nil {
		return err
	}
	err = q.take(ev)
	i.leave()
	return err
}

// Next gives the oldest event where it lies, for listeners of components: nothing is copied. It is theirs until they call Next or Take of the queue again, or
// have as many more posted to it as it has room for. nil: there is none. lost tells that events before it were lost.
func (q *EQ) Next() (ev *Event, lost bool) {
	if q.freed {
		return nil, false
	}
	if q.head-q.tail <= q.mask { // else the last one taken has been overwritten
		last := &q.ring[(q.tail-1)&q.mask]
		last.Start, last.UserPtr = nil, nil
	}
	if q.head == q.tail {
		return nil, false
	}
	ev, lost = &q.ring[q.tail&q.mask], q.dropped
	q.tail++
	q.dropped = false
	return ev, lost
}

// Get is Take after moving the engine on.
func (q *EQ) Get(ev *Event) error {
	i, err := q.enter("PtlEQGet")
	if err != nil {
		return err
	}
	if q.head == q.tail {
		i.pass()
	}
	if q.freed {
		err = bad("PtlEQGet", "the event queue was freed")
	} else {
		err = q.take(ev)
	}
	i.leave()
	if err == errEmpty && !i.held {
		i.engine.Yield()
	}
	return err
}

// Wait waits for an event. Of several that wait one gets it.
func (q *EQ) Wait(ev *Event) error {
	i, err := q.enter("PtlEQWait")
	if err != nil {
		return err
	}
	defer i.leave()
	for q.head == q.tail {
		w := i.newWaiter()
		w.qs = append(w.qs, q)
		w.wait(-1)
		i.putWaiter(w)
		if q.freed { // perhaps after an event had ended the wait
			return errWaitFreed
		}
	}
	return q.take(ev)
}

// passOn wakes the next who waits for events that somebody has left who was woken for them.
func (q *EQ) passOn() {
	if q.head != q.tail && len(q.waiters) > 0 {
		q.waiters[0].over(nil)
	}
}

// EQPoll waits until one of the queues has an event, which it takes, or timeout is over (0: looks once; negative: for ever). which is the queue's
// place in qs. All are of one interface.
func EQPoll(qs []*EQ, timeout time.Duration, ev *Event) (which int, err error) {
	if len(qs) == 0 {
		return -1, bad("PtlEQPoll", "no event queues")
	}
	i, err := qs[0].enter("PtlEQPoll")
	if err != nil {
		return -1, err
	}
	defer i.leave()
	for _, q := range qs {
		if q == nil || q.freed || q.ni.i != i {
			return -1, bad("PtlEQPoll", "one of the %d queues is none of this interface", len(qs))
		}
	}
	look := func() bool {
		for k := range qs { // round robin: the first looked at changes
			which = (k + int(i.robin)) % len(qs)
			if qs[which].head != qs[which].tail {
				i.robin++
				err = qs[which].take(ev) // or ErrEQDropped
				return true
			}
		}
		return false
	}
	if look() {
		return which, err
	}
	freed := func(q *EQ) bool { return q.freed }
	if i.pass(); slices.ContainsFunc(qs, freed) { // by a listener
		return -1, errPollFreed
	}
	if look() {
		return which, err
	}
	if timeout == 0 {
		return -1, errEmpty
	}
	end := time.Now().Add(timeout)
	defer func() {
		for _, q := range qs {
			q.passOn() // it was woken for one queue, and may have taken from another
		}
	}()
	for {
		w := i.newWaiter()
		w.qs = append(w.qs, qs...)
		w.wait(timeout)
		expired := w.expired
		i.putWaiter(w)
		if slices.ContainsFunc(qs, freed) { // perhaps after an event had ended the wait
			return -1, errPollFreed
		}
		if look() {
			return which, err
		}
		if expired {
			return -1, errEmpty
		}
		if timeout > 0 { // another has taken the event
			timeout = max(time.Until(end), 1)
		}
	}
}

func (i *Interface) newWaiter() *waiter {
	if n := len(i.idle); n > 0 {
		w := i.idle[n-1]
		i.idle = i.idle[:n-1]
		return w
	}
	return &waiter{i: i}
}

func (i *Interface) putWaiter(w *waiter) {
	clear(w.qs)
	clear(w.cs)
	w.qs, w.cs, w.tests = w.qs[:0], w.cs[:0], w.tests[:0]
	w.err, w.expired, w.timer = nil, false, nil
	i.idle = append(i.idle, w)
}

// wait is entered and left with the token.
func (w *waiter) wait(timeout time.Duration) {
	w.enlist(timeout)
	w.i.engine.WaitLocked(&w.Completion)
}

func (w *waiter) enlist(timeout time.Duration) {
	w.Reset()
	for _, q := range w.qs {
		q.waiters = append(q.waiters, w)
	}
	for _, c := range w.cs {
		c.waiters = append(c.waiters, w)
	}
	if timeout > 0 {
		w.timer = w.i.engine.AddTimer(timeout, w)
	}
}

// over ends the wait. It is the one end: what was taken for the waiter stays its own, even if the time is over before it runs.
func (w *waiter) over(err error) {
	w.err = err
	w.i.engine.StopTimer(w.timer)
	w.timer = nil
	for _, q := range w.qs {
		q.waiters = without(q.waiters, w)
	}
	for _, c := range w.cs {
		c.waiters = without(c.waiters, w)
	}
	w.i.engine.Complete(&w.Completion)
}

// Expired implements progress.TimerHandler.
func (w *waiter) Expired() {
	w.expired = true
	w.over(nil)
}

func without(ws []*waiter, w *waiter) []*waiter {
	for k, x := range ws {
		if x == w {
			copy(ws[k:], ws[k+1:])
			ws[len(ws)-1] = nil
			return ws[:len(ws)-1]
		}
	}
	return ws
}

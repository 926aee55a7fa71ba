package portals4

import (
	"slices"
	"time"
)

// CT is a counting event (ptl_handle_ct_t).
type CT struct {
	ni      *NI
	v       CTEvent
	freed   bool
	users   int
	trig    []*triggered // waiting operations: a heap by threshold and order
	waiters []*waiter
	reach   CTListener
	test    uint64
	told    bool // the listener is about to be called
}

// CTListener is told of a count that was reached.
type CTListener interface{ Reached(c *CT) }

// CTAlloc makes a counting event of value zero.
func (ni *NI) CTAlloc() (*CT, error) {
	i, err := ni.enter("PtlCTAlloc")
	if err != nil {
		return nil, err
	}
	defer i.leave()
	if ni.cts >= ni.limits.MaxCTs {
		return nil, fail("PtlCTAlloc", ErrNoSpace, "all %d counting events are in use (max_cts)", ni.limits.MaxCTs)
	}
	ni.cts++
	c := &CT{ni: ni}
	ni.allCTs = append(ni.allCTs, c)
	return c, nil
}

func (c *CT) enter(op string) (*Interface, error) {
	if c == nil {
		return nil, bad(op, "no counting event")
	}
	i, err := c.ni.enter(op)
	if err == nil && c.freed {
		i.leave()
		return nil, bad(op, "the counting event was freed")
	}
	return i, err
}

// Free ends the counting event: operations that wait for it are dropped, who waits is interrupted.
func (c *CT) Free() error {
	i, err := c.enter("PtlCTFree")
	if err != nil {
		return err
	}
	defer i.leave()
	if c.users > 0 {
		return fail("PtlCTFree", ErrInUse, "%d entries and memory descriptors use the counting event", c.users)
	}
	c.end()
	c.ni.cts--
	c.ni.allCTs = slices.DeleteFunc(c.ni.allCTs, func(o *CT) bool { return o == c })
	return nil
}

func (c *CT) end() {
	c.freed = true
	c.cancel()
	c.reach = nil
	for len(c.waiters) > 0 {
		c.waiters[0].over(fail("PtlCTWait", ErrInterrupted, "the counting event was freed"))
	}
}

// Get is the value. It moves the engine on, unless the caller holds the token.
func (c *CT) Get() (CTEvent, error) {
	i, err := c.enter("PtlCTGet")
	if err != nil {
		return CTEvent{}, err
	}
	if !i.held {
		i.pass()
	}
	v := c.v
	i.leave()
	return v, nil
}

// Wait waits until success and failure together reach test, and gives the value: the caller looks whether anything has failed.
func (c *CT) Wait(test uint64) (CTEvent, error) {
	i, err := c.enter("PtlCTWait")
	if err != nil {
		return CTEvent{}, err
	}
	defer i.leave()
	if c.sum() >= test {
		return c.v, nil
	}
	w := i.newWaiter()
	w.cs, w.tests = append(w.cs, c), append(w.tests, test)
	w.wait(-1)
	v, err := w.ct, w.err
	i.putWaiter(w)
	return v, err
}

// CTPoll waits until one of the counting events reaches its test, or timeout is over (0: looks once; negative: for ever): ErrCTNoneReached. All are of one
// interface.
func CTPoll(cs []*CT, tests []uint64, timeout time.Duration) (which int, v CTEvent, err error) {
	if len(cs) == 0 || len(cs) != len(tests) {
		return -1, v, bad("PtlCTPoll", "%d counting events and %d tests", len(cs), len(tests))
	}
	i, err := cs[0].enter("PtlCTPoll")
	if err != nil {
		return -1, v, err
	}
	defer i.leave()
	for _, c := range cs {
		if c == nil || c.freed || c.ni.i != i {
			return -1, v, bad("PtlCTPoll", "one of the %d counting events is none of this interface", len(cs))
		}
	}
	look := func() int {
		for k, c := range cs {
			if c.sum() >= tests[k] {
				return k
			}
		}
		return -1
	}
	if which = look(); which < 0 {
		i.pass()
		which = look()
	}
	if which >= 0 {
		return which, cs[which].v, nil
	}
	for _, c := range cs {
		if c.freed { // by a listener
			return -1, v, fail("PtlCTPoll", ErrInterrupted, "one of the %d counting events was freed", len(cs))
		}
	}
	none := fail("PtlCTPoll", ErrCTNoneReached, "no counting event has reached its test")
	if timeout == 0 {
		return -1, v, none
	}
	w := i.newWaiter()
	w.cs, w.tests = append(w.cs, cs...), append(w.tests, tests...)
	w.wait(timeout)
	which, v, err = w.which, w.ct, w.err
	if w.expired {
		which, err = -1, none
	}
	i.putWaiter(w)
	return which, v, err
}

// Set changes the value, also to a smaller one, which arms nothing again that has begun.
func (c *CT) Set(v CTEvent) error {
	i, err := c.enter("PtlCTSet")
	if err != nil {
		return err
	}
	c.v = v
	c.changed()
	i.leave()
	return nil
}

// Inc adds to the value; one of v's halves at most is not zero.
func (c *CT) Inc(v CTEvent) error {
	i, err := c.enter("PtlCTInc")
	if err != nil {
		return err
	}
	defer i.leave()
	if v.Success != 0 && v.Failure != 0 {
		return bad("PtlCTInc", "both success and failure are to grow")
	}
	c.add(v)
	return nil
}

// Interrupt ends the waits for the counting event with ErrInterrupted: for components that learn that what is waited for will not come. The token is held.
func (c *CT) Interrupt() {
	for len(c.waiters) > 0 {
		c.waiters[0].over(errInterrupted)
	}
}

var errInterrupted = &Error{Op: "PtlCTWait", Code: ErrInterrupted, Why: "the wait was ended"}

// CancelTriggered drops the operations that wait for the counting event.
func (c *CT) CancelTriggered() error {
	i, err := c.enter("PtlCTCancelTriggered")
	if err != nil {
		return err
	}
	c.cancel()
	i.leave()
	return nil
}

// OnReach has f called, with the token held, once success and failure together reach test; nil ends that. It is for components, whose requests end
// with a count. When the count is reached already, f is called by the next pass.
func (c *CT) OnReach(test uint64, f CTListener) error {
	i, err := c.enter("PtlCTListen")
	if err != nil {
		return err
	}
	c.reach, c.test = f, test
	c.changed()
	i.leave()
	return nil
}

func (c *CT) sum() uint64 { return c.v.Success + c.v.Failure }

// add and count are how operations count.
func (c *CT) add(v CTEvent) {
	c.v.Success += v.Success
	c.v.Failure += v.Failure
	c.changed()
}

// changed wakes and begins what waited for the value.
func (c *CT) changed() {
	if len(c.trig) > 0 {
		c.fire()
	}
	if c.reach != nil && !c.told && c.sum() >= c.test {
		c.told = true
		c.ni.i.reached = append(c.ni.i.reached, c)
	}
	for k := 0; k < len(c.waiters); {
		w := c.waiters[k]
		hit := false
		for n, of := range w.cs {
			if of == c && c.sum() >= w.tests[n] {
				w.which, w.ct, hit = n, c.v, true
			}
		}
		if !hit {
			k++
			continue
		}
		w.over(nil)
	}
}

// count counts an operation that has ended.
func (c *CT) count(bytes bool, n uint64, f FailType) {
	switch {
	case f != OK:
		c.add(CTEvent{Failure: 1})
	case bytes:
		c.add(CTEvent{Success: n})
	default:
		c.add(CTEvent{Success: 1})
	}
}

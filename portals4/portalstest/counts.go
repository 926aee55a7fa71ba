package portalstest

import (
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/ompi-go/ompi-go/portals4"
)

func countCases() []testCase {
	return []testCase{
		{"CTSetInc", any4, testCTSetInc}, {"CTWait", any4, testCTWait}, {"CTWaitFailure", any4, testCTWaitFailure}, {"CTPoll", any4, testCTPoll},
		{"CTWaitInterrupted", any4, testCTWaitInterrupted}, {"CTInUse", any4, testCTInUse}, {"CTEventsAtTarget", any4, testCTAtTarget},
		{"CTEventsAtInitiator", any4, testCTAtInitiator}, {"CTEventsFailures", any4, testCTFailures}, {"OnReach", any4, testOnReach},
	}
}

func testCTSetInc(r *rig) {
	c := r.newCT(r.dst)
	r.stays(c, 0, 0)
	r.must(c.Inc(portals4.CTEvent{Success: 3}))
	r.must(c.Inc(portals4.CTEvent{Failure: 2}))
	r.must(c.Inc(portals4.CTEvent{}))
	r.stays(c, 3, 2)
	r.code(c.Inc(portals4.CTEvent{Success: 1, Failure: 1}), portals4.ErrArgInvalid)
	r.must(c.Set(portals4.CTEvent{Success: 1, Failure: 7}))
	r.stays(c, 1, 7)
	r.must(c.Set(portals4.CTEvent{Success: math.MaxUint64}))
	r.must(c.Inc(portals4.CTEvent{Success: 2}))
	r.stays(c, 1, 0)
}

func testCTWait(r *rig) {
	c := r.newCT(r.dst)
	v, err := c.Wait(0)
	r.must(err)
	check(r, "value", v, portals4.CTEvent{})
	done := make(chan portals4.CTEvent, 2)
	for _, test := range []uint64{2, 4} {
		go func() {
			v, err := c.Wait(test)
			if err != nil {
				r.Error(err)
			}
			if v.Success < test {
				r.Errorf("woken by %+v, want %d", v, test)
			}
			done <- v
		}()
	}
	for range 4 {
		r.must(c.Inc(portals4.CTEvent{Success: 1}))
	}
	for range 2 {
		select {
		case <-done:
		case <-time.After(patience):
			r.Fatal("nobody wakes up")
		}
	}
}

// testCTWaitFailure: failures wake, too, or one would wait for ever.
func testCTWaitFailure(r *rig) {
	c := r.newCT(r.src)
	pt := r.newPT(r.dst, 0, nil)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 8), CT: c, Options: portals4.MDEventCTAck})
	x := r.xfer(pt, 8)
	x.Ack = portals4.CTAck
	r.must(md.Put(x))
	_, v, err := portals4.CTPoll([]*portals4.CT{c}, []uint64{1}, patience)
	r.must(err)
	check(r, "value", v, portals4.CTEvent{Failure: 1})
}

func testCTPoll(r *rig) {
	cs := []*portals4.CT{r.newCT(r.dst), r.newCT(r.dst), r.newCT(r.dst)}
	tests := []uint64{1, 2, 3}
	_, _, err := portals4.CTPoll(cs, tests, 0)
	r.code(err, portals4.ErrCTNoneReached)
	begin := time.Now()
	_, _, err = portals4.CTPoll(cs, tests, 10*time.Millisecond)
	r.code(err, portals4.ErrCTNoneReached)
	if d := time.Since(begin); d < 10*time.Millisecond {
		r.Fatalf("it waited %v, want 10 ms", d)
	}
	r.must(cs[1].Inc(portals4.CTEvent{Failure: 2}))
	which, v, err := portals4.CTPoll(cs, tests, 0)
	r.must(err)
	check(r, "which", which, 1)
	check(r, "value", v, portals4.CTEvent{Failure: 2})
	which, _, err = portals4.CTPoll([]*portals4.CT{cs[0], cs[0]}, []uint64{5, 0}, patience)
	r.must(err)
	check(r, "which", which, 1)
}

func testCTWaitInterrupted(r *rig) {
	c := r.newCT(r.dst)
	done := make(chan error, 2)
	go func() {
		_, err := c.Wait(1)
		done <- err
	}()
	go func() {
		_, _, err := portals4.CTPoll([]*portals4.CT{c}, []uint64{1}, -1)
		done <- err
	}()
	time.Sleep(5 * time.Millisecond) // see testEQWaitInterrupted
	r.must(c.Free())
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

func testCTInUse(r *rig) {
	c := r.newCT(r.dst)
	pt := r.newPT(r.dst, 0, nil)
	e := entry(nil, portals4.OpPut|portals4.EventCTComm)
	e.CT = c
	h := r.link(pt, e, nil)
	r.code(c.Free(), portals4.ErrInUse)
	r.must(h.Unlink())
	md := r.bind(r.dst, portals4.MD{CT: c, Options: portals4.MDEventCTAck})
	r.code(c.Free(), portals4.ErrInUse)
	r.must(md.Release())
	r.must(c.Free())
	r.code(c.Free(), portals4.ErrArgInvalid)
	r.code(c.Set(portals4.CTEvent{}), portals4.ErrArgInvalid)
	r.code(c.Inc(portals4.CTEvent{}), portals4.ErrArgInvalid)
	r.code(c.CancelTriggered(), portals4.ErrArgInvalid)
	_, err := c.Get()
	r.code(err, portals4.ErrArgInvalid)
	_, err = c.Wait(0)
	r.code(err, portals4.ErrArgInvalid)
	_, _, err = portals4.CTPoll([]*portals4.CT{c}, []uint64{0}, 0)
	r.code(err, portals4.ErrArgInvalid)
}

// operations are all kinds of them, on the same transfer.
func operations(md *portals4.MDHandle, x *portals4.Transfer, into *portals4.Into) map[string]func() error {
	return map[string]func() error{
		"put":    func() error { return md.Put(x) },
		"get":    func() error { return md.Get(x) },
		"atomic": func() error { return md.Atomic(x, portals4.Sum, portals4.Int32) },
		"fetch":  func() error { return md.FetchAtomic(x, into, portals4.Sum, portals4.Int32) },
		"swap":   func() error { return md.Swap(x, into, nil, portals4.Swap, portals4.Int32) },
	}
}

// testCTAtTarget: every kind of operation counts at the entry, in operations or bytes, and only where the entry wants it.
func testCTAtTarget(r *rig) {
	for _, o := range []portals4.EntryOptions{0, portals4.EventCTComm, portals4.EventCTComm | portals4.EventCTBytes, portals4.EventCTOverflow,
		portals4.EventCTComm | portals4.EventCommDisable, portals4.EventCTComm | portals4.EventSuccessDisable} {
		for _, l := range []portals4.List{portals4.PriorityList, portals4.OverflowList} {
			c := r.newCT(r.dst)
			pt := r.newPT(r.dst, 0, nil)
			e := entry(make([]byte, 12), portals4.OpPut|portals4.OpGet|portals4.UnexpectedHdrDisable|o)
			e.CT = c
			_, err := r.appendErr(pt, e, l, nil)
			r.must(err)
			md := r.bind(r.src, portals4.MD{Start: make([]byte, 16)})
			var want uint64
			for _, f := range operations(md, r.xfer(pt, 16), &portals4.Into{MD: md}) {
				r.must(f())
				switch {
				case o&portals4.EventCTBytes != 0:
					want += 12
				case o&portals4.EventCTComm != 0:
					want++
				}
			}
			r.stays(c, want, 0)
		}
	}
}

// testCTAtInitiator: each kind of operation counts what it is to count, in operations or bytes.
func testCTAtInitiator(r *rig) {
	pt := r.newPT(r.dst, 0, nil)
	r.link(pt, entry(make([]byte, 12), portals4.OpPut|portals4.OpGet), nil)
	for _, bytes := range []portals4.MDOptions{0, portals4.MDEventCTBytes} {
		for _, o := range []portals4.MDOptions{0, portals4.MDEventCTSend, portals4.MDEventCTAck, portals4.MDEventCTReply,
			portals4.MDEventCTSend | portals4.MDEventCTAck | portals4.MDEventCTReply} {
			for name := range operations(nil, nil, nil) {
				c, rc := r.newCT(r.src), r.newCT(r.src)
				md := r.bind(r.src, portals4.MD{Start: make([]byte, 16), CT: c, Options: o | bytes})
				reply := r.bind(r.src, portals4.MD{Start: make([]byte, 16), CT: rc, Options: o | bytes})
				x := r.xfer(pt, 16)
				if o&portals4.MDEventCTAck != 0 {
					x.Ack = portals4.CTAck
				}
				r.must(operations(md, x, &portals4.Into{MD: reply})[name]())
				sent, moved := uint64(1), uint64(1)
				if bytes != 0 {
					sent, moved = 16, 12
				}
				var want, wantReply uint64
				if o&portals4.MDEventCTSend != 0 && name != "get" {
					want += sent
				}
				if o&portals4.MDEventCTAck != 0 && (name == "put" || name == "atomic") {
					want += moved
				}
				if o&portals4.MDEventCTReply != 0 {
					switch name {
					case "get":
						want += moved
					case "fetch", "swap":
						wantReply += moved
					}
				}
				r.stays(c, want, 0)
				r.stays(rc, wantReply, 0)
			}
		}
	}
}

// testCTFailures: a failure counts one, in the failure's half, whatever successes count. A put was sent all the same.
func testCTFailures(r *rig) {
	pt := r.newPT(r.dst, 0, nil)
	for name := range operations(nil, nil, nil) {
		c, rc := r.newCT(r.src), r.newCT(r.src)
		o := portals4.MDEventCTAck | portals4.MDEventCTReply | portals4.MDEventCTBytes
		md := r.bind(r.src, portals4.MD{Start: make([]byte, 16), CT: c, Options: o})
		reply := r.bind(r.src, portals4.MD{Start: make([]byte, 16), CT: rc, Options: o})
		x := r.xfer(pt, 16)
		x.Ack = portals4.CTAck
		r.must(operations(md, x, &portals4.Into{MD: reply})[name]())
		if name == "fetch" || name == "swap" {
			r.reach(rc, 0, 1)
			r.stays(c, 0, 0)
		} else {
			r.reach(c, 0, 1)
			r.stays(rc, 0, 0)
		}
	}
	// An acknowledgement that the operation is over says nothing of its success.
	c := r.newCT(r.src)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 16), CT: c, Options: portals4.MDEventCTAck})
	x := r.xfer(pt, 16)
	x.Ack = portals4.OCAck
	r.must(md.Put(x))
	r.until("a count", func() bool {
		v, err := c.Get()
		r.must(err)
		return v.Success+v.Failure == 1
	})
}

// listener notes what it is told.
type listener struct{ times atomic.Int32 }

// Reached implements portals4.CTListener.
func (l *listener) Reached(*portals4.CT) { l.times.Add(1) }

func testOnReach(r *rig) {
	c := r.newCT(r.dst)
	var l listener
	r.must(c.OnReach(2, &l))
	r.must(c.Inc(portals4.CTEvent{Success: 1}))
	r.settle()
	check(r, "calls before the count is reached", l.times.Load(), 0)
	r.must(c.Inc(portals4.CTEvent{Failure: 1}))
	r.until("the listener", func() bool { r.settle(); return l.times.Load() > 0 })
	r.must(c.OnReach(1, nil))
}

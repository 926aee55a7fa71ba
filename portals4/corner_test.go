package portals4

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/ompi-go/ompi-go/btl"
)

// corner is an interface whose only peer, rank 1, is played by the test: what it sends goes straight to the handlers, under the token.
type corner struct {
	*testing.T
	*Interface
	ni *NI
	eq *EQ
	l  *link
}

// inCorner runs f as rank 0 of two. The token is held, and held by the calls of f.
func inCorner(t *testing.T, events int, f func(c *corner)) {
	t.Helper()
	together(t, 2, "local", func(i *Interface, rank int) error {
		if rank != 0 {
			return nil
		}
		i.engine.Lock()
		defer i.engine.Unlock()
		i.held = true
		defer func() { i.held = false }()
		ni, err := i.NI(Matching|Logical, AnyPID, nil)
		if err != nil {
			return err
		}
		if err := ni.SetJobMap(); err != nil {
			return err
		}
		eq, err := ni.EQAlloc(events)
		if err != nil {
			return err
		}
		c := &corner{T: t, Interface: i, ni: ni, eq: eq, l: i.to(1)}
		for !c.l.greet { // the last that the real peer says
			i.engine.PollAll()
			i.engine.Lend()
		}
		f(c)
		if c.l.dead == nil { // what the played peer has left open ends now
			i.failed(c.l, errors.New("the test is over"))
		}
		if i.ops.used != 0 || i.arrivals.used != 0 {
			t.Errorf("%d operations and %d arrivals are left", i.ops.used, i.arrivals.used)
		}
		return nil
	})
}

func (c *corner) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *corner) pt(o PTOptions) *PT {
	c.Helper()
	pt, err := c.ni.PTAlloc(o, c.eq, 4)
	c.must(err)
	return pt
}

func (c *corner) entry(pt *PT, n int, o EntryOptions, l List) Entry {
	c.Helper()
	e, err := pt.MEAppend(&ME{Start: make([]byte, n), UID: AnyUID, Options: o | EventLinkDisable, MatchID: AnyProcess, IgnoreBits: ^uint64(0)}, l, "entry")
	c.must(err)
	return e
}

func (c *corner) md(n int, o MDOptions) *MDHandle {
	c.Helper()
	md, err := c.ni.MDBind(&MD{Start: make([]byte, n), EQ: c.eq, Options: o})
	c.must(err)
	return md
}

// says has the peer send a message.
func (c *corner) says(tag btl.Tag, w0, w1 uint64, rest ...byte) {
	hdr := binary.LittleEndian.AppendUint64(nil, w0)
	hdr = binary.LittleEndian.AppendUint64(hdr, w1)
	c.nals.Dispatch.Handlers[tag].Receive(1, hdr, rest)
}

func (c *corner) asks(r request) {
	r.number = c.l.await
	w0, w1 := r.words()
	c.says(tagRequest, w0, w1, append(r.appendTail(make([]byte, 0, headMax)), r.data...)...)
}

// announces is a put whose data follows when it is asked for.
func (c *corner) announces(n uint64) {
	c.asks(request{op: opPut, pt: 4, flags: hasLength | hasHandle, handle: 1, length: n})
}

// only is the operation under way.
func (c *corner) only() *op {
	c.Helper()
	for _, o := range c.ops.all {
		if o.live {
			return o
		}
	}
	c.Fatal("no operation is under way")
	return nil
}

// events takes all that are there.
func (c *corner) events() (kinds []Kind) {
	var ev Event
	for {
		err := c.eq.Take(&ev)
		if errors.Is(err, ErrEQEmpty) {
			return kinds
		}
		if err != nil {
			c.Errorf("after %v: %v", kinds, err)
		}
		kinds = append(kinds, ev.Type)
	}
}

func (c *corner) want(kinds ...Kind) {
	c.Helper()
	if got := c.events(); fmt.Sprint(got) != fmt.Sprint(kinds) {
		c.Errorf("events %v, want %v", got, kinds)
	}
}

func (c *corner) trusted(yes bool) {
	c.Helper()
	if (c.l.dead == nil) != yes {
		c.Errorf("the peer's link: %v", c.l.dead)
	}
}

// TestEmptyPutBehindPiece: nothing, at an offset that lies behind the first piece of an iovec.
func TestEmptyPutBehindPiece(t *testing.T) {
	inCorner(t, 16, func(c *corner) {
		pt := c.pt(0)
		_, err := pt.MEAppend(&ME{Iovec: [][]byte{make([]byte, 4), make([]byte, 4)}, UID: AnyUID, Options: OpPut | EventLinkDisable, MatchID: AnyProcess}, PriorityList, nil)
		c.must(err)
		for _, off := range []uint64{0, 4, 6, 8, 9, ^uint64(0)} {
			c.asks(request{op: opPut, pt: 4, flags: hasOffset, offset: off})
			c.want(EventPut)
		}
		c.trusted(true)
	})
}

// TestRequestOfLiar: a request that brings a wrong acknowledgement is not carried out.
func TestRequestOfLiar(t *testing.T) {
	inCorner(t, 16, func(c *corner) {
		pt := c.pt(0)
		c.entry(pt, 1<<16, OpPut|OpGet, PriorityList)
		c.asks(request{op: opPut, pt: 4, flags: hasLength | hasHandle | hasAck, handle: 1, acked: 0xdead, length: 1 << 16})
		c.trusted(false)
		if pt.active != 0 {
			t.Errorf("%d operations are under way", pt.active)
		}
		c.must(pt.Disable())
	})
}

// TestQuietEntry: an entry that wants no PT_DISABLED gets none when the queue is full, either.
func TestQuietEntry(t *testing.T) {
	for _, o := range []EntryOptions{0, EventFlowCtrlDisable} {
		inCorner(t, 4, func(c *corner) {
			c.entry(c.pt(PTFlowCtrl), 8, OpPut|o, PriorityList)
			for range 5 {
				c.asks(request{op: opPut, pt: 4})
			}
			if want := []Kind{EventPut, EventPut, EventPut, EventPTDisabled}; o == 0 {
				c.want(want...)
			} else {
				c.want(want[:3]...)
			}
		})
	}
}

// TestQueueOwesEvents: operations whose data is on the way have their places in the queue of a flow-controlled portal table entry.
func TestQueueOwesEvents(t *testing.T) {
	for _, o := range []EntryOptions{0, UseOnce} {
		inCorner(t, 8, func(c *corner) {
			pt := c.pt(PTFlowCtrl)
			for range 12 {
				c.entry(pt, 100, OpPut|o, PriorityList)
			}
			for range 12 {
				c.announces(100)
			}
			n := c.arrivals.used
			for k := range n {
				c.says(tagBody, uint64(c.arrivals.all[k].token()), 0, make([]byte, 100)...)
			}
			c.trusted(true)
			kinds := c.events() // complains of lost ones
			if want := map[EntryOptions]int{0: 7, UseOnce: 3}[o]; n != want || kinds[len(kinds)-1] != EventPTDisabled {
				t.Errorf("%d operations were taken, want %d: events %v", n, want, kinds)
			}
			if c.eq.owed != 0 {
				t.Errorf("%d events are owed", c.eq.owed)
			}
		})
	}
}

// TestUnlinkOfWaiting: AUTO_UNLINK comes also where the data of an unexpected operation is on the way, whatever else is disabled.
func TestUnlinkOfWaiting(t *testing.T) {
	inCorner(t, 16, func(c *corner) {
		pt := c.pt(0)
		c.entry(pt, 1000, OpPut|EventCommDisable, OverflowList)
		for _, waits := range []bool{false, true} {
			c.announces(100)
			body := func() { c.says(tagBody, uint64(c.arrivals.all[0].token()), 0, make([]byte, 100)...) }
			if !waits {
				body()
			}
			c.entry(pt, 100, OpPut|UseOnce|EventOverDisable, PriorityList)
			if waits {
				c.want()
				body()
			}
			c.want(EventAutoUnlink)
		}
	})
}

// TestFetchIsNotRead: what a fetching operation fetches comes with its response, and no other way: its payload may still be on its way out.
func TestFetchIsNotRead(t *testing.T) {
	for _, kind := range []uint8{respFollows, respReadable} {
		inCorner(t, 16, func(c *corner) {
			md := c.md(64, 0)
			c.must(md.FetchAtomic(&Transfer{Length: 8, Target: Rank(1), PT: 1}, &Into{MD: md, Offset: 8}, Sum, Int64))
			r := response{kind: kind, handle: c.only().handle(), mlength: 8}
			w0, w1 := r.words()
			c.says(tagResponse, w0, w1, r.appendTail(nil)...)
			c.trusted(false)
		})
	}
}

// TestDataAskedTwice: the data of a put can be had once. Afterwards its memory is the program's.
func TestDataAskedTwice(t *testing.T) {
	for _, n := range []int{8, 50000} {
		inCorner(t, 16, func(c *corner) {
			md := c.md(n, 0)
			c.must(md.Put(&Transfer{Length: uint64(n), Ack: Ack, Target: Rank(1), PT: 1}))
			o := c.only()
			if n > 8 {
				c.says(tagCTS, 7|uint64(o.handle())<<32, uint64(n))
				c.trusted(true)
			}
			if !o.sent {
				t.Fatal("the data did not fit into the ring")
			}
			c.says(tagCTS, 8|uint64(o.handle())<<32, uint64(n))
			c.trusted(false)
		})
	}
}

// TestTableFull: more operations than tokens are refused.
func TestTableFull(t *testing.T) {
	inCorner(t, 16, func(c *corner) {
		c.entry(c.pt(0), 100, OpPut|OpGet, PriorityList)
		all := c.arrivals.all
		c.arrivals.all = make([]*arrival, indexMask+1)
		c.announces(100)
		if len(c.arrivals.all) > indexMask+1 || c.arrivals.used != 0 {
			t.Errorf("%d of %d arrivals", c.arrivals.used, len(c.arrivals.all))
		}
		if v, err := c.ni.Status(DropCount); err != nil || v != 1 {
			t.Errorf("dropped %d, %v", v, err)
		}
		c.arrivals.all = all
		c.trusted(true)
	})
}

// TestReleaseAfterSend: a memory descriptor whose last event is SEND can be released then, though the operation goes on.
func TestReleaseAfterSend(t *testing.T) {
	inCorner(t, 16, func(c *corner) {
		md, into := c.md(8, 0), c.md(8, 0)
		c.must(md.FetchAtomic(&Transfer{Length: 8, Target: Rank(1), PT: 1}, &Into{MD: into}, Sum, Int64))
		c.want(EventSend)
		c.must(md.Release())
		if err := into.Release(); !errors.Is(err, ErrInUse) {
			t.Errorf("released what is fetched into: %v", err)
		}
		r := response{kind: respData, handle: c.only().handle(), mlength: 8}
		w0, w1 := r.words()
		c.says(tagResponse, w0, w1, append(r.appendTail(nil), make([]byte, 8)...)...)
		c.want(EventReply)
		c.must(into.Release())
		c.trusted(true)
	})
	inCorner(t, 16, func(c *corner) { // likewise when the peer dies
		md, into := c.md(8, 0), c.md(8, 0)
		c.must(md.FetchAtomic(&Transfer{Length: 8, Target: Rank(1), PT: 1}, &Into{MD: into}, Sum, Int64))
		c.failed(c.l, errors.New("dead"))
		c.want(EventSend, EventReply)
		c.must(md.Release())
		c.must(into.Release())
		if md.pending != 0 || into.pending != 0 {
			t.Errorf("pending %d and %d", md.pending, into.pending)
		}
	})
}

// TestReadEndsAfterLink: what is read when a link fails ends when the NAL gives it back, however it ends.
func TestReadEndsAfterLink(t *testing.T) {
	for _, err := range []error{nil, btl.ErrNotSupported, errors.New("lost")} {
		inCorner(t, 16, func(c *corner) {
			pt := c.pt(0)
			c.entry(pt, 100, OpPut, PriorityList)
			c.announces(100)
			a := c.arrivals.all[0]
			a.move.l, a.move.on = c.l, true // as if it were read
			c.failed(c.l, errors.New("dead"))
			if pt.active != 1 {
				t.Fatal("ended while the memory is written")
			}
			a.move.end(err)
			if pt.active != 0 {
				t.Error("never ends")
			}
		})
	}
}

// TestSecondGreeting: who has said who he is does not say otherwise.
func TestSecondGreeting(t *testing.T) {
	inCorner(t, 16, func(c *corner) {
		p := c.physical(1)
		c.says(tagHello, uint64(magic)|uint64(version)<<32, uint64(p.NID)|uint64(p.PID)<<32, make([]byte, 16)...)
		c.trusted(false)
	})
}

// slowEnd is an endpoint that is done with a message when the next one comes, and tells so in the middle of that.
type slowEnd struct{ has *btl.Frag }

func (s *slowEnd) Send(f *btl.Frag) (bool, error) {
	last := s.has
	s.has = f
	if last != nil {
		last.Owner.FragDone(last, nil)
	}
	return false, nil
}

// strict is a listener that is not called while its owner is in a call.
type strict struct {
	t    *testing.T
	busy bool
	seen int
}

func (s *strict) Events(q *EQ) {
	if s.busy {
		s.t.Error("a listener is called in the middle of a call of its owner's")
	}
	var ev Event
	for q.Take(&ev) == nil {
		s.seen++
	}
}

// TestNALTellsInCall: what a NAL tells in the middle of a call waits for the end of that: listeners, and triggered operations, which may need what
// the call is at.
func TestNALTellsInCall(t *testing.T) {
	inCorner(t, 16, func(c *corner) {
		slow := new(slowEnd)
		c.l.Send, c.l.MaxInline = slow, 0
		hears := &strict{t: t, busy: true}
		c.must(c.eq.OnEvents(hears))
		ct, err := c.ni.CTAlloc()
		c.must(err)
		pt := c.pt(0)
		mem := make([]byte, 8)
		_, err = pt.MEAppend(&ME{Start: mem, UID: AnyUID, Options: OpPut | OpGet | EventCommDisable | EventLinkDisable, MatchID: AnyProcess}, PriorityList, nil)
		c.must(err)
		_, err = pt.MEAppend(&ME{Start: make([]byte, 8), UID: AnyUID, Options: OpPut | EventLinkDisable, MatchID: AnyProcess, MatchBits: 5}, PriorityList, nil)
		c.must(err)
		md, err := c.ni.MDBind(&MD{Start: make([]byte, 64), EQ: c.eq, CT: ct, Options: MDEventCTSend | MDEventSendDisable})
		c.must(err)
		c.must(md.TriggeredPut(&Transfer{Length: 8, Target: Rank(0), PT: 4, MatchBits: 5}, ct, 1))
		for range 2 {
			c.must(md.Put(&Transfer{Length: 8, Target: Rank(1), PT: 4}))
		}
		hears.busy = false
		// The response to this ends the second put: a count, in the middle of the handling of a request.
		c.asks(request{op: opFetch, pt: 4, flags: hasHandle, handle: 1, atomic: Sum, typ: Uint64, data: []byte{1, 0, 0, 0, 0, 0, 0, 0}})
		if v, _ := ct.Get(); v.Success != 3 || mem[0] != 1 {
			t.Errorf("counted %+v, memory %v", v, mem)
		}
		c.trusted(true)
		c.Poll()
		if hears.seen != 1 { // the PUT of the triggered one
			t.Errorf("heard of %d events", hears.seen)
		}
		c.failed(c.l, errors.New("dead"))
		slow.has.Owner.FragDone(slow.has, errors.New("dead"))
	})
}

// TestPlacedTwice: memory into which a NAL writes stays in use until that is over, whatever the peer says meanwhile.
func TestPlacedTwice(t *testing.T) {
	inCorner(t, 16, func(c *corner) {
		c.entry(c.pt(0), 100, OpPut, PriorityList)
		c.announces(100)
		a := c.arrivals.all[0]
		hdr := binary.LittleEndian.AppendUint64(nil, uint64(a.token()))
		hdr = binary.LittleEndian.AppendUint64(hdr, 0)
		p := c.nals.Dispatch.Handlers[tagBody].(btl.Placer)
		if b := p.Place(1, hdr, 100); len(b) != 100 {
			t.Fatalf("%d bytes", len(b))
		}
		p.Placed(1, hdr, 100, errors.New("the link broke, and another brings it")) // once more
		if b := p.Place(1, hdr, 60); len(b) != 60 {
			t.Fatalf("%d bytes", len(b))
		}
		c.says(tagBody, uint64(a.token()), 60, make([]byte, 40)...)
		c.trusted(true)
		c.want()
		p.Placed(1, hdr, 60, nil)
		c.want(EventPut)
		c.announces(100)
		hdr = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(a.token())), 0)
		p.Place(1, hdr, 60)
		c.says(tagBody, uint64(a.token()), 0, make([]byte, 100)...)
		c.trusted(false)
	})
}

// fullEnd is an endpoint that takes nothing.
type fullEnd struct{}

func (fullEnd) Send(*btl.Frag) (bool, error) { return false, btl.ErrAgain }

// TestFlood: a peer that asks and does not read the answers may have as many waiting as he has operations.
func TestFlood(t *testing.T) {
	inCorner(t, 16, func(c *corner) {
		c.entry(c.pt(0), 100, OpGet, PriorityList)
		c.l.Send, c.l.MaxInline = fullEnd{}, 0
		for range 3 {
			c.asks(request{op: opGet, pt: 4, flags: hasHandle | hasLength, handle: 1})
		}
		if c.l.queued != 3 {
			t.Errorf("%d answers wait, want 3", c.l.queued)
		}
		c.Poll()
		c.trusted(true)
		c.l.queued += queuedMax
		c.asks(request{op: opGet, pt: 4, flags: hasHandle | hasLength, handle: 1})
		c.trusted(false)
	})
}

// TestUnlinkWhileWaiting: an entry that waits for the data of an unexpected operation is in use until that has come.
func TestUnlinkWhileWaiting(t *testing.T) {
	inCorner(t, 16, func(c *corner) {
		pt := c.pt(0)
		c.entry(pt, 1000, OpPut|EventCommDisable, OverflowList)
		c.announces(100)
		e := c.entry(pt, 100, OpPut, PriorityList)
		if err := e.Unlink(); !errors.Is(err, ErrInUse) {
			t.Errorf("unlinked: %v", err)
		}
		c.says(tagBody, uint64(c.arrivals.all[0].token()), 0, make([]byte, 100)...)
		c.want(EventPutOverflow)
		c.must(e.Unlink())
	})
}

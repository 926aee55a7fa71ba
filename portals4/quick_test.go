package portals4

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
)

// put has the played peer put data, as a NAL delivers it.
func (c *corner) put(bits, hdrData uint64, data []byte) {
	r := request{op: opPut, flavour: c.ni.flavour, pt: 4, bits: bits, hdrData: hdrData, number: c.l.await}
	if hdrData != 0 {
		r.flags = hasHdr
	}
	r.data = data
	c.asks(r)
}

// TestQuickPut: what the short way does to a put is what the long one does.
func TestQuickPut(t *testing.T) {
	inCorner(t, 64, func(c *corner) {
		pt := c.pt(PTFlowCtrl)
		data := []byte("abcdefghijklmnopqrstuvwxyz")
		for _, size := range []int{0, 1, 8, 24} {
			for _, room := range []int{0, 1, 8, 9, 24} {
				for _, hdrData := range []uint64{0, 1 << 63} {
					for _, more := range []EntryOptions{0, MENoTruncate, OpGet | AckDisable} {
						name := fmt.Sprintf("%d into %d, %#x, %#x", size, room, hdrData, more)
						var events [2]Event
						var mems [2][]byte
						wasted := c.ni.status[WastedBytes]
						for k := range 2 {
							mems[k] = make([]byte, room)
							all := make([]byte, 64) // behind it in the list, for what does not fit
							first, err := pt.MEAppend(&ME{Start: mems[k], UID: AnyUID, MatchID: AnyProcess, MatchBits: 7, Options: plainNeeds | EventLinkDisable | more}, PriorityList, "first")
							c.must(err)
							second, err := pt.MEAppend(&ME{Start: all, UID: AnyUID, MatchID: Rank(1), MatchBits: 7, Options: plainNeeds | EventLinkDisable}, PriorityList, "second")
							c.must(err)
							if !first.e.plain || !second.e.plain {
								c.Fatalf("%s: an entry is not plain", name)
							}
							if k == 1 {
								first.e.plain, second.e.plain = false, false
							}
							c.put(7, hdrData, data[:size])
							c.must(c.eq.Take(&events[k]))
							if c.eq.Take(new(Event)) == nil {
								c.Errorf("%s: a second event", name)
							}
							if !bytes.Equal(events[k].Start, data[:min(size, int(events[k].MLength))]) {
								c.Errorf("%s: the event shows %q", name, events[k].Start)
							}
							events[k].Start = nil
							if k == 0 {
								wasted = c.ni.status[WastedBytes] - wasted
							}
							if e := first.Unlink(); (e == nil) == (events[k].UserPtr == "first") {
								c.Errorf("%s: unlinking the first entry: %v", name, e)
							}
							if e := second.Unlink(); (e == nil) == (events[k].UserPtr == "second") {
								c.Errorf("%s: unlinking the second entry: %v", name, e)
							}
						}
						if !reflect.DeepEqual(events[0], events[1]) || !bytes.Equal(mems[0], mems[1]) {
							c.Errorf("%s: the short way gives %+v and %q, the long one %+v and %q", name, events[0], mems[0], events[1], mems[1])
						}
						if want := uint64(size) - events[0].MLength; wasted != want {
							c.Errorf("%s: %d bytes count as wasted, want %d", name, wasted, want)
						}
					}
				}
			}
		}
	})
}

// TestQuickPutRefuses: what plain entries do not take goes the long way, and comes to what it must.
func TestQuickPutRefuses(t *testing.T) {
	inCorner(t, 4, func(c *corner) {
		pt := c.pt(PTFlowCtrl)
		ct, err := c.ni.CTAlloc()
		c.must(err)
		odd := []ME{
			{UID: c.l.uid + 1, Options: plainNeeds},
			{UID: AnyUID, Options: plainNeeds &^ UseOnce},
			{UID: AnyUID, Options: plainNeeds &^ EventUnlinkDisable},
			{UID: AnyUID, Options: plainNeeds | EventCommDisable},
			{UID: AnyUID, Options: plainNeeds | EventSuccessDisable},
			{UID: AnyUID, Options: plainNeeds | MEManageLocal},
			{UID: AnyUID, Options: plainNeeds | EventCTComm, CT: ct},
			{UID: AnyUID, Options: plainNeeds, Iovec: [][]byte{make([]byte, 4), make([]byte, 4)}},
		}
		for k := range odd {
			d := &odd[k]
			d.MatchID, d.MatchBits = AnyProcess, uint64(k)
			d.Options |= EventLinkDisable
			if d.Iovec == nil {
				d.Start = make([]byte, 8)
			}
			e, err := pt.MEAppend(d, PriorityList, k)
			c.must(err)
			if e.e.plain != (k == 0) {
				c.Errorf("entry %d: plain is %v", k, e.e.plain)
			}
			c.put(uint64(k), 0, []byte("01234567"))
			var ev Event
			if got := c.eq.Take(&ev) == nil; got != (k != 0 && d.Options&(EventCommDisable|EventSuccessDisable) == 0) || got && ev.UserPtr != k {
				c.Errorf("entry %d: event %v, %v", k, got, &ev)
			}
			for c.eq.Take(&ev) == nil { // AUTO_UNLINK
			}
			e.Unlink() // those that are not used up
		}
		if n := c.ni.status[PermissionViolations]; n != 1 {
			c.Errorf("%d permission violations, want 1", n)
		}
		for k := range 6 { // four events, of which one is kept for PT_DISABLED
			_, err := pt.MEAppend(&ME{Start: make([]byte, 8), UID: AnyUID, MatchID: AnyProcess, MatchBits: 99, Options: plainNeeds | EventLinkDisable}, PriorityList, k)
			c.must(err)
		}
		for range 6 {
			c.put(99, 0, []byte("01234567"))
		}
		last := Event{}
		n := 0
		for c.eq.Take(&last) == nil {
			n++
		}
		if last.Type != EventPTDisabled || n < 2 || n > 4 || pt.enabled {
			c.Errorf("%d events, the last is %v; want what fits and then %v", n, last.Type, EventPTDisabled)
		}
	})
}

// TestNext: a listener sees all events where they lie, and is told once that some were lost.
func TestNext(t *testing.T) {
	inCorner(t, 4, func(c *corner) {
		post := func(n int) {
			for k := range n {
				ev := c.eq.slot()
				*ev = Event{Type: EventPut, HdrData: uint64(k), Start: make([]byte, 1), UserPtr: k}
				c.eq.posted()
			}
		}
		for _, n := range []int{0, 1, 3, 4, 6, 13, 2} {
			post(n)
			for k := max(n-4, 0); k < n; k++ {
				ev, lost := c.eq.Next()
				if ev == nil || ev.UserPtr != k || lost != (n > 4 && k == n-4) {
					c.Fatalf("event %d of %d: %v, lost %v", k, n, ev, lost)
				}
			}
			if ev, lost := c.eq.Next(); ev != nil || lost {
				c.Fatalf("after %d events: %v, lost %v", n, ev, lost)
			}
			for k := range c.eq.ring {
				if ev := &c.eq.ring[k]; ev.Start != nil || ev.UserPtr != nil {
					c.Errorf("after %d events the queue keeps the memory of one that was taken", n)
				}
			}
		}
	})
}

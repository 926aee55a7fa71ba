package portalstest

import (
	"errors"
	"sync"

	"github.com/ompi-go/ompi-go/portals4"
)

func unlinkCases() []testCase {
	return []testCase{
		{"Unlink", any4, testUnlink}, {"UnlinkOrder", any4, testUnlinkOrder}, {"UnlinkOverflow", any4, testUnlinkOverflow},
		{"TestUnlinkInUse", any4, testUnlinkInUse}, {"UnlinkRace", any4, testUnlinkRace}, {"UnlinkRaceUseOnce", any4, testUnlinkRaceUseOnce},
		{"StaleEntry", any4, testStaleEntry},
	}
}

// testUnlink: an entry that is taken out of the list takes nothing any more, and says nothing.
func testUnlink(r *rig) {
	q, sent := r.newEQ(r.dst, 16), r.newEQ(r.src, 16)
	pt := r.newPT(r.dst, 0, q)
	md := r.bind(r.src, portals4.MD{Start: pattern(8, 0), EQ: sent, Options: portals4.MDUnordered | portals4.MDEventSendDisable})
	for k := range 50 {
		mem := make([]byte, 8)
		h := r.link(pt, entry(mem, portals4.OpPut), k)
		check(r, "UserPtr", r.want(q, portals4.EventLink).UserPtr, any(k))
		x := r.xfer(pt, 8)
		x.Ack = portals4.Ack
		r.must(md.Put(x))
		check(r, "UserPtr", r.want(q, portals4.EventPut).UserPtr, any(k))
		r.want(sent, portals4.EventAck)
		r.same("what came", mem, pattern(8, 0))
		r.must(h.Unlink())
		r.must(md.Put(x))
		r.wantFail(sent, portals4.EventAck, portals4.Dropped)
		r.code(h.Unlink(), portals4.ErrArgInvalid)
	}
	r.none(q)
}

// testUnlinkOrder takes entries out of the middle of the list.
func testUnlinkOrder(r *rig) {
	q := r.newEQ(r.dst, 64)
	pt := r.newPT(r.dst, 0, q)
	var hs []portals4.Entry
	for k := range 16 {
		e := entry(make([]byte, 8), portals4.OpPut|portals4.UseOnce|quiet)
		if k%3 == 0 {
			e.IgnoreBits, e.MatchBits = 0, 9
		}
		hs = append(hs, r.link(pt, e, k))
	}
	for _, k := range []int{0, 15, 7, 8, 3} {
		r.must(hs[k].Unlink())
	}
	for _, k := range []int{1, 2, 4, 5, 6, 9, 10, 11, 12, 13, 14} {
		check(r, "the entry that took it", r.putTo(pt, q, 9, 8), any(k))
	}
	r.must(pt.Free())
}

// testUnlinkOverflow: messages that lie in an entry stay to be found when it is taken out; nothing tells that it is free.
func testUnlinkOverflow(r *rig) {
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	h := r.linkOverflow(pt, entry(make([]byte, 64), portals4.OpPut|portals4.EventLinkDisable|portals4.EventCommDisable), nil)
	r.must(h.Unlink())
	r.refused(*r.xfer(pt, 8), portals4.Dropped)
	h = r.linkOverflow(pt, entry(make([]byte, 64), portals4.OpPut|portals4.EventLinkDisable|portals4.EventCommDisable), nil)
	r.send(pt, 1, pattern(8, 0))
	if err := h.Unlink(); err != nil { // it may say that it is in use: then it is, until its messages were found
		r.code(err, portals4.ErrInUse)
	}
	r.link(pt, entry(nil, portals4.OpPut|portals4.UseOnce|quiet), nil)
	r.same("what came", r.want(q, portals4.EventPutOverflow).Start, pattern(8, 0))
	r.none(q)
	r.must(r.unlinked(h))
	r.must(pt.Free())
}

// unlinked is nil once an entry is out of its list.
func (r *rig) unlinked(h portals4.Entry) error {
	for {
		err := h.Unlink()
		if !errors.Is(err, portals4.ErrInUse) {
			if errors.Is(err, portals4.ErrArgInvalid) {
				return nil
			}
			return err
		}
		r.move()
	}
}

// testUnlinkInUse: while an operation moves data of an entry, it stays, and its memory is touched no more once unlinking has succeeded.
func testUnlinkInUse(r *rig) {
	const n = 4 << 20
	q := r.newEQ(r.dst, 64)
	pt := r.newPT(r.dst, 0, q)
	data := pattern(n, 1)
	md := r.bind(r.src, portals4.MD{Start: data})
	for k := range 6 {
		mem := make([]byte, n)
		h := r.link(pt, entry(mem, portals4.OpPut|portals4.EventLinkDisable), nil)
		r.must(md.Put(r.xfer(pt, n)))
		for range k {
			r.move()
		}
		busy := false
		r.until("the entry to be free", func() bool {
			err := h.Unlink()
			if errors.Is(err, portals4.ErrInUse) {
				busy = true
				return false
			}
			r.must(err)
			return true
		})
		came := false
		var ev portals4.Event
		if err := q.Get(&ev); err == nil {
			check(r, "event", ev.Type, portals4.EventPut)
			r.same("what came", mem, data)
			came = true
		}
		if busy && !came {
			r.Fatal("the entry was in use, and is unlinked before its event")
		}
		after := append([]byte(nil), mem...)
		r.settle()
		r.same("memory after unlinking", mem, after)
		r.none(q)
	}
}

// testUnlinkRace: entries are unlinked while messages come. Every message is taken or refused, and the counts of both sides agree.
func testUnlinkRace(r *rig) {
	const times = 300
	q, sent := r.newEQ(r.dst, 2*times), r.newEQ(r.src, 2*times)
	pt := r.newPT(r.dst, 0, q)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 8), EQ: sent, Options: portals4.MDEventSendDisable})
	var wg sync.WaitGroup
	var putErr, linkErr error
	wg.Go(func() {
		for range times {
			x := r.xfer(pt, 8)
			x.Ack = portals4.Ack
			if putErr = md.Put(x); putErr != nil {
				return
			}
		}
	})
	wg.Go(func() {
		for k := range times {
			h, err := r.appendErr(pt, entry(make([]byte, 8), portals4.OpPut|quiet), portals4.PriorityList, k)
			for err == nil {
				if err = h.Unlink(); !errors.Is(err, portals4.ErrInUse) {
					break
				}
				err = nil
			}
			if linkErr = err; err != nil {
				return
			}
		}
	})
	wg.Wait()
	r.must(putErr)
	r.must(linkErr)
	taken := 0
	for range times {
		ev := r.next(sent)
		check(r, "event", ev.Type, portals4.EventAck)
		if ev.NIFail == portals4.OK {
			taken++
		} else {
			check(r, "end", ev.NIFail, portals4.Dropped)
		}
	}
	for range taken {
		r.want(q, portals4.EventPut)
	}
	r.none(q)
	r.must(pt.Free())
}

// testUnlinkRaceUseOnce: of an entry for one message, either the message or the unlinking wins.
func testUnlinkRaceUseOnce(r *rig) {
	const rounds, burst = 40, 20
	q := r.newEQ(r.dst, 2*burst)
	pt := r.newPT(r.dst, 0, q)
	c := r.newCT(r.src)
	md := r.bind(r.src, portals4.MD{Start: make([]byte, 8), CT: c, Options: portals4.MDEventCTAck})
	for round := range rounds {
		hs := make([]portals4.Entry, burst)
		for k := range hs {
			hs[k] = r.link(pt, entry(make([]byte, 8), portals4.OpPut|portals4.UseOnce|quiet), k)
		}
		var wg sync.WaitGroup
		errs := make([]error, 2)
		wg.Go(func() {
			for range burst {
				x := r.xfer(pt, 8)
				x.Ack = portals4.OCAck
				if errs[0] = md.Put(x); errs[0] != nil {
					return
				}
			}
		})
		unlinked := make([]bool, burst)
		wg.Go(func() {
			for k := range hs {
				for {
					err := hs[burst-1-k].Unlink()
					if errors.Is(err, portals4.ErrInUse) {
						continue
					}
					unlinked[burst-1-k] = err == nil
					if err != nil && !errors.Is(err, portals4.ErrArgInvalid) {
						errs[1] = err
					}
					break
				}
			}
		})
		wg.Wait()
		r.must(errs[0])
		r.must(errs[1])
		r.until("the acknowledgements", func() bool {
			v, err := c.Get()
			r.must(err)
			return v.Success+v.Failure == uint64((round+1)*burst)
		})
		for k := range hs {
			if !unlinked[k] {
				check(r, "the entry that took it", r.want(q, portals4.EventPut).UserPtr, any(k))
			}
		}
		r.none(q)
	}
	r.must(pt.Free())
}

// testStaleEntry: the handle of an entry that is gone is never another's.
func testStaleEntry(r *rig) {
	pt := r.newPT(r.dst, 0, nil)
	var old []portals4.Entry
	for range 20 {
		h := r.link(pt, entry(make([]byte, 8), portals4.OpPut), nil)
		for _, o := range old {
			r.code(o.Unlink(), portals4.ErrArgInvalid)
		}
		r.must(h.Unlink())
		old = append(old, h)
	}
	r.code(portals4.Entry{}.Unlink(), portals4.ErrArgInvalid)
}

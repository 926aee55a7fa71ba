package portalstest

import "github.com/ompi-go/ompi-go/portals4"

// What concerns messages that have come, and whose data is still on the way.

// testUnexpectedWhileMoving: a large message may still be moving when an entry finds its header. Its event comes when it is there.
func testUnexpectedWhileMoving(r *rig) {
	const n = 2 << 20
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	mem := make([]byte, n)
	r.linkOverflow(pt, entry(mem, portals4.OpPut|portals4.EventLinkDisable|portals4.EventCommDisable), nil)
	data := pattern(n, 8)
	md := r.bind(r.src, portals4.MD{Start: data})
	for k := range 5 {
		clear(mem)
		r.move()
		r.must(md.Put(r.xfer(pt, n)))
		for range k {
			r.move()
		}
		h := r.link(pt, entry(make([]byte, n), portals4.OpPut|portals4.UseOnce|quiet), nil)
		ev := r.next(q)
		switch ev.Type {
		case portals4.EventPut:
			r.same("what came", ev.Start, data)
		case portals4.EventPutOverflow:
			r.same("what came", ev.Start, data)
			r.code(h.Unlink(), portals4.ErrArgInvalid)
		default:
			r.Fatalf("event %v", &ev)
		}
		r.settle()
	}
}

// testAutoFreeWhileMoving: the same where the block is used up: it is free only after the event of who took the message, whenever that came.
func testAutoFreeWhileMoving(r *rig) {
	const n = 1 << 20
	q := r.newEQ(r.dst, 32)
	pt := r.newPT(r.dst, 0, q)
	data := pattern(n, 8)
	md := r.bind(r.src, portals4.MD{Start: data})
	for k := range 6 {
		r.linkOverflow(pt, entry(make([]byte, n), portals4.OpPut|portals4.UseOnce|portals4.EventLinkDisable), "block")
		r.must(md.Put(r.xfer(pt, n)))
		for range k {
			r.move()
		}
		h := r.link(pt, entry(make([]byte, n), portals4.OpPut|portals4.UseOnce|quiet), "receive")
		ev := r.next(q)
		if ev.Type == portals4.EventPut && ev.UserPtr == "receive" { // it was there first, and the block is unused
			r.same("what came", ev.Start, data)
			r.send(pt, 0, nil)
			r.want(q, portals4.EventPut)
			r.want(q, portals4.EventAutoUnlink)
			r.link(pt, entry(nil, portals4.OpPut|portals4.UseOnce|quiet), nil)
			r.want(q, portals4.EventPutOverflow)
			r.want(q, portals4.EventAutoFree)
			r.none(q)
			continue
		}
		r.code(h.Unlink(), portals4.ErrArgInvalid)
		comm, over, unlink := false, false, false
		for ; ev.Type != portals4.EventAutoFree; ev = r.next(q) {
			check(r, "NIFail", ev.NIFail, portals4.OK)
			switch ev.Type {
			case portals4.EventPut:
				comm = true
			case portals4.EventAutoUnlink:
				check(r, "the put's event came before AUTO_UNLINK", comm, true)
				unlink = true
			case portals4.EventPutOverflow:
				r.same("what came", ev.Start, data)
				over = true
			default:
				r.Fatalf("event %v", &ev)
			}
			check(r, "UserPtr", ev.UserPtr == "receive", ev.Type == portals4.EventPutOverflow)
		}
		check(r, "all came before AUTO_FREE", comm && over && unlink, true)
		r.none(q)
	}
	r.must(pt.Free())
}

// testSearchWhileMoving: a search may find a message whose data is still on the way. Its event comes when the data is there, and it is one event a search.
func testSearchWhileMoving(r *rig) {
	const n = 2 << 20
	q := r.newEQ(r.dst, 16)
	pt := r.newPT(r.dst, 0, q)
	mem, data := make([]byte, n), pattern(n, 6)
	r.linkOverflow(pt, entry(mem, portals4.OpPut|portals4.EventLinkDisable|portals4.EventCommDisable), nil)
	md := r.bind(r.src, portals4.MD{Start: data})
	for k := range 4 {
		clear(mem)
		r.must(md.Put(r.xfer(pt, n)))
		for {
			r.search(pt, entry(nil, portals4.OpPut|portals4.UseOnce), portals4.SearchOnly, "look")
			ev := r.next(q)
			check(r, "event", ev.Type, portals4.EventSearch)
			if ev.NIFail == portals4.OK {
				r.same("what was found", ev.Start, data)
				break
			}
			check(r, "end", ev.NIFail, portals4.NoMatch)
		}
		if k%2 == 0 {
			r.search(pt, entry(nil, portals4.OpPut|portals4.UseOnce), portals4.SearchDelete, "take")
			ev := r.want(q, portals4.EventPutOverflow)
			check(r, "UserPtr", ev.UserPtr, any("take"))
			r.same("what was taken", ev.Start, data)
		} else {
			r.search(pt, entry(nil, portals4.OpPut), portals4.SearchDelete, "all")
			r.want(q, portals4.EventPutOverflow)
		}
		r.search(pt, entry(nil, portals4.OpPut), portals4.SearchDelete, "again")
		r.wantFail(q, portals4.EventSearch, portals4.NoMatch)
		r.none(q)
	}
}

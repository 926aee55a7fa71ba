package portals4

import "github.com/ompi-go/ompi-go/portals4/match"

// What the overflow list has taken, and who wants it.

// header is what is kept of an operation that the overflow list took.
type header struct {
	match.Header[header]
	ni      *NI
	e       *entry
	ev      Event // PUT_OVERFLOW or the like, but for UserPtr
	kind    uint8 // in headerPool.used
	pending bool  // the data is on the way
	claims  []claim
	removed bool // out of the list, waiting for its data
	next    *header
}

// claim is somebody who waits for the data of a header.
type claim struct {
	userPtr any
	e       *entry // persistent, and in use by this; nil: used up, or a search
	ct      *CT
	options EntryOptions
	search  bool // SearchOnly: the event is SEARCH
	last    bool // it was used up by this: AUTO_UNLINK follows
}

// headerPool has an NI's headers. The limit holds for flow-controlled portal table entries and for others apart: what is refused there comes again, and
// must not take the room of those who can only drop.
type headerPool struct {
	free *header
	used [2]int // by kindOf
}

// kindOf is the index in used.
func kindOf(flow bool) uint8 {
	if flow {
		return 1
	}
	return 0
}

// takeUnexpected gives an entry of the priority list what waits for it, and reports whether that used it up.
func (pt *PT) takeUnexpected(e *entry) bool {
	once := e.options&UseOnce != 0
	for h := pt.unexpected.First(&e.Pattern); h != nil; {
		next := (*match.Header[header])(nil)
		if !once {
			next = pt.unexpected.Next(h, &e.Pattern)
		}
		c := claim{userPtr: e.userPtr, ct: e.ct, options: e.options, last: once}
		if once {
			pt.consume(h.Owner, c)
			return true
		}
		c.e = e
		pt.consume(h.Owner, c)
		h = next
	}
	return false
}

// consume takes a header out of the list for c.
func (pt *PT) consume(h *header, c claim) {
	pt.unexpected.Remove(&h.Header)
	h.removed = true
	if h.pending {
		if c.ct != nil {
			c.ct.users++
		}
		if c.e != nil {
			c.e.active++
		}
		h.claims = append(h.claims, c)
		return
	}
	pt.overflowed(h, c)
	pt.endHeader(h)
}

// overflowed posts the event of a header's operation to whom it belongs now.
func (pt *PT) overflowed(h *header, c claim) {
	ev := &h.ev
	if c.ct != nil && c.options&EventCTOverflow != 0 {
		c.ct.count(c.options&EventCTBytes != 0, ev.MLength, ev.NIFail)
	}
	if pt.eq == nil {
		return
	}
	if c.search || c.options&EventOverDisable == 0 {
		s := pt.eq.slot()
		*s = *ev
		s.UserPtr = c.userPtr
		if c.search {
			s.Type = EventSearch
		}
		pt.eq.posted()
	}
	if c.last && c.options&EventUnlinkDisable == 0 && !c.search {
		s := pt.eq.slot()
		*s = Event{Type: EventAutoUnlink, PT: pt.index, UserPtr: c.userPtr, MatchBits: ev.MatchBits}
		pt.eq.posted()
	}
}

// endHeader gives a header back; the last one of an overflow entry that was used up frees that.
func (pt *PT) endHeader(h *header) {
	e := h.e
	h.recycle()
	e.headers--
	e.settled()
}

func (h *header) recycle() {
	p := &h.ni.headers
	h.ev = Event{}
	h.e, h.pending, h.removed = nil, false, false
	clear(h.claims)
	h.claims = h.claims[:0]
	h.next, p.free = p.free, h
	p.used[h.kind]--
}

func (ni *NI) newHeader(kind uint8) *header {
	p := &ni.headers
	h := p.free
	if h != nil {
		p.free, h.next = h.next, nil
	} else {
		h = &header{ni: ni}
		h.Owner = h
	}
	h.kind = kind
	p.used[kind]++
	return h
}

// MESearch looks for what waits in the unexpected list and d matches (PtlMESearch): the oldest with UseOnce in d.Options, else all. Every find is an event:
// SEARCH, or with SearchDelete, which takes it out, PUT_OVERFLOW and the like. Nothing found is a SEARCH event with NIFail NoMatch. Nothing is counted.
func (pt *PT) MESearch(d *ME, how SearchOp, userPtr any) error {
	const op = "PtlMESearch"
	i, err := pt.enter(op)
	if err != nil {
		return err
	}
	defer i.leave()
	if err := pt.checkME(op, d, PriorityList); err != nil {
		return err
	}
	var p match.Pattern
	pt.pattern(&p, d)
	p.NoTruncate, p.Local = d.Options&MENoTruncate != 0, d.Options&MEManageLocal != 0
	m := newMemory(d.Start, d.Iovec)
	p.Room = m.size
	return pt.search(op, &p, d.Options, how, userPtr)
}

// LESearch is MESearch on a non-matching interface.
func (pt *PT) LESearch(d *LE, how SearchOp, userPtr any) error {
	const op = "PtlLESearch"
	i, err := pt.enter(op)
	if err != nil {
		return err
	}
	defer i.leave()
	if err := pt.checkLE(op, d, PriorityList); err != nil {
		return err
	}
	return pt.search(op, &everything, d.Options, how, userPtr)
}

func (pt *PT) search(op string, p *match.Pattern, o EntryOptions, how SearchOp, userPtr any) error {
	if how > SearchDelete {
		return bad(op, "there is no search operation %d", how)
	}
	found := false
	for h := pt.unexpected.First(p); h != nil; {
		var next *match.Header[header]
		if o&UseOnce == 0 {
			next = pt.unexpected.Next(h, p)
		}
		found = true
		c := claim{userPtr: userPtr, options: o, search: how == SearchOnly}
		switch {
		case how == SearchDelete:
			pt.consume(h.Owner, c)
		case h.Owner.pending:
			h.Owner.claims = append(h.Owner.claims, c)
		default:
			pt.overflowed(h.Owner, c)
		}
		h = next
	}
	if !found && pt.eq != nil {
		ev := pt.eq.slot()
		*ev = Event{Type: EventSearch, NIFail: NoMatch, PT: pt.index, UserPtr: userPtr}
		pt.eq.posted()
	}
	return nil
}

// landed is the arrival of the data that a header waited for.
func (pt *PT) landed(h *header, f FailType) {
	h.pending = false
	if h.ev.NIFail = f; f != OK {
		h.ev.MLength, h.ev.Start = 0, nil
	}
	for k := range h.claims {
		c := h.claims[k]
		pt.overflowed(h, c)
		if c.ct != nil {
			c.ct.users--
		}
		if c.e != nil {
			c.e.active--
			c.e.settled()
		}
	}
	if h.removed {
		h.e.headers--
		h.recycle()
	}
}

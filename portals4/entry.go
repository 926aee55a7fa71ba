package portals4

import (
	"math"

	"github.com/ompi-go/ompi-go/portals4/match"
)

// Entry is the handle of a list entry or match list entry. It is a value; the zero Entry is none (PTL_INVALID_HANDLE).
type Entry struct {
	e   *entry
	gen uint32
}

// entry is a list entry or a match list entry. Of a non-matching interface it has a pattern that takes everything.
type entry struct {
	match.Entry[entry]
	ni      *NI // never changes
	pt      *PT // nil: in the pool
	list    List
	linked  bool // in its list
	plain   bool // of the priority list: see quick.go
	auto    bool // it was taken out because it was used up, and its AUTO_UNLINK is to come
	local   bool // MEManageLocal
	freeing bool // its AUTO_FREE is to come
	options EntryOptions
	uid     uint32
	gen     uint32
	mem     memory
	space   *Space // the memory, when it is named by addresses
	// operator is who carries out User; nil: nobody
	operator Operator
	minFree  uint64
	cursor   uint64
	ct       *CT
	userPtr  any
	active   int // operations whose data is on the way
	headers  int // unexpected headers of operations that it took
	owes     int // its AUTO_UNLINK, to the queue of a flow-controlled portal table entry
	next     *entry
}

// entryPool has an NI's entries.
type entryPool struct {
	free *entry
	used int
}

// MEAppend links a match list entry to one of the lists (PtlMEAppend); d is not kept. Appended to the priority list it takes what has come and waits
// in the unexpected list first. The handle may be dead when the call returns: when the entry was used up by that.
func (pt *PT) MEAppend(d *ME, list List, userPtr any) (Entry, error) {
	const op = "PtlMEAppend"
	i, err := pt.enter(op)
	if err != nil {
		return Entry{}, err
	}
	defer i.leave()
	if err := pt.checkME(op, d, list); err != nil {
		return Entry{}, err
	}
	e, err := pt.newEntry(op, d.Start, d.Iovec, d.CT, d.UID, d.Options)
	if err != nil {
		return Entry{}, err
	}
	e.extend(d.Space, d.Operator)
	pt.pattern(&e.Pattern, d)
	e.local, e.minFree = d.Options&MEManageLocal != 0, d.MinFree
	e.Room, e.Local, e.NoTruncate = e.mem.size, e.local, d.Options&MENoTruncate != 0
	return pt.link(e, list, userPtr), nil
}

// LEAppend is MEAppend on a non-matching interface (PtlLEAppend).
func (pt *PT) LEAppend(d *LE, list List, userPtr any) (Entry, error) {
	const op = "PtlLEAppend"
	i, err := pt.enter(op)
	if err != nil {
		return Entry{}, err
	}
	defer i.leave()
	if err := pt.checkLE(op, d, list); err != nil {
		return Entry{}, err
	}
	e, err := pt.newEntry(op, d.Start, d.Iovec, d.CT, d.UID, d.Options)
	if err != nil {
		return Entry{}, err
	}
	e.extend(d.Space, d.Operator)
	e.Pattern = everything
	e.Room = e.mem.size
	return pt.link(e, list, userPtr), nil
}

func (pt *PT) checkME(op string, d *ME, list List) error {
	if !pt.ni.matching() {
		return bad(op, "match list entries are for matching interfaces")
	}
	if d == nil {
		return bad(op, "no entry")
	}
	if d.Space != nil && (d.Start != nil || d.Iovec != nil || d.Options&MEManageLocal != 0 || list != PriorityList) {
		return bad(op, "an entry of a space has no other memory, does not choose offsets, and is in the priority list")
	}
	if d.Operator != nil && (d.Options&(UseOnce|MEManageLocal) != 0 || list != PriorityList) {
		return bad(op, "an entry with an operator, which may refuse, is not used up, and is in the priority list")
	}
	return pt.check(op, d.Start, d.Iovec, d.CT, d.Options, list)
}

func (pt *PT) checkLE(op string, d *LE, list List) error {
	if pt.ni.matching() {
		return bad(op, "list entries are for non-matching interfaces")
	}
	if d == nil {
		return bad(op, "no entry")
	}
	if d.Options&(MEManageLocal|MENoTruncate|MEMayAlign) != 0 {
		return bad(op, "options %#x are for match list entries", d.Options)
	}
	if d.Space != nil && (d.Start != nil || d.Iovec != nil || list != PriorityList) {
		return bad(op, "an entry of a space has no other memory, and is in the priority list")
	}
	if d.Operator != nil && (d.Options&(UseOnce|MEManageLocal) != 0 || list != PriorityList) {
		return bad(op, "an entry with an operator, which may refuse, is not used up, and is in the priority list")
	}
	return pt.check(op, d.Start, d.Iovec, d.CT, d.Options, list)
}

func (pt *PT) check(op string, start []byte, iov [][]byte, ct *CT, o EntryOptions, list List) error {
	switch {
	case list > OverflowList:
		return bad(op, "there is no list %d", list)
	case o >= entryOptionsEnd:
		return bad(op, "options %#x", o)
	case start != nil && iov != nil:
		return bad(op, "memory is given both as a slice and as an iovec")
	case len(iov) > pt.ni.limits.MaxIovecs:
		return bad(op, "an iovec of %d pieces, the most is %d", len(iov), pt.ni.limits.MaxIovecs)
	case ct != nil && (ct.freed || ct.ni != pt.ni):
		return bad(op, "the counting event is none of this interface")
	case pt.ni.logical() && !pt.ni.mapped:
		return fail(op, ErrNoInit, "a logical interface needs its map first (SetMap)")
	}
	return nil
}

// pattern is what d takes.
func (pt *PT) pattern(p *match.Pattern, d *ME) {
	p.Bits, p.Ignore, p.NoTruncate, p.Local, p.Room = d.MatchBits, d.IgnoreBits, false, false, 0
	if pt.ni.logical() {
		p.Src.A, p.Src.B, p.AnyA, p.AnyB = d.MatchID.Rank, 0, d.MatchID.Rank == AnyRank, true
	} else {
		p.Src.A, p.Src.B = d.MatchID.NID, d.MatchID.PID
		p.AnyA, p.AnyB = d.MatchID.NID == AnyNID, d.MatchID.PID == AnyPID
	}
}

func (pt *PT) newEntry(op string, start []byte, iov [][]byte, ct *CT, uid uint32, o EntryOptions) (*entry, error) {
	p := &pt.ni.entries
	if p.used >= pt.ni.limits.MaxEntries {
		return nil, fail(op, ErrNoSpace, "all %d entries are in use (max_entries)", pt.ni.limits.MaxEntries)
	}
	if pt.priority.Len()+pt.overflow.Len() >= pt.ni.limits.MaxListSize {
		return nil, fail(op, ErrListTooLong, "portal table entry %d has %d entries (max_list_size)", pt.index, pt.ni.limits.MaxListSize)
	}
	e := p.free
	if e != nil {
		p.free = e.next
		e.next = nil
	} else {
		e = &entry{ni: pt.ni, gen: 1}
		e.Owner = e
	}
	p.used++
	pt.entries++
	e.pt, e.ct, e.uid, e.options = pt, ct, uid, o
	if iov == nil {
		e.mem.base, e.mem.size = start, uint64(len(start))
	} else {
		e.mem = newMemory(start, iov)
	}
	e.local, e.minFree, e.cursor, e.auto, e.freeing, e.owes, e.plain = false, 0, 0, false, false, 0, false
	if ct != nil {
		ct.users++
	}
	return e, nil
}

// extend gives the entry what the specification's have not.
func (e *entry) extend(s *Space, o Operator) {
	if e.space, e.operator = s, o; s != nil {
		e.mem.size = math.MaxUint64
	}
}

// link is the rest of an append, atomic with respect to arrivals as everything under the token.
func (pt *PT) link(e *entry, list List, userPtr any) Entry {
	h := Entry{e, e.gen}
	e.list, e.userPtr = list, userPtr
	if list == OverflowList {
		pt.overflow.Append(&e.Entry)
	} else {
		if pt.unexpected.Len() > 0 && pt.takeUnexpected(e) {
			e.release()
			return h
		}
		pt.priority.Append(&e.Entry)
		e.plain = e.isPlain()
	}
	e.linked = true
	if pt.eq != nil && e.options&EventLinkDisable == 0 {
		ev := pt.eq.slot()
		*ev = Event{Type: EventLink, PT: pt.index, List: list, UserPtr: userPtr, MatchBits: e.Bits}
		pt.eq.posted()
	}
	return h
}

// unlink takes an entry out of its list.
func (e *entry) unlink() {
	e.linked = false
	if e.list == OverflowList {
		e.pt.overflow.Remove(&e.Entry)
	} else {
		e.pt.priority.Remove(&e.Entry)
	}
}

// settled does what waits for the last operation of an entry that is out of its list: AUTO_UNLINK after the events of all its operations, AUTO_FREE when
// no unexpected header speaks of its memory any more.
func (e *entry) settled() {
	if e.linked || e.active > 0 {
		return
	}
	pt := e.pt
	tell := pt.eq != nil && e.options&EventUnlinkDisable == 0
	if e.auto {
		e.auto = false
		e.freeing = e.list == OverflowList
		if tell {
			pt.eq.owed -= e.owes
			ev := pt.eq.slot()
			*ev = Event{Type: EventAutoUnlink, PT: pt.index, List: e.list, UserPtr: e.userPtr, MatchBits: e.Bits}
			pt.eq.posted()
		}
	}
	if e.headers > 0 {
		return
	}
	if e.freeing {
		e.freeing = false
		if tell {
			ev := pt.eq.slot()
			*ev = Event{Type: EventAutoFree, PT: pt.index, List: e.list, UserPtr: e.userPtr, MatchBits: e.Bits}
			pt.eq.posted()
		}
	}
	e.release()
}

// release gives the entry back to the pool; its handle is dead.
func (e *entry) release() {
	p := &e.pt.ni.entries
	if e.ct != nil {
		e.ct.users--
	}
	e.pt.entries--
	e.gen++
	e.mem, e.ct, e.userPtr, e.pt, e.space, e.operator = memory{}, nil, nil, nil, nil, nil
	e.next, p.free = p.free, e
	p.used--
}

// Unlink takes the entry out of its list, without an event (PtlMEUnlink, PtlLEUnlink). ErrInUse: operations are under way in it, or, of an entry
// of the overflow list, unexpected headers speak of its memory. ErrArgInvalid: it was used up before.
func (h Entry) Unlink() error {
	const op = "PtlMEUnlink"
	if h.e == nil {
		return bad(op, "no entry")
	}
	i, err := h.e.ni.enter(op)
	if err != nil {
		return err
	}
	defer i.leave()
	e := h.e
	switch {
	case e.gen != h.gen || e.pt == nil || !e.linked && e.active == 0 && e.headers == 0:
		return bad(op, "the entry is not linked any more")
	case e.active > 0 || e.headers > 0:
		return fail(op, ErrInUse, "%d operations are under way in the entry, and %d unexpected headers speak of it", e.active, e.headers)
	}
	e.unlink()
	e.release()
	return nil
}

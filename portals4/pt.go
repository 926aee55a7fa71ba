package portals4

import (
	"github.com/ompi-go/ompi-go/portals4/match"
	"github.com/ompi-go/ompi-go/progress"
)

// PT is a portal table entry (ptl_pt_index_t).
type PT struct {
	ni         *NI
	index      uint32
	options    PTOptions
	eq         *EQ
	priority   match.List[entry]
	overflow   match.List[entry]
	unexpected match.Unexpected[header]
	enabled    bool
	flow       bool // PTFlowCtrl
	quiet      bool // the entry that disabled it wants no PT_DISABLED
	telling    bool // PT_DISABLED follows when nothing is active any more
	active     int  // operations whose data is on the way
	entries    int  // in either list, or taken out of it and in use
	drained    []*progress.Completion
}

// PTAlloc makes the portal table entry index, or with AnyPT one that is free (PtlPTAlloc). eq may be nil unless options have PTFlowCtrl.
func (ni *NI) PTAlloc(options PTOptions, eq *EQ, index uint32) (*PT, error) {
	const op = "PtlPTAlloc"
	i, err := ni.enter(op)
	if err != nil {
		return nil, err
	}
	defer i.leave()
	switch {
	case options >= ptOptionsEnd:
		return nil, bad(op, "options %#x", options)
	case eq != nil && (eq.freed || eq.ni != ni):
		return nil, bad(op, "the event queue is none of this interface")
	case eq == nil && options&PTFlowCtrl != 0:
		return nil, fail(op, ErrPTEQNeeded, "flow control tells by events, and there is no event queue")
	case index == AnyPT:
		index = 0
		for index < uint32(len(ni.pts)) && ni.pts[index] != nil {
			index++
		}
		if index == uint32(len(ni.pts)) {
			return nil, fail(op, ErrPTFull, "all %d portal table entries are in use", len(ni.pts))
		}
	case index >= uint32(len(ni.pts)):
		return nil, bad(op, "index %d, the largest is %d", index, len(ni.pts)-1)
	case ni.pts[index] != nil:
		return nil, fail(op, ErrPTInUse, "index %d is in use", index)
	}
	pt := &PT{ni: ni, index: index, options: options, eq: eq, enabled: true, flow: options&PTFlowCtrl != 0}
	if eq != nil {
		eq.users++
		if pt.flow {
			eq.reserved++
		}
	}
	ni.pts[index] = pt
	return pt, nil
}

func (pt *PT) enter(op string) (*Interface, error) {
	if pt == nil {
		return nil, bad(op, "no portal table entry")
	}
	i, err := pt.ni.enter(op)
	if err == nil && pt.ni.pts[pt.index] != pt {
		i.leave()
		return nil, bad(op, "portal table entry %d was freed", pt.index)
	}
	return i, err
}

// Index is the index by which peers name the entry.
func (pt *PT) Index() uint32 { return pt.index }

// Free gives the portal table entry back (PtlPTFree): ErrInUse as long as entries are linked or used.
func (pt *PT) Free() error {
	i, err := pt.enter("PtlPTFree")
	if err != nil {
		return err
	}
	defer i.leave()
	if pt.entries > 0 || pt.active > 0 {
		return fail("PtlPTFree", ErrInUse, "portal table entry %d has %d entries and %d operations under way", pt.index, pt.entries, pt.active)
	}
	if pt.eq != nil {
		pt.eq.users--
		if pt.flow {
			pt.eq.reserved--
		}
	}
	pt.ni.pts[pt.index] = nil
	return nil
}

var everything = match.Pattern{Ignore: ^uint64(0), AnyA: true, AnyB: true}

// Enable has the portal table entry take operations (again).
func (pt *PT) Enable() error {
	i, err := pt.enter("PtlPTEnable")
	if err != nil {
		return err
	}
	pt.enabled, pt.telling = true, false
	i.leave()
	return nil
}

// Disable has it refuse operations, with PTDisabled at the initiator, and returns when those under way have ended and their events are posted. There is
// no PT_DISABLED event.
func (pt *PT) Disable() error {
	i, err := pt.enter("PtlPTDisable")
	if err != nil {
		return err
	}
	defer i.leave()
	pt.enabled, pt.telling = false, false
	for pt.active > 0 {
		c := new(progress.Completion)
		pt.drained = append(pt.drained, c)
		i.engine.WaitLocked(c)
	}
	return nil
}

// stop is what flow control does: the portal table entry is disabled, and says so when nothing is under way any more.
func (pt *PT) stop(quiet bool) {
	if !pt.enabled {
		return
	}
	pt.enabled, pt.telling, pt.quiet = false, true, quiet
	pt.ni.i.counts.disabled++
	pt.idle()
}

// idle does what waits for the last operation under way.
func (pt *PT) idle() {
	if pt.active > 0 {
		return
	}
	for _, c := range pt.drained {
		pt.ni.i.engine.Complete(c)
	}
	pt.drained = pt.drained[:0]
	if !pt.telling {
		return
	}
	pt.telling = false
	if pt.quiet || pt.eq == nil {
		return
	}
	ev := pt.eq.slot()
	*ev = Event{Type: EventPTDisabled, PT: pt.index}
	pt.eq.posted()
}

// stopAll disables every flow-controlled portal table entry of a queue that has no room left.
func (q *EQ) stopAll() {
	for _, pt := range q.ni.pts {
		if pt != nil && pt.eq == q && pt.flow {
			pt.stop(false) // nothing, of one that has stopped
		}
	}
}

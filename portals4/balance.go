package portals4

import "fmt"

// balance panics unless everything that was under way has ended and all tables are as they were. It is for the build tag "invariants", and is called
// when the NALs are closed.
func (i *Interface) balance() {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			panic("portals4: rank " + fmt.Sprint(i.rank) + " at the end: " + fmt.Sprintf(format, args...))
		}
	}
	must(i.ops.used == 0 && len(i.ops.free) == len(i.ops.all), "%d operations of %d, %d free", i.ops.used, len(i.ops.all), len(i.ops.free))
	for _, o := range i.ops.all {
		must(!o.live && !o.exposed && !o.move.on, "operation %d lives %v, is registered %v, moves %v", o.index, o.live, o.exposed, o.move.on)
	}
	must(i.arrivals.used == 0 && len(i.arrivals.free) == len(i.arrivals.all), "%d arrivals of %d, %d free", i.arrivals.used, len(i.arrivals.all), len(i.arrivals.free))
	for _, a := range i.arrivals.all {
		must(!a.live && !a.exposed && !a.move.on, "arrival %d lives %v, is registered %v, moves %v", a.index, a.live, a.exposed, a.move.on)
	}
	must(len(i.fired) == 0, "%d triggered operations have not begun", len(i.fired))
	must(i.inside == 0, "%d calls of NALs", i.inside)
	for _, l := range i.open {
		must(l.head == nil && l.flows == nil && len(l.moves) == 0, "messages wait for rank %d", l.proc.Rank)
		must(l.sending == 0, "the NAL has %d messages to rank %d", l.sending, l.proc.Rank)
	}
	for _, ni := range i.every {
		entries, headers := 0, 0
		for _, pt := range ni.pts {
			if pt == nil {
				continue
			}
			must(pt.active == 0 && len(pt.drained) == 0, "portal table entry %d has %d operations under way, and %d wait for that", pt.index, pt.active, len(pt.drained))
			entries += pt.entries
			headers += pt.unexpected.Len()
		}
		must(ni.entries.used == entries, "%d entries, portal table entries have %d", ni.entries.used, entries)
		must(ni.headers.used[0]+ni.headers.used[1] == headers, "%v unexpected headers, portal table entries have %d", ni.headers.used, headers)
		must(ni.triggered == 0, "%d triggered operations wait", ni.triggered)
		for _, md := range ni.bound {
			must(md.pending == 0 && md.armed == 0, "a memory descriptor has %d operations under way, and %d wait", md.pending, md.armed)
		}
	}
}

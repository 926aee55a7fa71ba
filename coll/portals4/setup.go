package portals4

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	p4 "github.com/ompi-go/ompi-go/portals4"
)

// Enable implements coll.Factory. The members agree, over the components below, that all of them have what it takes, and on the number of the
// communicator's incarnation; a member that has come to the end of that knows that the entries of all are there.
func (f *factory) Enable(c *core.Comm, below *coll.Table) (coll.Module, error) {
	if below.Barrier == nil || below.Bcast == nil || below.Allreduce == nil {
		return nil, nil // the same on all members: they have chosen the same components
	}
	m := &module{f: f, comm: c, below: below, tree: treeOf(c.MyRank, c.Size(), f.opts.Radix)}
	e := c.Engine
	e.Lock()
	// Who asks for a number gets one that is larger than all that this process has seen, so that the result is larger for all members.
	mine := [2]int32{-(f.incarnate + 1), 1}
	e.Unlock()
	all, err := m.least(mine[:1])
	if err != nil {
		return m.gaveUp(err)
	}
	number := -all[0]
	e.Lock()
	f.bury()
	f.incarnate = max(f.incarnate, number)
	why := m.open(number)
	e.Unlock()
	if why != nil {
		mine[1] = 0
	}
	if all, err = m.least(mine[1:]); err != nil || all[0] == 0 {
		e.Lock()
		defer e.Unlock()
		m.close()
		if err != nil {
			return m.gaveUp(err)
		}
		if why != nil && f.say != nil {
			f.say("coll portals4", fmt.Sprintf("collectives on %s do not use triggered operations: %v", coll.Title(c), why))
		}
		return nil, nil
	}
	e.Lock()
	f.modules = append(f.modules, m)
	e.Unlock()
	return m, nil
}

// gaveUp is the answer when the members could not agree: none, if it is for a fault, which operations will report.
func (m *module) gaveUp(err error) (coll.Module, error) {
	if m.comm.Fault() != nil {
		return nil, nil
	}
	return nil, err
}

// least gives the least of the members' values.
func (m *module) least(v []int32) ([]int32, error) {
	out := make([]int32, len(v))
	b := func(s []int32) core.Buffer {
		return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(s)), int64(len(s)), datatype.Int32)
	}
	return out, m.below.Allreduce.Allreduce(b(v), b(out), core.Min)
}

// Phases in match bits.
const (
	phaseUp   = iota // to a landing area
	phaseDown        // to what comes down
	phaseOwn         // to the own operand
)

// Match bits:
//
//	 63      40 39           16 15    8 7     0
//	+----------+---------------+-------+-------+
//	| context  | incarnation   | slot  | phase |
//	+----------+---------------+-------+-------+
const maxContext = 1 << 24

func matchOf(context uint32, incarnation int32) uint64 {
	return uint64(context)<<40 | uint64(uint32(incarnation)&(1<<24-1))<<16
}

func (m *module) bits(s *slot, phase uint64) uint64 { return m.match | s.index<<8 | phase }

// open gets what the communicator needs of the interface. On an error close gives back what there is. The token is held.
func (m *module) open(incarnation int32) error {
	f, t := m.f, &m.tree
	m.match = matchOf(m.comm.Context(), incarnation)
	process := func(rank int) p4.Process { return f.ni.ProcessOf(m.comm.Procs[rank].Rank) }
	m.self = process(t.rank)
	if t.parent >= 0 {
		m.toParent = process(t.parent)
	}
	for kid := range t.kids {
		m.toKids = append(m.toKids, process(t.first+kid))
	}
	round := 1 + t.kids // sends
	if f.atomicMax > 0 {
		round += t.kids * int((f.opts.Segment+f.atomicMax-1)/f.atomicMax)
	}
	if need := f.opts.Slots * round; f.reserved+need > f.limits.MaxTriggeredOps {
		return fmt.Errorf("the interface has room for %d triggered operations, of which this communicator may need %d and others %d", f.limits.MaxTriggeredOps, need, f.reserved)
	} else {
		m.needs, f.reserved = need, f.reserved+need
	}
	m.slots = make([]slot, f.opts.Slots)
	for i := range m.slots {
		if err := m.slots[i].open(m, i); err != nil {
			return err
		}
	}
	return nil
}

// open makes a slot.
func (s *slot) open(m *module, index int) error {
	f := m.f
	s.m, s.index = m, uint64(index)
	s.words = make([]uint64, m.slotWords())
	s.mem = bytesOf(s.words)
	var err error
	for _, c := range []**p4.CT{&s.up, &s.down, &s.sent} {
		if *c, err = f.ni.CTAlloc(); err != nil {
			return err
		}
	}
	if s.md, err = f.ni.MDBind(&p4.MD{Start: s.mem, Options: p4.MDEventSuccessDisable | p4.MDEventCTSend, CT: s.sent}); err != nil {
		return err
	}
	const quiet = p4.OpPut | p4.AckDisable | p4.EventCTComm | p4.EventCommDisable | p4.EventLinkDisable | p4.EventUnlinkDisable
	for i, d := range [...]struct {
		pt    *p4.PT
		start []byte
		ct    *p4.CT
		id    p4.Process
		phase uint64
	}{
		{f.up, s.mem[m.landing(0):], s.up, p4.AnyProcess, phaseUp},
		{f.up, s.piece(m.ownAt()+headerSize, f.opts.Segment), s.up, m.self, phaseOwn},
		{f.down, s.piece(m.downPlace(), m.stride()), s.down, m.toParent, phaseDown},
	} {
		switch {
		case d.phase == phaseDown && m.tree.parent < 0 || d.phase != phaseDown && m.tree.kids == 0:
			continue // nobody sends there
		}
		me := p4.ME{Start: d.start, CT: d.ct, UID: p4.AnyUID, Options: quiet, MatchID: d.id, MatchBits: m.bits(s, d.phase)}
		if s.entries[i], err = d.pt.MEAppend(&me, p4.PriorityList, nil); err != nil {
			return err
		}
	}
	return nil
}

// disarm takes back what the interface might still do. The token is held.
func (m *module) disarm() {
	for i := range m.slots {
		s := &m.slots[i]
		for _, c := range []*p4.CT{s.up, s.down} {
			if c != nil {
				_ = c.CancelTriggered()
			}
		}
		for k, e := range s.entries {
			// One that a message is coming to just now stays for later; it has memory that is nobody else's.
			if e != (p4.Entry{}) && e.Unlink() == nil {
				s.entries[k] = p4.Entry{}
			}
		}
	}
}

// Close implements coll.Module. Operations have ended; messages that have not left or settled concern the memory of slots alone.
func (m *module) Close() error {
	e := m.comm.Engine
	e.Lock()
	defer e.Unlock()
	m.close()
	return nil
}

// close gives everything back, what is in use still when it is not any more. The token is held.
func (m *module) close() {
	f := m.f
	if m.broken == nil {
		m.broken = core.NewError(core.ErrComm, "the communicator is closed")
	}
	f.reserved -= m.needs
	m.needs = 0
	f.modules = slices.DeleteFunc(f.modules, func(o *module) bool { return o == m })
	f.graves = append(f.graves, m)
	f.bury()
}

// bury gives back what is left of closed communicators. The token is held.
func (f *factory) bury() {
	f.graves = slices.DeleteFunc(f.graves, func(m *module) bool {
		m.disarm()
		gone := true
		for i := range m.slots {
			gone = m.slots[i].free() && gone
		}
		return gone
	})
}

// free gives back a slot without triggered operations, and reports whether nothing is left of it.
func (s *slot) free() bool {
	for _, e := range s.entries {
		if e != (p4.Entry{}) {
			return false
		}
	}
	if s.md != nil {
		if s.md.Release() != nil {
			return false // a message is under way
		}
		s.md = nil
	}
	for _, c := range []**p4.CT{&s.up, &s.down, &s.sent} {
		if *c != nil && (*c).Free() != nil {
			return false
		}
		*c = nil
	}
	return true
}

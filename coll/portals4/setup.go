package portals4

import (
	"fmt"
	"slices"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/core"
	p4 "github.com/ompi-go/ompi-go/portals4"
)

// Enable implements coll.Factory. It waits for nobody: a communicator whose other members never come to it, such as that of an Idup for
// which the program does not wait, must not hold up the end of the instance.
func (f *factory) Enable(c *core.Comm, below *coll.Table) (coll.Module, error) {
	if below.Bcast == nil || below.Allreduce == nil {
		return nil, nil // the same on all members: they have chosen the same components
	}
	m := &module{f: f, comm: c, below: below, tree: treeOf(c.MyRank, c.Size(), f.opts.Radix)}
	c.Engine.Lock()
	defer c.Engine.Unlock()
	f.bury()
	if err := m.open(); err != nil {
		m.close()
		if c.Fault() != nil {
			return nil, nil // the components below tell of it as well
		}
		return nil, core.NewError(core.ErrNoMem, "collectives on %s over Portals: %w; free communicators, set coll_portals4_slots lower, or leave component portals4 out (--mca coll ^portals4)",
			coll.Title(c), err)
	}
	f.modules = append(f.modules, m)
	return m, nil
}

// Phases in match bits.
const (
	phaseUp    = iota // to a landing area
	phaseDown         // to what comes down
	phaseOwn          // to the own operand
	phaseHello        // on index 15: the sender's entries are there
	phaseMask  = 1<<8 - 1
)

// Match bits:
//
//	 63      40 39           16 15    8 7     0
//	+----------+---------------+-------+-------+
//	| context  | incarnation   | slot  | phase |
//	+----------+---------------+-------+-------+
const maxContext = 1 << 24

// edge is a neighbour in the tree, or the own rank.
type edge struct {
	to    p4.Process
	match uint64 // context and incarnation
	hello p4.Entry
}

func (e *edge) bits(s *slot, phase uint64) uint64 { return e.match | s.index<<8 | phase }

// edge makes the edge to a rank. Both ends count the communicators of a context number in which they are neighbours, so that both have the same incarnation
// without a word.
func (m *module) edge(rank int) edge {
	f, job := m.f, m.comm.Procs[rank].Rank
	k := uint64(m.comm.Context())<<32 | uint64(uint32(job))
	n := f.incarnations[k]
	f.incarnations[k] = n + 1
	return edge{to: f.ni.ProcessOf(job), match: uint64(m.comm.Context())<<40 | uint64(n&(1<<24-1))<<16}
}

// open gets what the communicator needs of the interface, and tells the neighbours. On an error close gives back what there is. The token is held.
func (m *module) open() error {
	f, t := m.f, &m.tree
	m.self = m.edge(t.rank)
	if t.parent >= 0 {
		m.parent = m.edge(t.parent)
	}
	m.kids = make([]edge, t.kids)
	for kid := range m.kids {
		m.kids[kid] = m.edge(t.first + kid)
	}
	round := 1 + t.kids // sends
	if f.atomicMax > 0 {
		round += t.kids * int((f.opts.Segment+f.atomicMax-1)/f.atomicMax)
	}
	need := f.opts.Slots * round
	if f.reserved+need > f.limits.MaxTriggeredOps {
		return fmt.Errorf("the interface has room for %d triggered operations, of which this communicator may need %d and others %d", f.limits.MaxTriggeredOps, need, f.reserved)
	}
	m.needs, f.reserved = need, f.reserved+need
	m.slots = make([]slot, f.opts.Slots)
	for i := range m.slots {
		if err := m.slots[i].open(m, i); err != nil {
			return err
		}
	}
	return m.greet()
}

// neighbours calls f for every edge of the tree.
func (m *module) neighbours(f func(e *edge) error) error {
	if m.tree.parent >= 0 {
		if err := f(&m.parent); err != nil {
			return err
		}
	}
	for kid := range m.kids {
		if err := f(&m.kids[kid]); err != nil {
			return err
		}
	}
	return nil
}

// greet tells the neighbours that this rank's entries are there, and begins to count theirs that say so. A greeting that comes before its receiver knows of the
// communicator waits in the unexpected list of its interface.
func (m *module) greet() error {
	f := m.f
	var err error
	if m.greeted, err = f.ni.CTAlloc(); err != nil {
		return err
	}
	err = m.neighbours(func(e *edge) error {
		var err error
		e.hello, err = f.up.MEAppend(&p4.ME{CT: m.greeted, UID: p4.AnyUID, MatchID: e.to, MatchBits: e.match | phaseHello,
			Options: quiet | p4.UseOnce | p4.EventCTOverflow | p4.EventOverDisable}, p4.PriorityList, nil)
		return err
	})
	if err == nil {
		err = m.neighbours(func(e *edge) error {
			m.transfer = p4.Transfer{Target: e.to, PT: ptUp, MatchBits: e.match | phaseHello}
			return f.nothing.Put(&m.transfer)
		})
	}
	if err == nil {
		err = m.greeted.OnReach(m.greetings(), (*greeted)(m))
	}
	return err
}

// greetings is the number of neighbours.
func (m *module) greetings() uint64 {
	if m.tree.parent >= 0 {
		return uint64(1 + m.tree.kids)
	}
	return uint64(m.tree.kids)
}

// greeted is a module that waits for its neighbours.
type greeted module

// Reached implements portals4.CTListener: rounds can be armed.
func (g *greeted) Reached(*p4.CT) {
	m := (*module)(g)
	m.ready = true
	m.pump()
}

// quiet are the options of all entries.
const quiet = p4.OpPut | p4.AckDisable | p4.EventCTComm | p4.EventCommDisable | p4.EventLinkDisable | p4.EventUnlinkDisable

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
	for kid := range m.kids {
		if err = s.accept(f.up, &m.kids[kid], phaseUp, s.up, m.landing(kid), m.stride()); err != nil {
			return err
		}
	}
	if m.tree.kids > 0 {
		if err = s.accept(f.up, &m.self, phaseOwn, s.up, m.ownAt()+headerSize, f.opts.Segment); err != nil {
			return err
		}
	}
	if m.tree.parent >= 0 {
		err = s.accept(f.down, &m.parent, phaseDown, s.down, m.downPlace(), m.stride())
	}
	return err
}

// accept appends an entry for what comes from a neighbour.
func (s *slot) accept(pt *p4.PT, from *edge, phase uint64, c *p4.CT, at, n int64) error {
	e, err := pt.MEAppend(&p4.ME{Start: s.piece(at, n), CT: c, UID: p4.AnyUID, Options: quiet, MatchID: from.to, MatchBits: from.bits(s, phase)}, p4.PriorityList, nil)
	if err == nil {
		s.entries = append(s.entries, e)
	}
	return err
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
		// One that a message is coming to just now stays for later; it has memory that is nobody else's.
		s.entries = slices.DeleteFunc(s.entries, func(e p4.Entry) bool { return e.Unlink() == nil })
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
	if m.greeted != nil {
		_ = m.greeted.OnReach(0, nil)
	}
	if m.comm.Fault() != nil {
		_ = m.neighbours(func(e *edge) error {
			_ = e.hello.Unlink() // used up, for most
			return nil
		})
	}
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
		if m.greeted != nil && m.greeted.Free() == nil {
			m.greeted = nil
		}
		return gone && m.greeted == nil
	})
}

// free gives back a slot without triggered operations, and reports whether nothing is left of it.
func (s *slot) free() bool {
	if len(s.entries) > 0 {
		return false
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

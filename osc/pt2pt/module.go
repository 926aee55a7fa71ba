package pt2pt

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/am"
	"github.com/ompi-go/ompi-go/osc/elem"
	"github.com/ompi-go/ompi-go/progress"
)

// module is one window at one member. Everything in it belongs to the token.
type module struct {
	f      *factory
	w      *osc.Win
	comm   *core.Comm
	engine *progress.Engine
	me     int
	size   int             // of a packet, the same at all members
	archs  []datatype.Arch // in which members have their memory; nil: all as this one
	broken *core.Error     // why messages do not travel any more though no member has died

	// As origin.
	peers   []*peer // by rank; nil: never heard of
	newest  *peer   // whose lock was asked for last and may be still to come
	touched []*peer // of them, those that operations went to since they were last complete everywhere
	ops     opTable
	longs   *long  // a pool
	all     bool   // a lock_all epoch is open
	free    bool   // and nobody need be asked (ModeNoCheck)
	group   []int  // of the access epoch
	fences  uint16 // completed; the fence epoch that is open is one more
	counts  []int64
	mine    int64  // where a sum of counts comes
	scratch []byte // a command of this member's to itself, and its reply

	// As target.
	target    am.Target
	attached  am.Attached
	locks     elem.Locks
	lock      lockQueue
	released  []*peer   // have got the lock that they waited for
	exposed   int       // how many have been posted to
	completed int       // and how many have said that they are through
	arrived   int64     // packets of the fence epoch
	early     []*packet // have come from members that have completed a fence before this one
	taken     []*packet // of them, those that are looked at
	moving    int       // long messages on their way into the memory or out of it

	rings   []ring
	spare   *packet
	sending int     // packets and long messages that the PML has
	ended   *packet // of them, those that it has given back
	endedL  *long
	queued  bool // in factory.ready
	waits   []*waiter
	waiters *waiter // a pool
}

// Enable implements osc.Factory.
func (f *factory) Enable(w *osc.Win) (osc.Module, error) {
	m := &module{f: f, w: w, comm: w.Comm, engine: w.Engine, me: w.Comm.MyRank, peers: make([]*peer, w.Comm.Size()), counts: make([]int64, w.Comm.Size())}
	if err := m.agree(); err != nil {
		return nil, err
	}
	m.target.Locks = &m.locks
	switch w.Flavor {
	case osc.Dynamic:
		m.target.Attached = &m.attached
	case osc.Allocate:
		if w.Size > 0 {
			r, err := f.env.Alloc(w.Size)
			if err != nil {
				return nil, err
			}
			w.Memory = r
		}
	}
	if w.Memory != nil {
		m.target.Base, m.target.Size = w.Memory.Base(), w.Size
	}
	m.scratch = make([]byte, 2*m.size)
	m.engine.Lock()
	defer m.engine.Unlock()
	f.windows = append(f.windows, m)
	m.openRings(f.opts.Receives)
	return m, nil
}

// agree finds the size of packets and the members' architectures.
func (m *module) agree() error {
	size := [1]int64{m.f.opts.BufferSize}
	if err := m.w.Coll.Allreduce.Allreduce(core.InPlaceBuffer(), core.MakeBuffer(unsafe.Pointer(&size[0]), 1, datatype.Int64), core.Min); err != nil {
		return err
	}
	m.size = int(size[0]) &^ 7
	if m.f.env.Btl == nil || !m.f.env.Btl.Mixed {
		return nil
	}
	mine := [1]uint8{uint8(datatype.HostArch())}
	all := make([]uint8, m.comm.Size())
	if err := m.w.Coll.Allgather.Allgather(core.MakeBuffer(unsafe.Pointer(&mine[0]), 1, datatype.Uint8), core.MakeBuffer(unsafe.Pointer(&all[0]), int64(len(all)), datatype.Uint8)); err != nil {
		return err
	}
	m.archs = make([]datatype.Arch, len(all))
	for i, a := range all {
		m.archs[i] = datatype.Arch(a)
	}
	return nil
}

// arch is in which a member has its memory.
func (m *module) arch(rank int) datatype.Arch {
	if m.archs == nil {
		return datatype.ArchNative
	}
	return m.archs[rank]
}

// Attach implements osc.Attacher.
func (m *module) Attach(region *core.Region) error {
	m.engine.Lock()
	defer m.engine.Unlock()
	return m.attached.Add(region)
}

// Detach implements osc.Attacher.
func (m *module) Detach(base unsafe.Pointer) error {
	m.engine.Lock()
	defer m.engine.Unlock()
	_, err := m.attached.Remove(base)
	return err
}

// Sync implements osc.Module. Who changes the memory holds the token, and what has come meanwhile is carried out.
func (m *module) Sync() error {
	m.engine.Lock()
	defer m.engine.Unlock()
	m.engine.TryPoll()
	return m.faultWith(m.peer(m.me))
}

// Free implements osc.Module.
func (m *module) Free() error {
	m.engine.Lock()
	err := m.wait(waiter{kind: forSends}) // while everybody still receives
	m.engine.Unlock()
	if err == nil {
		err = m.w.Coll.Barrier.Barrier()
	}
	m.engine.Lock()
	defer m.engine.Unlock()
	m.look()
	m.leave()
	m.closeRings()
	m.f.forget(m)
	return err
}

// Undo implements osc.Undoer.
func (m *module) Undo() error {
	m.engine.Lock()
	defer m.engine.Unlock()
	m.closeRings()
	m.f.forget(m)
	return nil
}

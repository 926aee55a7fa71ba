package sm

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/words"
	"github.com/ompi-go/ompi-go/shm"
)

// proposal is what rank 0 tells the others of the memory that it has made: 1, and its name; else 0.
type proposal [3]int64

func ints(p *int64, n int64) core.Buffer {
	return core.MakeBuffer(unsafe.Pointer(p), n, datatype.Int64)
}

// Enable implements osc.Factory. What fails on one member is agreed about by Win, so that everybody takes part in both exchanges.
func (f *factory) Enable(w *osc.Win) (osc.Module, error) {
	n := w.Comm.Size()
	m := &module{f: f, w: w, comm: w.Comm, engine: w.Engine, rank: w.Comm.MyRank, size: n}
	mine := m.card()
	cards := make([]card, n)
	if err := w.Coll.Allgather.Allgather(ints(&mine.size, cardWords), ints(&cards[0].size, cardWords*int64(n))); err != nil {
		return nil, m.failed(err)
	}
	at, total, wrong := places(cards, w.Flavor, w.Hints.NotContiguous)
	var p proposal
	if m.rank == 0 && wrong == nil {
		p, wrong = m.propose(total)
	}
	if err := w.Coll.Bcast.Bcast(ints(&p[0], int64(len(p))), 0); err != nil {
		return nil, m.failed(err)
	}
	if wrong == nil {
		wrong = m.accept(p, total)
	}
	if wrong == nil {
		wrong = m.reach(cards, at)
	}
	if wrong != nil {
		return nil, m.failed(wrong)
	}
	w.Engine.Lock()
	f.open = append(f.open, m)
	w.Engine.Unlock()
	cfg := words.Config{Near: true, MCS: f.queues(), Recover: w.Hints.Recover, Flush: m.Flush}
	m.control.Init((*ownWords)(m), cfg, w.Comm)
	return m, nil
}

// card registers what this member has of its own.
func (m *module) card() card {
	c := card{size: m.w.Size, unit: m.w.Unit}
	if m.w.Flavor == osc.Dynamic {
		m.mine = new(attached)
	}
	shm := m.f.env.Shm
	if shm == nil || m.size == 1 {
		return c
	}
	switch m.w.Flavor {
	case osc.Create:
		if m.w.Size > 0 {
			m.registered = true
			m.slot, m.gen = shm.Register(m.w.Memory.Base(), m.w.Size)
		}
	case osc.Dynamic:
		m.registered = true
		m.slot, m.gen = shm.Register(unsafe.Pointer(m.mine), int64(unsafe.Sizeof(*m.mine)))
	}
	c.slot, c.gen = int64(m.slot), int64(m.gen)
	return c
}

// propose makes the window's memory.
func (m *module) propose(total int64) (proposal, error) {
	if m.size == 1 {
		whole, err := m.f.env.Alloc(total) // nobody else is to find it
		m.whole = whole
		return proposal{1}, err
	}
	if m.f.env.Shm == nil {
		return proposal{}, errNoMemory
	}
	mem, err := m.f.env.Shm.NewMemory(total, page)
	if err != nil {
		return proposal{}, core.NewError(core.ErrNoMem, "%w", err)
	}
	m.made = mem
	m.whole = core.NewRegion(core.RegionMapped, mem.Base(), total, func(unsafe.Pointer, int64) error {
		p, n := mem.Range()
		if n == 0 {
			return nil
		}
		return unix.MunmapPtr(p, uintptr(n))
	})
	a, b := mem.Name()
	return proposal{1, int64(a), int64(b)}, nil
}

// accept maps the memory, and finds the bells of the others.
func (m *module) accept(p proposal, total int64) error {
	shared := m.f.env.Shm
	switch {
	case p[0] == 0:
		return errors.New("rank 0 could not make the memory")
	case m.size == 1:
		m.mem = m.whole.Base()
		return nil
	case shared == nil:
		return errNoMemory
	}
	m.engine.Lock()
	defer m.engine.Unlock()
	m.peers = make([]*shm.Peer, m.size)
	for r := range m.peers {
		peer, err := shared.Attach(m.comm.Procs[r].Rank)
		if err != nil {
			return err
		}
		m.peers[r] = peer
	}
	for i := 1; i < m.size; i++ { // beginning behind this rank: who comes last wakes the others in an order of its own
		m.others = append(m.others, m.peers[(m.rank+i)%m.size])
	}
	if m.rank != 0 {
		whole, err := m.peers[0].MapMemory(shared, uint32(p[1]), uint32(p[2]))
		if err != nil {
			return err
		}
		m.whole = whole
	}
	if _, err := m.whole.Slice(0, total); err != nil {
		return fmt.Errorf("the memory that rank 0 has made: %w", err)
	}
	m.mem = m.whole.Base()
	return nil
}

// reach finds the memory of all members, and makes it that of the window where MPI allocates it.
func (m *module) reach(cards []card, at []int64) error {
	w := m.w
	m.parts = make([]part, m.size)
	if w.Flavor == osc.Dynamic {
		m.dynamic = make([]*attached, m.size)
	}
	for r, c := range cards {
		p := &m.parts[r]
		p.size, p.unit = c.size, c.unit
		var err error
		switch {
		case w.Flavor == osc.Dynamic && m.size == 1:
			m.dynamic[0] = m.mine
		case w.Flavor == osc.Dynamic:
			var a unsafe.Pointer
			if a, err = m.peers[r].Registered(uint32(c.slot), uint32(c.gen), 0, int64(unsafe.Sizeof(attached{}))); err == nil {
				m.dynamic[r] = (*attached)(a)
			}
		case c.size == 0:
		case w.Flavor == osc.Create && m.size == 1:
			p.base = w.Memory.Base()
		case w.Flavor == osc.Create:
			p.base, err = m.peers[r].Registered(uint32(c.slot), uint32(c.gen), 0, c.size)
		default:
			p.base = unsafe.Add(m.mem, at[r])
		}
		if err != nil {
			return err
		}
	}
	if mine := m.parts[m.rank]; w.Flavor != osc.Create && mine.base != nil {
		whole := m.whole
		whole.Ref()
		w.Memory = core.NewRegion(core.RegionMapped, mine.base, mine.size, func(unsafe.Pointer, int64) error { return whole.Unref() })
	}
	return nil
}

// failed leaves nothing behind.
func (m *module) failed(cause error) error {
	if err := m.Undo(); err != nil {
		return errors.Join(cause, err)
	}
	return cause
}

// Undo implements osc.Undoer.
func (m *module) Undo() error {
	m.engine.Lock()
	defer m.engine.Unlock()
	return m.letGo()
}

// Free implements osc.Module. Nobody is inside a call any more.
func (m *module) Free() error { return m.Undo() }

// letGo lets go of the window's memory and its names. The token is held.
func (m *module) letGo() error {
	var errs []error
	m.f.forget(m)
	if m.registered {
		m.registered = false
		m.f.env.Shm.Deregister(m.slot, m.gen)
	}
	if m.mine != nil {
		errs = append(errs, m.mine.clear())
	}
	if m.made != nil {
		errs = append(errs, m.made.Free())
		m.made = nil
	}
	if m.whole != nil {
		errs = append(errs, m.whole.Unref())
		m.whole = nil
	}
	return errors.Join(errs...)
}

package rdma

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/elem"
)

// target is a member as this rank reaches it, made when it is first used. Guarded by the token.
type target struct {
	rank  int
	proc  *core.Proc
	ep    *bml.Endpoint
	index uint32 // of the window there
	age   uint32
	base  uint64
	size  int64

	// What is mapped here. The regions hold it.
	mem     unsafe.Pointer // the window's memory there; nil: not mapped, or there is none
	words   []uint64       // nil: not mapped
	locks   *elem.Locks    // likewise
	ringer  btl.Mapper     // wakes it; nil: it is this rank
	regions [2]*core.Region

	// What BTLs can do to the rest. They are nil where they cannot, or could not any more.
	get            btl.Getter
	put            btl.Putter
	getMem, putMem btl.MemHandle // as their BTLs name the memory
	words8         btl.Atomics   // on the control block
	ctlMem         btl.MemHandle
	amo            btl.Atomics // on the memory
	amoMem         btl.MemHandle

	pending int    // operations that are not complete there
	local   int    // of those, such as still need their buffers here
	folds   int    // accumulates by message that are not answered
	calls   int    // messages that are not answered
	seq     uint32 // of the next request
	err     error  // of an operation, to be told by what completes it
}

// at gives a target.
func (m *module) at(rank int) (*target, error) {
	if t := m.targets[rank]; t != nil {
		return t, nil
	}
	return m.reach(rank)
}

// reach finds out what can be done to a target.
func (m *module) reach(rank int) (*target, error) {
	c, err := m.cardOf(rank)
	if err != nil {
		return nil, core.NewError(core.ErrIntern, "rank %d: %w", rank, err)
	}
	t := &target{rank: rank, proc: m.w.Comm.Procs[rank], index: c.index, age: c.age, base: c.base, size: int64(c.size)}
	if rank == m.w.Comm.MyRank {
		m.own(t)
	}
	ep, err := m.f.env.BML.Endpoint(t.proc)
	switch {
	case err == nil:
		t.ep = ep
		for _, p := range ep.Bulk {
			m.offer(t, p, c.way(p.Module.Name()))
		}
	case t.words == nil || m.w.Flavor == osc.Dynamic: // nothing needs a way to where all is mapped
		return nil, err
	}
	m.targets[rank] = t
	return t, nil
}

// own is this rank as its own target.
func (m *module) own(t *target) {
	t.words, t.locks = m.words, m.locks
	if m.w.Memory != nil && m.w.Size > 0 {
		t.mem = m.w.Memory.Base()
	}
}

// offer takes from a path what is still missing.
func (m *module) offer(t *target, p *bml.Path, w *way) {
	if w == nil {
		return
	}
	if mapper, ok := p.Send.(btl.Mapper); ok && m.f.opts.Map && t.words == nil && w.hasCtl {
		m.mapAt(t, mapper, w)
	}
	if w.hasMem && t.mem == nil {
		if t.get == nil && p.Get != nil {
			t.get, t.getMem = p.Get, w.mem
		}
		if t.put == nil && p.Put != nil {
			t.put, t.putMem = p.Put, w.mem
		}
	}
	if a, ok := p.Send.(btl.Coherent); ok && m.f.opts.Atomics {
		if t.words8 == nil && t.words == nil && w.hasCtl {
			t.words8, t.ctlMem = a, w.ctl
		}
		if t.amo == nil && t.mem == nil && w.hasMem {
			t.amo, t.amoMem = a, w.mem
		}
	}
}

// mapAt maps the control block, and the memory: of no use without the locks in the former. What cannot be mapped is reached in other ways.
func (m *module) mapAt(t *target, mapper btl.Mapper, w *way) {
	ctl, err := mapper.Map(w.ctl, m.ctlSize)
	if err != nil {
		return
	}
	t.regions[0] = ctl
	t.words, t.locks = m.split(ctl.Base())
	t.ringer = mapper
	if !w.hasMem || t.size == 0 {
		return
	}
	if mem, err := mapper.Map(w.mem, t.size); err == nil {
		t.regions[1] = mem
		t.mem = mem.Base()
	}
}

// gone tells why nothing comes back from a target, or nil.
func (t *target) gone(m *module) error {
	if err := t.proc.Failed(); err != nil {
		return err
	}
	if f := m.w.Comm.Fault(); f != nil && f.Fatal {
		return f.Err
	}
	return nil
}

// take gives the error of an operation, once.
func (t *target) take(m *module) error {
	err := t.err
	if err != nil {
		t.err = nil
		m.faults--
	}
	return err
}

// fault keeps the first error.
func (t *target) fault(m *module, err error) {
	if t.err == nil {
		t.err = err
		m.faults++
	}
}

package rdma

import (
	"errors"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/am"
	"github.com/ompi-go/ompi-go/osc/elem"
	"github.com/ompi-go/ompi-go/osc/words"
)

// module is a window at one member.
type module struct {
	sync  words.Sync
	f     *factory
	w     *osc.Win
	index uint32 // of the window in this instance, and its age
	age   uint32

	// The control block: words, and the locks of elements behind them.
	block   *core.Region
	ctl     unsafe.Pointer
	ctlSize int64
	words   []uint64
	locks   *elem.Locks

	card    card
	regs    [ways]btl.Registrar
	cards   []byte // of all members, as they came
	targets []*target
	works   *work
	xfers   *xfer
	awaits  *await
	pending int    // operations that are not complete at their targets
	faults  int    // targets that have an error to be told
	active  *await // what goroutines wait for

	// What other members do here by messages.
	memory   am.Target
	attached am.Attached
	cmd      am.Command // the one that is carried out
	origins  []origin   // by rank; nil until the first message

	silent bool // words may change without a call of the engine's
	parts  bool // it has an index, and is to be taken out again
}

func newModule(f *factory, w *osc.Win) *module {
	return &module{f: f, w: w, targets: make([]*target, w.Comm.Size())}
}

// acquire makes this member's part of the window, but for what the others must tell.
func (m *module) acquire() (err error) {
	n := words.Number(m.w.Comm.Size())
	m.ctlSize = locksAt(n) + elem.LocksSize
	if m.block, err = m.f.env.Alloc(m.ctlSize); err != nil {
		return err
	}
	m.ctl = m.block.Base()
	m.words, m.locks = m.split(m.ctl)
	if m.w.Flavor == osc.Allocate && m.w.Size > 0 && m.w.Memory == nil {
		if m.w.Memory, err = m.f.env.Alloc(m.w.Size); err != nil {
			return err
		}
	}
	m.memory = am.Target{Locks: m.locks}
	if m.w.Flavor == osc.Dynamic {
		m.memory.Attached = &m.attached
	} else if m.w.Memory != nil && m.w.Size > 0 {
		m.memory.Base, m.memory.Size = m.w.Memory.Base(), m.w.Size
		m.card.base, m.card.size = uint64(uintptr(m.memory.Base)), uint64(m.w.Size)
	}
	m.f.engine.Lock()
	defer m.f.engine.Unlock()
	m.register()
	m.f.enter(m)
	m.parts = true
	m.card.index, m.card.age = m.index, m.age
	return nil
}

// locksAt is where the locks of elements lie in a control block of n words.
func locksAt(n int) int64 { return (int64(n)*8 + 63) &^ 63 }

// split gives the parts of a control block.
func (m *module) split(ctl unsafe.Pointer) ([]uint64, *elem.Locks) {
	n := words.Number(m.w.Comm.Size())
	return unsafe.Slice((*uint64)(ctl), n), (*elem.Locks)(unsafe.Add(ctl, locksAt(n)))
}

// release lets go of everything that this member has made but the window's memory, which is Win's.
func (m *module) release() error {
	m.f.engine.Lock()
	defer m.f.engine.Unlock()
	var errs []error
	if m.parts {
		m.f.leave(m)
		m.deregister()
		m.parts = false
	}
	for _, t := range m.targets {
		if t == nil {
			continue
		}
		for _, r := range t.regions {
			if r != nil {
				errs = append(errs, r.Unref())
			}
		}
	}
	m.attached.Each(func(r *core.Region) { errs = append(errs, r.Unref()) })
	m.attached = am.Attached{}
	m.targets = nil
	if m.block != nil {
		errs = append(errs, m.block.Unref())
		m.block = nil
	}
	return errors.Join(errs...)
}

// Free implements osc.Module. All members are past their last operation: what came from them was answered.
func (m *module) Free() error { return m.release() }

// Undo implements osc.Undoer.
func (m *module) Undo() error { return m.release() }

// Issue implements osc.Module.
func (m *module) Issue(op *osc.Op) (bool, error) {
	if op.Low == op.High {
		return true, nil
	}
	t, err := m.at(op.Rank)
	if err != nil {
		return false, err
	}
	if err := t.gone(m); err != nil {
		return false, err
	}
	switch {
	case t.mem != nil:
		if done, err := m.direct(t, op); done || err != nil {
			return done, err
		}
	case op.Kind == osc.Put && t.put != nil, op.Kind == osc.Get && t.get != nil:
		if m.move(t, op) {
			return false, nil
		}
	case t.amo != nil && op.Kind >= osc.Accumulate && t.folds == 0:
		if done, err := m.amo(t, op); done || err != nil {
			return done, err
		}
	}
	return false, m.send(t, op)
}

// Mapped implements osc.Mapper.
func (m *module) Mapped(rank int) unsafe.Pointer {
	if m.w.Flavor == osc.Dynamic {
		return nil
	}
	t, err := m.at(rank)
	if err != nil {
		return nil // the first operation will tell
	}
	return t.mem
}

// Flush implements osc.Module.
func (m *module) Flush(rank int) error { return m.drain(rank, awaitDone) }

// FlushLocal implements osc.Module.
func (m *module) FlushLocal(rank int) error { return m.drain(rank, awaitLocal) }

func (m *module) drain(rank int, what awaited) error {
	if rank != osc.AllTargets {
		t := m.targets[rank]
		if t == nil {
			return nil
		}
		if !m.drained(t, what) {
			m.wait(t, what, nil)
		}
		return m.end(t, what)
	}
	if m.pending == 0 && m.faults == 0 {
		return nil
	}
	var first error
	for _, t := range m.targets {
		if t == nil {
			continue
		}
		if !m.drained(t, what) {
			m.wait(t, what, nil)
		}
		if err := m.end(t, what); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// drained reports whether nothing of a target need be waited for.
func (m *module) drained(t *target, what awaited) bool {
	if what == awaitLocal {
		return t.local == 0
	}
	return t.pending == 0
}

// end gives the error of operations to a target.
func (m *module) end(t *target, what awaited) error {
	if err := t.take(m); err != nil {
		return err
	}
	if !m.drained(t, what) {
		return t.gone(m)
	}
	return nil
}

// Attach implements osc.Attacher.
func (m *module) Attach(r *core.Region) error {
	m.f.engine.Lock()
	defer m.f.engine.Unlock()
	if err := m.attached.Add(r); err != nil {
		return err
	}
	r.Ref()
	return nil
}

// Detach implements osc.Attacher. Messages are carried out with the token held, so that none is at the memory now.
func (m *module) Detach(base unsafe.Pointer) error {
	m.f.engine.Lock()
	defer m.f.engine.Unlock()
	r, err := m.attached.Remove(base)
	if err != nil {
		return err
	}
	return r.Unref()
}

var (
	_ osc.Module   = (*module)(nil)
	_ osc.Attacher = (*module)(nil)
	_ osc.Mapper   = (*module)(nil)
	_ osc.Undoer   = (*module)(nil)
)

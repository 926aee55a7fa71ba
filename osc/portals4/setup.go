package portals4

import (
	"slices"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/words"
	p4 "github.com/ompi-go/ompi-go/portals4"
)

// Enable implements osc.Factory. Win has all members agree that all have their entries before any of them uses them.
func (f *factory) Enable(w *osc.Win) (osc.Module, error) {
	m := &module{f: f, w: w, comm: w.Comm, engine: w.Engine}
	var err error
	if w.Flavor == osc.Allocate && w.Size > 0 {
		if w.Memory, err = f.alloc(w.Size); err != nil {
			w.Memory = nil
		}
	}
	bits := uint64(w.Comm.Context())
	m.memory, m.control = place{ptWindows, bits}, place{ptWindows, bits | bitControl}
	if !f.opts.Matching {
		for _, at := range []*place{&m.memory, &m.control} {
			pt, e := m.choose(err == nil)
			if e != nil && err == nil {
				err = e
			}
			if pt != nil {
				m.pts = append(m.pts, pt)
				*at = place{pt: pt.Index()}
			}
		}
	}
	m.engine.Lock()
	defer m.engine.Unlock()
	f.bury()
	if err == nil {
		err = m.open()
	}
	if err != nil {
		m.dispose()
		return nil, core.NewError(core.ErrNoMem, "a window over Portals: %w", err)
	}
	f.modules = append(f.modules, m)
	if f.canMap(w) {
		return &direct{module: m}, nil
	}
	return m, nil
}

// nowhere is a portal table index that nobody has.
const nowhere = 1 << 20

// choose finds a portal table entry that is free at all members, and takes it. All of them call it, also those that cannot go on.
func (m *module) choose(able bool) (*p4.PT, error) {
	for next := 0; ; {
		mine := int64(nowhere)
		var pt *p4.PT
		m.engine.Lock()
		for i := next; able && i <= m.f.limits.MaxPTIndex && pt == nil; i++ {
			if got, err := m.f.ni.PTAlloc(0, m.f.control, uint32(i)); err == nil {
				pt, mine = got, int64(i)
			}
		}
		m.engine.Unlock()
		all := []int64{mine}
		b := core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(all)), 1, datatype.Int64)
		err := m.w.Coll.Allreduce.Allreduce(core.InPlaceBuffer(), b, core.Max)
		want := all[0]
		m.engine.Lock()
		if pt != nil && (err != nil || mine != want) {
			_ = pt.Free() // nothing uses it
			pt = nil
		}
		if pt == nil && err == nil && able && want < nowhere {
			pt, _ = m.f.ni.PTAlloc(0, m.f.control, uint32(want))
		}
		m.engine.Unlock()
		if err != nil {
			return nil, err
		}
		if want == nowhere {
			return nil, core.NewError(core.ErrNoMem, "all %d portal table entries of a member are in use; free windows, or set osc_portals4_matching", m.f.limits.MaxPTIndex+1)
		}
		if all[0] = 0; pt == nil {
			all[0] = 1
		}
		if err = m.w.Coll.Allreduce.Allreduce(core.InPlaceBuffer(), b, core.Max); err == nil && all[0] == 0 {
			return pt, nil
		}
		m.engine.Lock()
		if pt != nil {
			_ = pt.Free()
		}
		m.engine.Unlock()
		if err != nil {
			return nil, err
		}
		next = int(want) + 1
	}
}

// entryOptions are those of a window's entries.
const entryOptions = p4.OpPut | p4.OpGet | p4.AckSoon | p4.EventLinkDisable | p4.EventUnlinkDisable

// open gets what the window needs of the interface. The token is held.
func (m *module) open() error {
	f, w := m.f, m.w
	order := 0
	if w.Hints.Ordering != osc.OrderNone {
		order = 1
	}
	m.atomic = f.maxAtomic[order]
	m.cells = make([]uint64, cellCount)
	m.cells[sizeWord], m.cells[unitWord] = uint64(w.Size), uint64(w.Unit)
	m.publish()
	if f.opts.Flush == "target" {
		m.few = make([]counter, f.opts.Targets)
	}
	var err error
	// Between two looks of the listener at most as many operations end as are under way.
	if m.eq, err = f.ni.EQAlloc(2 * f.opts.MaxPending * (1 + len(m.few))); err != nil {
		return err
	}
	if err = m.eq.OnEvents(m); err != nil {
		return err
	}
	if err = m.all.open(m); err != nil {
		return err
	}
	for i := range m.few {
		if err = m.few[i].open(m); err != nil {
			return err
		}
	}
	m.locking.Init((*control)(m), words.Config{MCS: f.opts.Lock == "mcs", Flush: m.Flush, Recover: w.Hints.Recover}, w.Comm)
	if err = m.append(m.control, bytes(unsafe.Pointer(unsafe.SliceData(m.cells)), 8*cellCount), nil, 0); err != nil {
		return err
	}
	switch {
	case w.Flavor == osc.Dynamic:
		m.space = new(p4.Space)
		if f.opts.Dynamic == "space" {
			err = m.append(m.memory, nil, m.space, p4.EventCommDisable)
		}
	case w.Memory != nil && w.Size > 0:
		err = m.append(m.memory, bytes(w.Memory.Base(), w.Size), nil, p4.EventCommDisable)
	default:
		err = m.append(m.memory, []byte{}, nil, p4.EventCommDisable)
	}
	return err
}

// append links an entry.
func (m *module) append(at place, mem []byte, s *p4.Space, o p4.EntryOptions) error {
	e, err := m.link(at, mem, s, o)
	if err == nil {
		m.entries = append(m.entries, e)
	}
	return err
}

func (m *module) link(at place, mem []byte, s *p4.Space, o p4.EntryOptions) (p4.Entry, error) {
	if m.f.opts.Matching {
		return m.f.pt.MEAppend(&p4.ME{Start: mem, Space: s, Operator: m, UID: p4.AnyUID, Options: entryOptions | p4.MENoTruncate | o, MatchID: p4.AnyProcess, MatchBits: at.bits}, p4.PriorityList, m)
	}
	pt := m.pts[0]
	if at == m.control {
		pt = m.pts[1]
	}
	return pt.LEAppend(&p4.LE{Start: mem, Space: s, Operator: m, UID: p4.AnyUID, Options: entryOptions | o}, p4.PriorityList, m)
}

// Free implements osc.Module.
func (m *module) Free() error {
	m.engine.Lock()
	defer m.engine.Unlock()
	m.dispose()
	return nil
}

// Undo implements osc.Undoer.
func (m *module) Undo() error { return m.Free() }

// dispose gives everything back, what is in use still when it is not any more. The token is held.
func (m *module) dispose() {
	m.f.modules = slices.DeleteFunc(m.f.modules, func(o *module) bool { return o == m })
	for _, s := range m.segments {
		m.entries = append(m.entries, s.entry)
	}
	m.segments = nil
	if m.release() {
		return
	}
	if m.kept = m.w.Memory; m.kept != nil { // Win lets go of it
		m.kept.Ref()
	}
	m.f.graves = append(m.f.graves, m)
}

// release gives back what is not in use, and reports whether that is all.
func (m *module) release() bool {
	m.entries = slices.DeleteFunc(m.entries, func(e p4.Entry) bool { return e.Unlink() == nil })
	all := len(m.entries) == 0 && m.all.free()
	for i := range m.few {
		all = m.few[i].free() && all
	}
	if all && m.eq != nil {
		if m.eq.Free() != nil {
			return false
		}
		m.eq = nil
	}
	if all {
		m.pts = slices.DeleteFunc(m.pts, func(pt *p4.PT) bool { return pt.Free() == nil })
	}
	if !all || len(m.pts) > 0 {
		return false
	}
	if r := m.kept; r != nil {
		m.kept = nil
		_ = r.Unref() // nobody is left who could be told
	}
	return true
}

var _ osc.Undoer = (*module)(nil)

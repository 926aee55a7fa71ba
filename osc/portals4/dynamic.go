package portals4

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/osc"
	p4 "github.com/ompi-go/ompi-go/portals4"
)

// segment is an attached piece of memory that has an entry of its own.
type segment struct {
	base  unsafe.Pointer
	entry p4.Entry
}

// Attach implements osc.Attacher. The window's space has all pieces, also where they have entries: it finds those that overlap.
func (m *module) Attach(region *core.Region) error {
	m.engine.Lock()
	defer m.engine.Unlock()
	mem := bytes(region.Base(), region.Size())
	if err := m.space.Add(mem); err != nil {
		return core.NewError(core.ErrRMAAttach, "%w", err)
	}
	if m.f.opts.Dynamic != "segments" {
		return nil
	}
	one := new(p4.Space)
	err := one.Add(mem)
	if err == nil {
		var e p4.Entry
		if e, err = m.link(m.memory, nil, one, p4.EventCommDisable); err == nil {
			m.segments = append(m.segments, segment{region.Base(), e})
			return nil
		}
	}
	m.space.Remove(region.Base())
	return core.NewError(core.ErrRMAAttach, "the interface has no entry for it: %w; attach fewer pieces, or set osc_portals4_dynamic to space", err)
}

// Detach implements osc.Attacher.
func (m *module) Detach(base unsafe.Pointer) error {
	m.engine.Lock()
	defer m.engine.Unlock()
	if !m.space.Remove(base) {
		return core.NewError(core.ErrBase, "nothing that is attached begins at %p", base)
	}
	for i := range m.segments {
		if s := m.segments[i]; s.base == base {
			m.segments = append(m.segments[:i], m.segments[i+1:]...)
			if s.entry.Unlink() != nil { // something is under way to it, against the rules
				m.entries = append(m.entries, s.entry)
			}
			break
		}
	}
	return nil
}

var _ osc.Attacher = (*module)(nil)

package portals4

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/osc"
)

// Where a target's memory is mapped here, as that of allocated windows is on one host, small puts and gets need no interface: the origin completes them
// itself (osc.Mapper). Everything else goes by the interface, which changes elements coherently with the processor. Without the parameter
// osc_portals4_direct all operations do, as in the paper.

// direct is the module of a window whose memory is mapped by its other members.
type direct struct {
	*module
	mapped []*core.Region // held until the window is freed
}

// canMap reports, alike on all members, whether w's memory may be mapped by the others.
func (f *factory) canMap(w *osc.Win) bool {
	return f.opts.Direct && f.shm != nil && !f.shm.InProcess() && w.Flavor == osc.Allocate && w.OneHost && w.SameSize && w.SameUnit && w.Comm.Size() > 1
}

// publish tells others where the window's memory lies.
func (m *module) publish() {
	if mem := m.w.Memory; mem != nil && m.f.canMap(m.w) {
		m.cells[numberWord], m.cells[addressWord] = uint64(m.f.shm.MemoryAt(mem.Base(), m.w.Size)), uint64(uintptr(mem.Base()))
	}
}

// Mapped implements osc.Mapper.
func (d *direct) Mapped(rank int) unsafe.Pointer {
	m := d.module
	if rank == m.comm.MyRank {
		return m.w.Memory.Base()
	}
	k, t, err := m.ask(rank, numberWord)
	if err != nil {
		return nil
	}
	t.Mem = bytes(unsafe.Pointer(&k.word), 16)
	err = m.answer(k, m.all.full.Get(t))
	number, address := k.word[0], k.word[1]
	m.done(k)
	if err != nil || number == 0 || number>>32 != 0 {
		return nil // it lies elsewhere: the interface does it
	}
	p, err := m.f.shm.Attach(m.comm.Procs[rank].Rank)
	if err != nil {
		return nil
	}
	r, err := p.MapPart(m.f.shm, uint32(number), address, m.w.Size)
	if err != nil {
		return nil
	}
	d.mapped = append(d.mapped, r)
	return r.Base()
}

// Free implements osc.Module.
func (d *direct) Free() error {
	d.engine.Lock()
	for _, r := range d.mapped {
		_ = r.Unref() // a failing munmap leaves nothing to be done
	}
	d.mapped = nil
	d.engine.Unlock()
	return d.module.Free()
}

// Undo implements osc.Undoer.
func (d *direct) Undo() error { return d.Free() }

var (
	_ osc.Mapper = (*direct)(nil)
	_ osc.Undoer = (*direct)(nil)
)

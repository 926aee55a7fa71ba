package ob1

import (
	"slices"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
)

// withhold makes a scripted module keep every fragment until the test completes it, however long ago its frame was delivered. The
// module must have inline messages.
func (w *world) withhold(m btl.Module, e *progress.Engine) btl.Module {
	h := &holder{m, w, e}
	if r, ok := m.(btl.Registrar); ok {
		return &holdRegistrar{h, r}
	}
	return h
}

// complete tells the owner of the i-th fragment that is held.
func (w *world) complete(i int) {
	h := w.held[i]
	w.held = slices.Delete(w.held, i, i+1)
	h.m.e.Lock()
	defer h.m.e.Unlock()
	h.f.Owner.FragDone(h.f, nil)
}

type holder struct {
	btl.Module
	w *world
	e *progress.Engine
}

type heldFrag struct {
	m *holder
	f *btl.Frag
}

type holdRegistrar struct {
	*holder
	btl.Registrar
}

func (m *holder) AddProcs(procs []*core.Proc) ([]btl.Endpoint, []error) {
	eps, errs := m.Module.AddProcs(procs)
	for i, ep := range eps {
		h := holdEndpoint{m, ep, ep.(btl.InlineSender)}
		eps[i] = &h
		g, getter := ep.(btl.Getter)
		p, putter := ep.(btl.Putter)
		switch {
		case getter && putter:
			eps[i] = &struct {
				holdEndpoint
				btl.Getter
				btl.Putter
			}{h, g, p}
		case getter:
			eps[i] = &struct {
				holdEndpoint
				btl.Getter
			}{h, g}
		case putter:
			eps[i] = &struct {
				holdEndpoint
				btl.Putter
			}{h, p}
		}
	}
	return eps, errs
}

type holdEndpoint struct {
	m  *holder
	ep btl.Endpoint
	btl.InlineSender
}

func (e *holdEndpoint) Send(f *btl.Frag) (bool, error) {
	_, err := e.ep.Send(f)
	if err == nil {
		e.m.w.held = append(e.m.w.held, heldFrag{e.m, f})
	}
	return false, err
}

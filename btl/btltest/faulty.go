package btltest

import (
	"errors"
	"math/rand/v2"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// Faulty is a component that does everything a BTL may do to the floor above, more often: it says ErrAgain, and lets later
// messages overtake earlier fragments. What it wraps decides which optional interfaces it has. It loses nothing.
type Faulty struct {
	btl.Component
	Seed  uint64 // ranks add their number
	Again int    // per cent of sends and transfers that are refused with ErrAgain
	Hold  int    // per cent of fragments and transfers that are held back for some passes
}

// Open wraps the modules of the component inside.
func (c Faulty) Open(env *btl.Env) ([]btl.Module, error) {
	up := &renamed{Upcalls: env.Upcalls, outer: map[btl.Module]btl.Module{}}
	inner := *env
	inner.Upcalls = up
	modules, err := c.Component.Open(&inner)
	if err != nil {
		return nil, err
	}
	var out []btl.Module
	for i, m := range modules {
		f := &faulty{Module: m, env: env, cfg: c, rnd: rand.New(rand.NewPCG(c.Seed, uint64(env.Job.Rank()*16+i)))}
		var outer btl.Module = f
		if r, ok := m.(btl.Registrar); ok {
			outer = &faultyRegistrar{f, r}
		}
		up.outer[m] = outer
		env.Engine.Lock()
		env.Engine.AddPoller(f)
		env.Engine.Unlock()
		out = append(out, outer)
	}
	return out, nil
}

// renamed tells of failures of the outer module instead of the inner one.
type renamed struct {
	btl.Upcalls
	outer map[btl.Module]btl.Module
}

func (u *renamed) EndpointFailed(m btl.Module, proc *core.Proc, dead bool, cause error) {
	u.Upcalls.EndpointFailed(u.outer[m], proc, dead, cause)
}

type faulty struct {
	btl.Module
	env  *btl.Env
	cfg  Faulty
	rnd  *rand.Rand
	held []heldFrag
}

type faultyRegistrar struct {
	*faulty
	btl.Registrar
}

// heldFrag is a fragment, or a transfer, that was taken and waits for its time.
type heldFrag struct {
	t      *btl.Transfer
	move   func(*btl.Transfer) (bool, error)
	ep     btl.Endpoint
	f      *btl.Frag
	conv   datatype.Convertor // as it was when the fragment was taken
	passes int
}

const maxHeld = 8

func (m *faulty) chance(percent int) bool { return percent > 0 && m.rnd.IntN(100) < percent }

func (m *faulty) AddProcs(procs []*core.Proc) ([]btl.Endpoint, []error) {
	eps, errs := m.Module.AddProcs(procs)
	for i, ep := range eps {
		if ep == nil {
			continue
		}
		e := faultyEndpoint{m, ep}
		in, inline := ep.(btl.InlineSender)
		get, getter := ep.(btl.Getter)
		put, putter := ep.(btl.Putter)
		fi, fg, fp := faultyInline{e, in}, faultyGetter{m, get}, faultyPutter{m, put}
		switch {
		case inline && getter && putter:
			eps[i] = &struct {
				faultyInline
				faultyGetter
				faultyPutter
			}{fi, fg, fp}
		case inline && getter:
			eps[i] = &struct {
				faultyInline
				faultyGetter
			}{fi, fg}
		case inline && putter:
			eps[i] = &struct {
				faultyInline
				faultyPutter
			}{fi, fp}
		case inline:
			eps[i] = &fi
		case getter && putter:
			eps[i] = &struct {
				faultyEndpoint
				faultyGetter
				faultyPutter
			}{e, fg, fp}
		case getter:
			eps[i] = &struct {
				faultyEndpoint
				faultyGetter
			}{e, fg}
		case putter:
			eps[i] = &struct {
				faultyEndpoint
				faultyPutter
			}{e, fp}
		default:
			eps[i] = &e
		}
	}
	return eps, errs
}

type faultyEndpoint struct {
	m  *faulty
	ep btl.Endpoint
}

func (e *faultyEndpoint) Send(f *btl.Frag) (bool, error) {
	m := e.m
	if m.chance(m.cfg.Again) {
		return false, btl.ErrAgain
	}
	if len(m.held) < maxHeld && m.chance(m.cfg.Hold) {
		h := heldFrag{ep: e.ep, f: f, passes: 1 + m.rnd.IntN(8)}
		if f.Data == nil && f.Len > 0 {
			h.conv = *f.Conv
			f.Conv.SetPosition(f.Conv.Position() + int64(f.Len))
		}
		m.held = append(m.held, h)
		m.env.Engine.Busy(1) // nothing else would keep the engine awake
		return false, nil
	}
	return e.ep.Send(f)
}

type faultyInline struct {
	faultyEndpoint
	in btl.InlineSender
}

func (e *faultyInline) MaxInline() int { return e.in.MaxInline() }

func (e *faultyInline) SendInline(tag btl.Tag, h0, h1 uint64, data unsafe.Pointer, n int) bool {
	return !e.m.chance(e.m.cfg.Again) && e.in.SendInline(tag, h0, h1, data, n)
}

type faultyGetter struct {
	faults *faulty
	get    btl.Getter
}

func (e *faultyGetter) Get(t *btl.Transfer) (bool, error) { return e.faults.transfer(t, e.get.Get) }

type faultyPutter struct {
	faults *faulty
	put    btl.Putter
}

func (e *faultyPutter) Put(t *btl.Transfer) (bool, error) { return e.faults.transfer(t, e.put.Put) }

// transfer starts a Get or Put, now or later.
func (m *faulty) transfer(t *btl.Transfer, move func(*btl.Transfer) (bool, error)) (bool, error) {
	if m.chance(m.cfg.Again) {
		return false, btl.ErrAgain
	}
	if len(m.held) < maxHeld && m.chance(m.cfg.Hold) {
		m.held = append(m.held, heldFrag{t: t, move: move, passes: 1 + m.rnd.IntN(8)})
		m.env.Engine.Busy(1)
		return false, nil
	}
	return move(t)
}

// Poll lets go of fragments that have been held long enough.
func (m *faulty) Poll() int {
	n := 0
	work := m.held
	m.held = nil
	for _, h := range work {
		if h.passes--; h.passes > 0 || !m.release(&h) {
			m.held = append(m.held, h)
			continue
		}
		n++
		m.env.Engine.Busy(-1)
	}
	return n
}

func (m *faulty) release(h *heldFrag) bool {
	if h.t != nil {
		done, err := h.move(h.t)
		if errors.Is(err, btl.ErrAgain) {
			return false
		}
		if done || err != nil {
			h.t.Owner.TransferDone(h.t, err)
		}
		return true
	}
	theirs := h.f.Conv
	if h.f.Data == nil && h.f.Len > 0 {
		h.f.Conv = &h.conv
	}
	done, err := h.ep.Send(h.f)
	h.f.Conv = theirs
	if errors.Is(err, btl.ErrAgain) {
		return false
	}
	if done || err != nil {
		h.f.Owner.FragDone(h.f, err)
	}
	return true
}

func (m *faulty) Flush() bool { return len(m.held) == 0 && m.Module.Flush() }

func (m *faulty) Close() error {
	m.env.Engine.RemovePoller(m)
	work := m.held
	m.held = nil
	for _, h := range work {
		m.env.Engine.Busy(-1)
		if err := errors.New("btltest: closed"); h.t != nil {
			h.t.Owner.TransferDone(h.t, err)
		} else {
			h.f.Owner.FragDone(h.f, err)
		}
	}
	return m.Module.Close()
}

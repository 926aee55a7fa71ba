package sm

import (
	"errors"
	"slices"
	"sort"
	"sync"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/osc"
)

// attached is what one goroutine rank has attached to a window. The others look into it, and hold mu while they touch what they have found, so that nobody does any more when
// Detach returns.
type attached struct {
	mu     sync.RWMutex
	pieces []*core.Region // by address
}

// find gives the memory of n bytes at an address, nil where they are not attached in one piece. mu is held.
func (a *attached) find(address, n int64) unsafe.Pointer {
	i := a.after(address)
	if i == 0 {
		return nil
	}
	r := a.pieces[i-1]
	if off := address - addressOf(r); off < r.Size() && n <= r.Size()-off {
		return unsafe.Add(r.Base(), off)
	}
	return nil
}

// after gives the first piece that begins behind an address.
func (a *attached) after(address int64) int {
	return sort.Search(len(a.pieces), func(i int) bool { return addressOf(a.pieces[i]) > address })
}

func addressOf(r *core.Region) int64 { return int64(uintptr(r.Base())) }

// Attach implements osc.Attacher.
func (m *module) Attach(r *core.Region) error {
	a := m.mine
	if a == nil {
		return core.NewError(core.ErrRMAFlavor, "memory is attached to dynamic windows")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	at := addressOf(r)
	i := a.after(at)
	if i > 0 && at < addressOf(a.pieces[i-1])+a.pieces[i-1].Size() || i < len(a.pieces) && addressOf(a.pieces[i]) < at+r.Size() {
		return core.NewError(core.ErrRMAAttach, "%d bytes at %#x overlap with memory that is attached already", r.Size(), uint64(at))
	}
	r.Ref()
	a.pieces = slices.Insert(a.pieces, i, r)
	return nil
}

// Detach implements osc.Attacher.
func (m *module) Detach(base unsafe.Pointer) error {
	if m.mine == nil {
		return core.NewError(core.ErrRMAFlavor, "memory is detached from dynamic windows")
	}
	m.mine.mu.Lock()
	defer m.mine.mu.Unlock()
	for i, r := range m.mine.pieces {
		if r.Base() == base {
			m.mine.pieces = slices.Delete(m.mine.pieces, i, i+1)
			return r.Unref()
		}
	}
	return core.NewError(core.ErrBase, "nothing that is attached begins at %#x", uintptr(base))
}

// clear detaches everything.
func (a *attached) clear() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for _, r := range a.pieces {
		errs = append(errs, r.Unref())
	}
	a.pieces = nil
	return errors.Join(errs...)
}

// issueDynamic does an operation on attached memory, or nothing of it.
func (m *module) issueDynamic(op *osc.Op) error {
	a := m.dynamic[op.Rank]
	a.mu.RLock()
	defer a.mu.RUnlock()
	mem := a.find(op.Off+op.Low, op.High-op.Low)
	if mem == nil {
		return m.scattered(a, op)
	}
	return m.carryOut(op, before(mem, op.Low))
}

// place is where the target's first element begins: at an address, or, what is attached there, in a's pieces.
type place struct {
	mem     unsafe.Pointer
	a       *attached
	address int64
}

// at is the memory of a run of n bytes that begins off bytes further on.
func (p place) at(off, n int64) unsafe.Pointer {
	if p.a != nil {
		return p.a.find(p.address+off, n)
	}
	return unsafe.Add(p.mem, off)
}

// before is n bytes before p, which need not be the memory that p is in: elements of a type may begin anywhere.
//
//go:nocheckptr
func before(p unsafe.Pointer, n int64) unsafe.Pointer { return unsafe.Add(p, -n) }

// scattered is issueDynamic of an operation whose runs lie in several pieces.
func (m *module) scattered(a *attached, op *osc.Op) error {
	var runs datatype.Runs
	runs.Init(op.Type, op.Count)
	for {
		off, n := runs.Next(1 << 62)
		if n == 0 {
			break
		}
		if a.find(op.Off+off, n) == nil {
			err := core.NewError(core.ErrRMARange, "%d bytes at address %#x are not attached there", n, uint64(op.Off+off))
			err.Peer = op.Rank
			return err
		}
	}
	return m.eachRun(op, place{a: a, address: op.Off})
}

// eachRun does an operation all of whose runs are attached, one by one.
func (m *module) eachRun(op *osc.Op, p place) error {
	if op.Kind != osc.Put && op.Kind != osc.Get {
		c, err := m.codeOf(op)
		switch {
		case err != nil:
			return err
		case c.Pair(): // elements of one place, so that a run is no less than one
			return core.NewError(core.ErrRMARange, "pairs at address %#x are not attached in one piece", uint64(op.Off))
		case op.Kind == osc.Accumulate:
			m.apply(c, op, p, m.locks(op.Rank))
		default:
			m.fetch(c, op, p, m.locks(op.Rank))
		}
		return nil
	}
	m.pieces.Init(op.Origin, 0, op.Count, op.Type)
	for {
		mem, off, n := m.pieces.Next(1 << 62)
		if n == 0 {
			break
		}
		dst, src := unsafe.Slice((*byte)(p.at(off, n)), n), unsafe.Slice((*byte)(mem), n)
		if op.Kind == osc.Get {
			dst, src = src, dst
		}
		copy(dst, src)
	}
	m.pieces = osc.Pieces{}
	return nil
}

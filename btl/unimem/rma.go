package unimem

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/unimem"
)

// Native RMA. What peers read and write must be dmable: other memory cannot be registered, and its messages are copied. On the side that
// transfers, memory that is not dmable goes through a bounce buffer, piece by piece.

// Register implements btl.Registrar. The handle is the engine's key.
func (m *module) Register(mem unsafe.Pointer, n int64) (btl.MemHandle, error) {
	off, ok := m.dev.Dmable(mem, n)
	if !ok || !m.opt.RMA {
		return btl.MemHandle{}, errNotDmable
	}
	k, err := m.dev.Export(off, n)
	if err != nil {
		return btl.MemHandle{}, fmt.Errorf("%w: %w", btl.ErrNotSupported, err)
	}
	return btl.MemHandle{A: uint64(k), B: uint64(n)}, nil
}

var errNotDmable = fmt.Errorf("%w: the memory is not dmable; AllocMem gives such", btl.ErrNotSupported)

// Deregister implements btl.Registrar.
func (m *module) Deregister(h btl.MemHandle) { m.dev.Unexport(unimem.Key(h.A)) }

// Get implements btl.Getter.
func (l rmaLink) Get(t *btl.Transfer) (bool, error) { return l.transfer(t, false) }

// Put implements btl.Putter.
func (l rmaLink) Put(t *btl.Transfer) (bool, error) { return l.transfer(t, true) }

// Get implements btl.Getter.
func (l fullLink) Get(t *btl.Transfer) (bool, error) { return l.transfer(t, false) }

// Put implements btl.Putter.
func (l fullLink) Put(t *btl.Transfer) (bool, error) { return l.transfer(t, true) }

// op is a transfer that is under way.
type op struct {
	l      *link
	t      *btl.Transfer // nil: the op is free
	x      unimem.Transfer
	way    way
	slot   *slot // bounce buffer, nil: the local memory is dmable
	remote int64 // offset in the peer's memory
	pos    int64 // bytes that are over
	next   *op   // free ones
}

func (m *module) newOp() *op {
	o := m.idle
	if o == nil {
		o = new(op)
		o.x.Owner = o
		m.ops = append(m.ops, o)
	} else {
		m.idle = o.next
	}
	return o
}

func (l *link) transfer(t *btl.Transfer, write bool) (bool, error) {
	if l.dead != nil {
		return false, l.dead
	}
	m := l.m
	off, err := l.peer.Exported(unimem.Key(t.Remote.A), t.Off, t.N)
	if err != nil {
		return false, fmt.Errorf("btl unimem: rank %d: %w", l.proc.Rank, err)
	}
	if t.N == 0 {
		return true, nil
	}
	_, direct := m.dev.Dmable(t.Local, t.N)
	if !direct && len(l.free) == 0 {
		return false, btl.ErrAgain
	}
	w, err := l.routes.acquire(off, t.N)
	if err != nil {
		return false, fmt.Errorf("%w: %w", btl.ErrNotSupported, err)
	}
	o := m.newOp()
	o.l, o.t, o.way, o.remote, o.pos, o.slot = l, t, w, off, 0, nil
	o.x.Route, o.x.Write = w.route, write
	if !direct {
		o.slot = l.take()
		o.slot.state = slotBounce
	}
	over, err := o.run()
	if over || err != nil {
		o.end()
		return over, err
	}
	return false, nil
}

// run starts pieces until one takes its time; over: that was all.
func (o *op) run() (over bool, err error) {
	dev := o.l.m.dev
	for o.pos < o.t.N {
		o.begin()
		done := true
		if o.t.Owner != nil {
			done, err = dev.Submit(&o.x)
		} else { // nobody could be told later
			err = dev.Do(&o.x)
		}
		if err != nil || !done {
			return false, err
		}
		o.piece()
	}
	return true, nil
}

// begin sets up the next piece.
func (o *op) begin() {
	x, t := &o.x, o.t
	x.Remote, x.Local, x.N = o.remote+o.pos, unsafe.Add(t.Local, o.pos), t.N-o.pos
	if o.slot == nil {
		return
	}
	x.Local, x.N = o.slot.mem, min(x.N, o.l.m.opt.slotBytes())
	if x.Write {
		copy(unsafe.Slice((*byte)(x.Local), x.N), unsafe.Slice((*byte)(unsafe.Add(t.Local, o.pos)), x.N))
	}
}

// piece: the engine is done with a piece.
func (o *op) piece() {
	if x := &o.x; o.slot != nil && !x.Write {
		copy(unsafe.Slice((*byte)(unsafe.Add(o.t.Local, o.pos)), x.N), unsafe.Slice((*byte)(x.Local), x.N))
	}
	o.pos += o.x.N
}

// Transferred implements unimem.Completer.
func (o *op) Transferred(*unimem.Transfer) {
	o.piece()
	over, err := o.run()
	if !over && err == nil {
		return
	}
	t := o.t
	o.end()
	t.Owner.TransferDone(t, err)
}

// end gives back what the transfer needed.
func (o *op) end() {
	l := o.l
	if o.slot != nil {
		l.put(o.slot)
	}
	l.routes.release(&o.way)
	o.t, o.l, o.slot, o.x.Local = nil, nil, nil, nil
	o.next = l.m.idle
	l.m.idle = o
}

// abandonOps ends the transfers with a peer, of which the engine does not know any more.
func (m *module) abandonOps(l *link, cause error) {
	for _, o := range m.ops {
		if o.t == nil || o.l != l {
			continue
		}
		t := o.t
		o.end()
		t.Owner.TransferDone(t, cause)
	}
}

// release gives memory of Alloc back. A piece that is not there was given back before.
func (m *module) release(off int64) func(unsafe.Pointer, int64) error {
	return func(unsafe.Pointer, int64) error {
		if !m.dev.Free(off) {
			return errors.New("btl unimem: memory is given back twice")
		}
		return nil
	}
}

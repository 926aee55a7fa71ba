package portals4

import (
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/portals4"
)

// Registered memory is a match list entry, found by its key alone. Its flags let peers get and put whatever lies in it as a whole
// (PTL_ME_NO_TRUNCATE): what does not is no match, and fails at the other end. A handle is the key and the length.

// registrations are the registered memories of a module. The lower bits of a key tell where the entry is, the others are random.
type registrations struct {
	keys  *mathrand.ChaCha8
	all   []registration
	free  []uint32
	dying []portals4.Entry // in use when they were to be unlinked
}

type registration struct {
	key   uint64 // 0: free
	entry portals4.Entry
}

const slotBits = 24

func (r *registrations) init() {
	var seed [32]byte
	_, _ = rand.Read(seed[:]) // it ends the program rather than fail
	r.keys = mathrand.NewChaCha8(seed)
}

// Register implements btl.Registrar. The entry keeps the memory alive.
func (m *module) Register(mem unsafe.Pointer, n int64) (btl.MemHandle, error) {
	if n < 0 || m.closed {
		return btl.MemHandle{}, fmt.Errorf("btl portals4: cannot register %d bytes (closed is %v)", n, m.closed)
	}
	r := &m.memory
	var at uint32
	k := len(r.free) - 1
	switch {
	case k >= 0:
		at, r.free = r.free[k], r.free[:k]
	case len(r.all) == 1<<slotBits:
		return btl.MemHandle{}, fmt.Errorf("%w: %d registrations are too many", btl.ErrNotSupported, len(r.all))
	default:
		at = uint32(len(r.all))
		r.all = append(r.all, registration{})
	}
	key := r.keys.Uint64()>>slotBits<<slotBits | 1<<63 | uint64(at)
	e, err := m.rdma.MEAppend(&portals4.ME{Start: bytesAt(mem, n), UID: m.uid, MatchID: portals4.AnyProcess, MatchBits: key,
		Options: portals4.OpPut | portals4.OpGet | portals4.MENoTruncate | portals4.EventLinkDisable | portals4.EventCommDisable | portals4.EventUnlinkDisable},
		portals4.PriorityList, nil)
	if err != nil {
		r.free = append(r.free, at)
		if errors.Is(err, portals4.ErrNoSpace) {
			err = fmt.Errorf("%w: %w", btl.ErrNotSupported, err)
		}
		return btl.MemHandle{}, err
	}
	r.all[at] = registration{key, e}
	return btl.MemHandle{A: key, B: uint64(n)}, nil
}

// Deregister implements btl.Registrar. Operations that are under way in the memory are carried out, and keep it alive; a handle that is not
// valid any more is ignored.
func (m *module) Deregister(h btl.MemHandle) {
	r := &m.memory
	at := h.A & (1<<slotBits - 1)
	if at >= uint64(len(r.all)) || h.A == 0 || r.all[at].key != h.A {
		return
	}
	e := r.all[at].entry
	r.all[at] = registration{}
	r.free = append(r.free, uint32(at))
	if err := e.Unlink(); errors.Is(err, portals4.ErrInUse) {
		r.dying = append(r.dying, e)
		m.later()
	}
}

// again unlinks what was in use.
func (r *registrations) again() {
	keep := r.dying[:0]
	for _, e := range r.dying {
		if err := e.Unlink(); errors.Is(err, portals4.ErrInUse) {
			keep = append(keep, e)
		}
	}
	clear(r.dying[len(keep):])
	r.dying = keep
}

// close unlinks all that can be; what is in use goes with the interface.
func (r *registrations) close() {
	r.again()
	for i := range r.all {
		if r.all[i].key != 0 {
			_ = r.all[i].entry.Unlink()
		}
	}
	r.all, r.free, r.dying = nil, nil, nil
}

// opKind is what an op does.
type opKind uint8

const (
	opGet opKind = iota
	opPut
	opFetch
	opSwap
)

// op is a transfer that is under way.
type op struct {
	m    *module
	l    *link
	t    *btl.Transfer // nil: it was given back
	kind opKind
	what portals4.AtomicOp
	typ  portals4.Type
	word [2][8]byte // operand, and what is compared
	pos  int64      // bytes that are over
	n    int64      // of the piece that is under way
	next *op
}

// freeOps are the ops of a module.
type freeOps struct {
	all   []op
	free  *op
	used  int
	stuck []*op // of which the interface took no piece
}

func (q *freeOps) init(n int) {
	q.all = make([]op, n)
	for i := range q.all {
		q.all[i].next, q.free = q.free, &q.all[i]
	}
}

func (q *freeOps) put(o *op) {
	o.l, o.t, o.next = nil, nil, q.free
	q.free = o
	q.used--
}

// giveBack ends the transfers with a peer, or all. The ops stay in use until their events come, but those of which none will.
func (q *freeOps) giveBack(l *link, err error) {
	for i := range q.all {
		if o := &q.all[i]; o.t != nil && (l == nil || o.l == l) {
			t := o.t
			o.t = nil
			t.Owner.TransferDone(t, err)
		}
	}
}

// reclaim frees the ops of a peer of which no event comes any more.
func (q *freeOps) reclaim(l *link) {
	for i := range q.all {
		if o := &q.all[i]; o.l == l && !slices.Contains(q.stuck, o) {
			q.put(o)
		}
	}
}

// again offers what the interface did not take.
func (q *freeOps) again(m *module) {
	stuck := q.stuck
	q.stuck = nil
	for _, o := range stuck {
		m.engine.Busy(-1)
		o.proceed()
	}
}

// Get implements btl.Getter.
func (l *link) Get(t *btl.Transfer) (bool, error) { return l.transfer(t, opGet) }

// Put implements btl.Putter.
func (l *link) Put(t *btl.Transfer) (bool, error) { return l.transfer(t, opPut) }

func (l *link) transfer(t *btl.Transfer, kind opKind) (bool, error) {
	o, err := l.begin(t, kind)
	if o == nil {
		return err == nil, err
	}
	return false, o.start()
}

// begin checks a transfer and takes an op for it. Without one and without an error it is over.
func (l *link) begin(t *btl.Transfer, kind opKind) (*op, error) {
	m := l.m
	if l.dead != nil {
		return nil, l.dead
	}
	if n := int64(min(t.Remote.B, 1<<62)); t.Off < 0 || t.N < 0 || t.Off > n || t.N > n-t.Off {
		return nil, fmt.Errorf("btl portals4: bytes [%d,+%d) lie outside of the %d that rank %d has registered", t.Off, t.N, n, l.proc.Rank)
	}
	if t.N == 0 {
		return nil, nil
	}
	q := &m.pending
	o := q.free
	if o == nil {
		return nil, btl.ErrAgain
	}
	q.free, o.next = o.next, nil
	q.used++
	o.m, o.l, o.t, o.kind, o.pos, o.n = m, l, t, kind, 0, 0
	return o, nil
}

// start begins the first piece. After an error nothing was taken.
func (o *op) start() error {
	err := o.issue()
	if err == nil {
		return nil
	}
	l := o.l
	o.m.pending.put(o)
	if errors.Is(err, portals4.ErrNoSpace) {
		return btl.ErrAgain
	}
	return fmt.Errorf("btl portals4: rank %d: %w", l.proc.Rank, err)
}

// issue begins a piece.
func (o *op) issue() error {
	m, t := o.m, o.t
	o.n = min(t.N-o.pos, m.opt.MaxMsg)
	local := bytesAt(unsafe.Add(t.Local, o.pos), o.n)
	x := &m.x
	x.Mem, x.Length, x.Ack, x.Target, x.PT = local, uint64(o.n), portals4.NoAck, o.l.target, m.rdmaIndex
	x.MatchBits, x.HdrData, x.RemoteOffset, x.UserPtr = t.Remote.A, 0, uint64(t.Off+o.pos), o
	var err error
	switch o.kind {
	case opGet:
		err = m.ops.Get(x)
	case opPut:
		x.Ack = portals4.Ack
		err = m.ops.Put(x)
	default:
		x.Mem = o.word[0][:t.N]
		m.into.MD, m.into.Mem = m.ops, local
		if o.kind == opFetch {
			err = m.ops.FetchAtomic(x, &m.into, o.what, o.typ)
		} else {
			err = m.ops.Swap(x, &m.into, o.word[1][:t.N], o.what, o.typ)
		}
		m.into.Mem = nil
	}
	x.Mem, x.UserPtr = nil, nil
	return err
}

// over: the event that ends a piece.
func (o *op) over(ev *portals4.Event) {
	m := o.m
	t := o.t
	if t == nil { // it was given back
		m.pending.put(o)
		return
	}
	if ev.NIFail != portals4.OK || ev.MLength != uint64(o.n) {
		l := o.l
		m.pending.put(o)
		t.Owner.TransferDone(t, fmt.Errorf("btl portals4: memory %#x of rank %d at %d: %v, %d of %d bytes moved; it may not be registered any more",
			t.Remote.A, l.proc.Rank, t.Off, ev.NIFail, ev.MLength, t.N))
		return
	}
	if o.pos += o.n; o.pos == t.N {
		m.pending.put(o)
		t.Owner.TransferDone(t, nil)
		return
	}
	o.proceed()
}

// proceed begins the next piece, or ends the transfer when that cannot be.
func (o *op) proceed() {
	t := o.t
	if t == nil {
		o.m.pending.put(o)
		return
	}
	switch err := o.issue(); {
	case err == nil:
	case errors.Is(err, portals4.ErrNoSpace):
		o.m.pending.stuck = append(o.m.pending.stuck, o)
		o.m.engine.Busy(1)
		o.m.later()
	default:
		l := o.l
		o.m.pending.put(o)
		t.Owner.TransferDone(t, fmt.Errorf("btl portals4: rank %d: %w", l.proc.Rank, err))
	}
}

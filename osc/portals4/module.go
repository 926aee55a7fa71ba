package portals4

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/elem"
	p4 "github.com/ompi-go/ompi-go/portals4"
	"github.com/ompi-go/ompi-go/progress"
)

// place is what names an entry at any member.
type place struct {
	pt   uint32
	bits uint64
}

// module serves one window. But for what never changes its fields belong to the token.
type module struct {
	locking
	f      *factory
	w      *osc.Win
	comm   *core.Comm
	engine *progress.Engine

	memory, control place
	entries         []p4.Entry
	pts             []*p4.PT // the window's own, on a non-matching interface
	cells           []uint64 // the words of control
	space           *p4.Space
	segments        []segment
	kept            *core.Region // the memory of a window that was freed with operations under way to it
	locks           elem.Locks   // of who combines pairs here

	all         counter
	few         []counter
	eq          *p4.EQ // failures, and ends of calls
	ev          p4.Event
	transfer    p4.Transfer
	into        p4.Into
	failed      []failure
	calls       []*call // all there are
	idle        *call   // those that are free
	chosen      way     // that of the last accumulate
	atomic      int64   // largest piece of an accumulate
	extents     [extentsKept]extent
	active      active
	idleFlushes uint32
}

var _ interface {
	osc.Module
	osc.Extenter
} = (*module)(nil)

// issue is an operation of the window on its way out: where its pieces go and how their ends are told.
type issue struct {
	m    *module
	c    *counter
	k    *call // of a request-based operation, else nil
	md   *p4.MDHandle
	user any
	self bool
}

// begin prepares an operation to a member.
func (m *module) begin(is *issue, rank int, r *core.Request) {
	p := m.comm.Procs[rank]
	is.m, is.self, is.k = m, rank == m.comm.MyRank, nil
	is.c, is.user = m.counterOf(p)
	is.c.users++
	is.md = is.c.md
	if r != nil && !is.self {
		is.k = m.newCall(is.c, p)
		is.k.req, is.k.open = r, true
		is.md, is.user = is.c.full, is.k
	}
	m.aim(p)
}

// aim sets what all transfers to the window's memory at p have.
func (m *module) aim(p *core.Proc) {
	t := &m.transfer
	t.Target, t.PT, t.MatchBits, t.Ack, t.HdrData = m.f.ni.ProcessOf(p.Rank), m.memory.pt, m.memory.bits, p4.Ack, 0
}

// next prepares the transfer of a piece: others may have used it while this one waited.
func (is *issue) next(mem []byte, off int64) (*p4.Transfer, error) {
	m := is.m
	if is.c.issued-is.c.ended >= uint64(m.f.opts.MaxPending) {
		to := m.transfer.Target
		if err := m.room(is.c); err != nil {
			return nil, err
		}
		m.transfer.Target, m.transfer.PT, m.transfer.MatchBits, m.transfer.Ack, m.transfer.HdrData = to, m.memory.pt, m.memory.bits, p4.Ack, 0
	}
	t := &m.transfer
	t.Mem, t.RemoteOffset, t.UserPtr = mem, uint64(off), is.user
	is.c.issued++
	if is.k != nil {
		is.k.left++
	}
	return t, nil
}

// back is next undone: the interface has refused the transfer.
func (is *issue) back(err error) error {
	if err != nil {
		is.c.issued--
		if is.k != nil {
			is.k.left--
		}
		err = core.NewError(core.ErrIntern, "the interface refuses an operation of the window: %w", err)
	}
	return err
}

// over ends the beginning of an operation.
func (m *module) over(is *issue, rank int, err error) (done bool, _ error) {
	is.c.users--
	if is.k != nil {
		is.k.open = false
		if err != nil {
			is.k.req, is.k.lost = nil, true // Win ends it
		}
		is.k.check()
		return false, err
	}
	if !is.self || err != nil {
		return false, err
	}
	m.take()
	if len(m.failed) > 0 {
		return true, m.report(rank)
	}
	return true, nil
}

// Issue implements osc.Module.
func (m *module) Issue(op *osc.Op) (done bool, err error) {
	if op.Low == op.High {
		return true, nil
	}
	if op.Acc != nil && op.Kind >= osc.Accumulate && op.Kind <= osc.GetAccumulate {
		w, err := m.wayOf(op.Acc, op.Type)
		if err != nil {
			return false, err
		}
		if w.how == underLock {
			return m.emulate(op, w.code)
		}
	}
	var is issue
	m.begin(&is, op.Rank, op.Request)
	switch op.Kind {
	case osc.Put:
		err = is.putAll(op, m.f.maxMsg)
	case osc.Get:
		err = is.getAll(op, m.f.maxMsg)
	case osc.Accumulate:
		err = is.accumulate(op)
	case osc.GetAccumulate:
		err = is.fetch(op)
	default:
		err = is.compareSwap(op)
	}
	return m.over(&is, op.Rank, err)
}

// bytes is memory as the interface takes it.
func bytes(p unsafe.Pointer, n int64) []byte { return unsafe.Slice((*byte)(p), n) }

// straight tells an operation that is one run of bytes on both sides.
func straight(op *osc.Op, b *core.Buffer) bool {
	return b.Bytes() == op.High-op.Low && op.Type.Contiguous() && b.Type().Contiguous()
}

// putAll puts in pieces of at most most bytes.
func (is *issue) putAll(op *osc.Op, most int64) error {
	if straight(op, &op.Origin) {
		return is.putRun(op.Origin.Addr(), op.Off+op.Low, op.High-op.Low, most)
	}
	var p osc.Pieces
	p.Init(op.Origin, op.Off, op.Count, op.Type)
	for {
		mem, off, n := p.Next(most)
		if n == 0 {
			return nil
		}
		if err := is.putRun(mem, off, n, most); err != nil {
			return err
		}
	}
}

func (is *issue) putRun(mem unsafe.Pointer, off, n, most int64) error {
	for n > 0 {
		now := min(n, most)
		t, err := is.next(bytes(mem, now), off)
		if err != nil {
			return err
		}
		if err = is.md.Put(t); err != nil {
			return is.back(err)
		}
		if n -= now; n > 0 {
			mem, off = unsafe.Add(mem, now), off+now
		}
	}
	return nil
}

// getAll gets into the result, or of a Get into the origin.
func (is *issue) getAll(op *osc.Op, most int64) error {
	into := &op.Origin
	if op.Kind != osc.Get {
		into = &op.Result
	}
	if straight(op, into) {
		return is.getRun(into.Addr(), op.Off+op.Low, op.High-op.Low, most)
	}
	var p osc.Pieces
	p.Init(*into, op.Off, op.Count, op.Type)
	for {
		mem, off, n := p.Next(most)
		if n == 0 {
			return nil
		}
		if err := is.getRun(mem, off, n, most); err != nil {
			return err
		}
	}
}

func (is *issue) getRun(mem unsafe.Pointer, off, n, most int64) error {
	for n > 0 {
		now := min(n, most)
		t, err := is.next(bytes(mem, now), off)
		if err != nil {
			return err
		}
		if err = is.md.Get(t); err != nil {
			return is.back(err)
		}
		if n -= now; n > 0 {
			mem, off = unsafe.Add(mem, now), off+now
		}
	}
	return nil
}

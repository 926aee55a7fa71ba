package sm

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/elem"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/shm"
)

// module is a window at one member.
type module struct {
	f      *factory
	w      *osc.Win
	comm   *core.Comm
	engine *progress.Engine
	rank   int
	size   int

	peers  []*shm.Peer // by rank
	others []*shm.Peer // all but this one
	made   *shm.Memory // at rank 0
	whole  *core.Region
	mem    unsafe.Pointer // its beginning
	parts  []part

	registered bool // slot and gen name memory of this member
	slot, gen  uint32
	mine       *attached   // of a dynamic window
	dynamic    []*attached // of all members

	control
	fences uint64 // that this member has come to
	unseen uint32 // of those, how many in a row the engine was not polled in
	syncs  uint32

	// The operation of the last accumulate.
	acc  *core.Op
	typ  *datatype.Type
	code elem.Code

	from, to datatype.Convertor
	pieces   osc.Pieces
	scratch  [512]uint64
}

// Mapped implements osc.Mapper.
func (m *module) Mapped(rank int) unsafe.Pointer { return m.parts[rank].base }

// Extent implements osc.Extenter.
func (m *module) Extent(rank int) (size, unit int64, err error) {
	return m.parts[rank].size, m.parts[rank].unit, nil
}

// SharedQuery implements osc.Sharer.
func (m *module) SharedQuery(rank int) (unsafe.Pointer, int64, error) {
	return m.parts[rank].base, m.parts[rank].size, nil
}

// Flush implements osc.Module: all is done, and an atomic instruction since, the token's.
func (m *module) Flush(int) error { return m.fatal() }

// FlushLocal implements osc.Module.
func (m *module) FlushLocal(int) error { return m.fatal() }

// fatal is the error when nothing can succeed any more.
func (m *module) fatal() error {
	if f := m.comm.Fault(); f != nil && f.Fatal {
		return f.Err
	}
	return nil
}

func (m *module) locks(rank int) *elem.Locks {
	return (*elem.Locks)(unsafe.Add(m.mem, membersAt+int64(rank)*memberBytes(m.size)+locksAt(m.size)))
}

// Issue implements osc.Module.
func (m *module) Issue(op *osc.Op) (done bool, err error) {
	if m.dynamic != nil {
		return true, m.issueDynamic(op)
	}
	return true, m.carryOut(op, op.Local)
}

// Accumulate implements osc.Atomic.
func (m *module) Accumulate(mem, operand, old unsafe.Pointer, n int64, t *datatype.Type, acc *core.Op) bool {
	c, ok := elem.Of(acc, t)
	if !ok || !c.Instructions(mem) {
		return false
	}
	c.Fetch(mem, operand, old, n, nil)
	return true
}

// CompareSwap implements osc.Atomic.
func (m *module) CompareSwap(mem, compare, value, old unsafe.Pointer, t *datatype.Type) bool {
	c, ok := elem.Swap(t)
	if !ok || !c.Instructions(mem) {
		return false
	}
	c.CompareSwap(mem, compare, value, old, nil)
	return true
}

// carryOut does op on memory at mem, where the target's first element begins.
func (m *module) carryOut(op *osc.Op, mem unsafe.Pointer) error {
	switch op.Kind {
	case osc.Put:
		m.move(mem, op.Count, op.Type, op.Origin.Addr(), op.Origin.Count(), op.Origin.Type())
		return nil
	case osc.Get:
		m.move(op.Origin.Addr(), op.Origin.Count(), op.Origin.Type(), mem, op.Count, op.Type)
		return nil
	case osc.CompareAndSwap:
		c, ok := elem.Swap(op.Type)
		if !ok {
			return core.NewError(core.ErrType, "compare-and-swap needs a predefined type")
		}
		c.CompareSwap(mem, op.Compare.Addr(), op.Origin.Addr(), op.Result.Addr(), m.locks(op.Rank))
		return nil
	}
	c, err := m.codeOf(op)
	if err != nil {
		return err
	}
	l := m.locks(op.Rank)
	plain := c.Pair() || op.Type.Contiguous() && contiguous(op.Origin)
	n := op.Count
	if !c.Pair() {
		n = n * op.Type.Size() / c.Size()
	}
	switch {
	case op.Kind == osc.Accumulate && plain:
		c.Apply(mem, op.Origin.Addr(), n, l)
	case op.Kind == osc.Accumulate:
		m.apply(c, op, place{mem: mem}, l)
	case plain && (c.Pair() || contiguous(op.Result)):
		c.Fetch(mem, op.Origin.Addr(), op.Result.Addr(), n, l)
	default:
		m.fetch(c, op, place{mem: mem}, l)
	}
	return nil
}

// codeOf gives the operation of an accumulate; mostly it is that of the last one.
func (m *module) codeOf(op *osc.Op) (elem.Code, error) {
	if op.Acc != m.acc || op.Type != m.typ {
		c, ok := elem.Of(op.Acc, op.Type)
		if !ok {
			return 0, core.NewError(core.ErrOp, "the operation is not defined on the target's elements")
		}
		m.acc, m.typ, m.code = op.Acc, op.Type, c
	}
	return m.code, nil
}

// contiguous tells memory without gaps, and the lack of any.
func contiguous(b core.Buffer) bool { return b.Type() == nil || b.Type().Contiguous() }

// move copies between two layouts of the same bytes.
func (m *module) move(dst unsafe.Pointer, dstCount int64, dstType *datatype.Type, src unsafe.Pointer, srcCount int64, srcType *datatype.Type) {
	if dstType.Contiguous() && srcType.Contiguous() {
		n := dstCount * dstType.Size()
		if n == 8 { // a number is moved whole
			*(*[8]byte)(dst) = *(*[8]byte)(src)
			return
		}
		copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
		return
	}
	m.to.Prepare(dstType, dstCount, dst)
	m.from.Prepare(srcType, srcCount, src)
	datatype.Copy(&m.to, &m.from)
	m.to, m.from = datatype.Convertor{}, datatype.Convertor{} // no hold on the program's memory
}

// apply is Apply of layouts with gaps.
func (m *module) apply(c elem.Code, op *osc.Op, p place, l *elem.Locks) {
	if c.IsNoOp() {
		return
	}
	m.pieces.Init(op.Origin, 0, op.Count, op.Type)
	for {
		from, off, n := m.pieces.Next(1 << 30)
		if n == 0 {
			break
		}
		c.Apply(p.at(off, n), from, n/c.Size(), l)
	}
	m.pieces = osc.Pieces{}
}

// fetch is Fetch of layouts with gaps. The operands are packed first, a piece at a time.
func (m *module) fetch(c elem.Code, op *osc.Op, p place, l *elem.Locks) {
	buf := unsafe.Pointer(&m.scratch)
	operand := buf
	if c.IsNoOp() {
		operand = nil
	} else {
		m.from.Prepare(op.Origin.Type(), op.Origin.Count(), op.Origin.Addr())
	}
	m.pieces.Init(op.Result, 0, op.Count, op.Type)
	for {
		to, off, n := m.pieces.Next(int64(unsafe.Sizeof(m.scratch)))
		if n == 0 {
			break
		}
		if operand != nil {
			m.from.Pack(unsafe.Slice((*byte)(buf), n))
		}
		c.Fetch(p.at(off, n), operand, to, n/c.Size(), l)
	}
	m.from, m.pieces = datatype.Convertor{}, osc.Pieces{}
}

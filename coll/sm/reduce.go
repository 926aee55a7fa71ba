package sm

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// Allreduce implements coll.Allreducer: who comes last combines everybody's operand in the order of the ranks, so that the result
// has the same bits on all of them, and in every run.
func (m *module) Allreduce(send, recv core.Buffer, op *core.Op) error {
	own := send
	if send.IsInPlace() {
		own = recv
	}
	n := own.Bytes()
	if n == 0 {
		return nil
	}
	if n > m.f.opts.MaxData || !foldable(own) {
		return m.below.Allreduce.Allreduce(send, recv, op)
	}
	if on, err := m.useBoard(); !on {
		if err != nil {
			return err
		}
		return m.below.Allreduce.Allreduce(send, recv, op)
	}
	from := m.f.Begin(boardAllreduce)
	m.pack(m.board.slot(m.rank), own)
	var err error
	if m.arrive(alg.Allreduce, n, 0) {
		if err = m.agreed(); err == nil {
			m.fold(own, op)
		}
		m.release()
	} else {
		err = m.awaitRelease()
	}
	if err != nil {
		return err
	}
	m.unpack(recv, m.board.result, n)
	m.f.End(from, boardAllreduce, n)
	return nil
}

// Reduce implements coll.Reducer. Who is neither the root nor the last one to come need not wait: the next operation will.
func (m *module) Reduce(send, recv core.Buffer, op *core.Op, root int) error {
	own := send
	if send.IsInPlace() {
		own = recv
	}
	n := own.Bytes()
	if n == 0 {
		return nil
	}
	if n > m.f.opts.MaxData || !foldable(own) {
		return m.below.Reduce.Reduce(send, recv, op, root)
	}
	if on, err := m.useBoard(); !on {
		if err != nil {
			return err
		}
		return m.below.Reduce.Reduce(send, recv, op, root)
	}
	from := m.f.Begin(boardReduce)
	m.pack(m.board.slot(m.rank), own)
	var err error
	if m.arrive(alg.Reduce, n, root) {
		if err = m.agreed(); err == nil {
			m.fold(own, op)
		}
		m.release()
	} else {
		if m.rank != root {
			m.early = true
			m.f.End(from, boardReduce, n)
			m.polled(false)
			return nil
		}
		err = m.awaitRelease()
	}
	if err != nil {
		return err
	}
	if m.rank == root {
		m.unpack(recv, m.board.result, n)
	}
	m.f.End(from, boardReduce, n)
	return nil
}

// maxLead is how far before its first data a scratch buffer may have to begin: an address outside of the memory it belongs to must
// never be formed.
const maxLead = 1 << 20

// foldable tells whether elements like those of b can be combined in scratch memory. Types with absolute addresses cannot; ranks
// agree about that, since an operation is called with the same type on all of them (MPI-3.1 §5.9).
func foldable(b core.Buffer) bool {
	if b.Type().Contiguous() {
		return true
	}
	lo, hi, err := b.Type().Span(b.Count())
	return err == nil && lo >= -maxLead && hi <= maxLead
}

// fold writes what all slots give into result; own says of what they consist. Slots are only read: writing another rank's would
// take its line away from it.
func (m *module) fold(own core.Buffer, op *core.Op) {
	if !own.Type().Contiguous() {
		m.foldTyped(own, op)
		return
	}
	n, count, t := own.Bytes(), own.Count(), own.Type()
	acc := unsafe.Pointer(unsafe.SliceData(m.acc))
	move(acc, m.board.slot(0), n)
	if op.Commutative() {
		for r := 1; r < m.size; r++ {
			op.Apply(m.board.slot(r), acc, count, t)
		}
	} else {
		in := unsafe.Pointer(unsafe.SliceData(m.tmp))
		for r := 1; r < m.size; r++ {
			move(in, m.board.slot(r), n)
			op.Apply(acc, in, count, t)
			acc, in = in, acc
		}
	}
	move(m.board.result, acc, n)
}

// foldTyped is fold for elements with gaps, which lie packed in slots and result, while the operation wants them as they are.
func (m *module) foldTyped(own core.Buffer, op *core.Op) {
	count, t := own.Count(), own.Type()
	acc, in := m.typed(0, t, count), m.typed(1, t, count)
	n := own.Bytes()
	m.unpack(acc, m.board.slot(0), n)
	for r := 1; r < m.size; r++ {
		m.unpack(in, m.board.slot(r), n)
		op.Apply(acc.Addr(), in.Addr(), count, t)
		acc, in = in, acc
	}
	m.pack(m.board.result, acc)
}

// typed is scratch buffer i with room for count elements of t, of which foldable has approved.
func (m *module) typed(i int, t *datatype.Type, count int64) core.Buffer {
	lo, hi, _ := t.Span(count)
	lead := (-min(lo, 0) + 7) &^ 7 // keeps elements aligned
	if need := (lead + max(hi, 0) + 7) / 8; need > int64(len(m.scratch[i])) {
		m.scratch[i] = make([]uint64, need)
	}
	return core.MakeBuffer(unsafe.Add(unsafe.Pointer(unsafe.SliceData(m.scratch[i])), lead), count, t)
}

// pack copies b's data to dst, without gaps.
func (m *module) pack(dst unsafe.Pointer, b core.Buffer) {
	n := b.Bytes()
	if b.Type().Contiguous() {
		move(dst, b.Addr(), n)
		return
	}
	m.conv.Prepare(b.Type(), b.Count(), b.Addr())
	m.conv.Pack(unsafe.Slice((*byte)(dst), n))
	m.conv = datatype.Convertor{} // it keeps the buffer alive
}

// unpack copies the first n bytes of b's data from src, where they lie without gaps. b has room for them.
func (m *module) unpack(b core.Buffer, src unsafe.Pointer, n int64) {
	if b.Type().Contiguous() {
		move(b.Addr(), src, n)
		return
	}
	m.conv.Prepare(b.Type(), b.Count(), b.Addr())
	m.conv.Unpack(unsafe.Slice((*byte)(src), n))
	m.conv = datatype.Convertor{}
}

func move(dst, src unsafe.Pointer, n int64) {
	copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
}

package inter

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/pml"
)

// steps is one operation under way. An error between two living ranks is kept, and the operation goes on to its end, so that nobody
// is left waiting; after a death nothing more can be exchanged, and the rest does nothing. A living rank may have given up, too: so
// a death anywhere ends every wait.
type steps struct {
	m       *module
	tag     int
	err     error
	over    bool // nothing more can be exchanged
	pending []message
}

type message struct {
	h    core.Handle
	recv bool
}

func (m *module) begin(tag int) *steps { return &steps{m: m, tag: tag} }

// end gives the operation's error.
func (s *steps) end() error {
	s.wait()
	return s.err
}

// note records the outcome of a step.
func (s *steps) note(err error) {
	if err == nil {
		return
	}
	if s.err == nil {
		s.err = err
	}
	switch core.ClassOf(err) {
	case core.ErrTruncate, core.ErrType, core.ErrCount, core.ErrBuffer, core.ErrArg:
	default:
		s.over = true
	}
}

// locally is a collective of the local group.
func (s *steps) locally(f func() error) {
	s.wait()
	if !s.over {
		s.note(f())
	}
}

// nothing is the message of no bytes.
func nothing() core.Buffer { return core.MakeBuffer(nil, 0, datatype.Byte) }

func sendable(b core.Buffer) core.Buffer {
	if b.Type() == nil {
		return nothing()
	}
	return b
}

// send starts sending to a rank of the remote group; wait ends it.
func (s *steps) send(b core.Buffer, dest int) {
	if !s.over {
		r := s.m.pml.Isend(s.m.ch, sendable(b), dest, s.tag, pml.Standard)
		s.pending = append(s.pending, message{h: r.Handle()})
	}
}

// recv starts receiving from a rank of the remote group; wait ends it.
func (s *steps) recv(b core.Buffer, source int) {
	if !s.over {
		r := s.m.pml.Irecv(s.m.ch, sendable(b), source, s.tag)
		s.pending = append(s.pending, message{h: r.Handle(), recv: true})
	}
}

// Done implements progress.Cond for wait.
func (s *steps) Done() bool {
	if s.m.comm.Fault() != nil {
		return true
	}
	for i := range s.pending {
		if !s.pending[i].h.R.Done() {
			return false
		}
	}
	return true
}

// wait ends everything started: it is complete, or given up because of a death. No receive into a buffer is pending afterwards; a send
// that the other side has not taken lives on and keeps its memory.
func (s *steps) wait() {
	if len(s.pending) == 0 {
		return
	}
	if !s.over && !s.Done() {
		s.m.comm.Engine.Wait(s)
	}
	for _, x := range s.pending {
		r := x.h.R
		if !r.Done() {
			if f := s.m.comm.Fault(); f != nil {
				s.note(f.Err)
			}
			r.Engine.Lock()
			if !r.Done() && !x.recv {
				x.h.Abandon()
				r.Engine.Unlock()
				continue
			}
			if !r.Done() {
				s.note(r.Owner.Cancel(r))
			}
			r.Engine.Unlock()
			r.Engine.Wait(r)
		}
		st, _ := x.h.Take()
		s.note(st.Err)
	}
	s.pending = s.pending[:0]
}

// part is n elements of b from element first on; of an empty part the address is b's own.
func part(b core.Buffer, first, n int64) core.Buffer {
	if n == 0 {
		first = 0
	}
	return b.At(first, n)
}

// block is the i-th of n equal parts of b.
func block(b core.Buffer, i, n int) core.Buffer {
	each := b.Count() / int64(n)
	return part(b, int64(i)*each, each)
}

// displacements gives where blocks of the given counts begin when they lie one behind the other; displs itself if not nil.
func displacements(counts, displs []int) []int {
	if displs != nil {
		return displs
	}
	out := make([]int, len(counts))
	at := 0
	for i, n := range counts {
		out[i] = at
		at += n
	}
	return out
}

// bytes is memory for n bytes.
func bytes(n int64) core.Buffer {
	return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(make([]uint64, (n+7)/8))), n, datatype.Byte)
}

// typed is memory for n elements of t, laid out as t says, since operations work on it.
func (s *steps) typed(t *datatype.Type, n int64) core.Buffer {
	if t == nil {
		return nothing()
	}
	lo, hi, err := t.Span(n)
	const far = 1 << 30 // an address outside of the memory must never be formed
	if err == nil && (lo > far || hi < -far) {
		err = core.NewError(core.ErrType, "data lies %d bytes from the buffer's address; a reduction needs a type with displacements near 0", lo)
	}
	if err != nil {
		s.note(err)
		s.over = true
		return nothing()
	}
	lead := -min(lo, 0)
	words := make([]uint64, (lead+max(hi, 0)+7)/8)
	return core.MakeBuffer(unsafe.Add(unsafe.Pointer(unsafe.SliceData(words)), lead), n, t)
}

// pack gives b's data as bytes: b itself where it is one block.
func pack(b core.Buffer) core.Buffer {
	n := b.Bytes()
	if n == 0 {
		return nothing()
	}
	if b.Type().Contiguous() {
		lo, _, err := b.Type().Span(b.Count())
		if err == nil && lo == 0 {
			return core.MakeBuffer(b.Addr(), n, datatype.Byte)
		}
	}
	out := bytes(n)
	var c datatype.Convertor
	c.Prepare(b.Type(), b.Count(), b.Addr())
	c.Pack(unsafe.Slice((*byte)(out.Addr()), n))
	return out
}

// unpack puts the bytes of from into b.
func (s *steps) unpack(b, from core.Buffer) {
	n := from.Count()
	if n > b.Bytes() {
		s.note(core.NewError(core.ErrTruncate, "%d bytes for a receive block of %d bytes", n, b.Bytes()))
		n = b.Bytes()
	}
	if n == 0 {
		return
	}
	var c datatype.Convertor
	c.Prepare(b.Type(), b.Count(), b.Addr())
	c.Unpack(unsafe.Slice((*byte)(from.Addr()), n))
}

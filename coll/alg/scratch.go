package alg

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// scratch is memory that one operation leaves to the next.
type scratch struct{ words []uint64 } // words, so that every element is aligned

// bytes gives n bytes of undefined content.
func (s *scratch) bytes(n int64) unsafe.Pointer {
	if need := (n + 7) / 8; need > int64(cap(s.words)) {
		s.words = make([]uint64, need)
	}
	return unsafe.Pointer(unsafe.SliceData(s.words[:cap(s.words)]))
}

func (s *scratch) trim(limit int64) {
	if int64(cap(s.words))*8 > limit {
		s.words = nil
	}
}

// maxLead is how far before its first data a scratch buffer may have to begin. It is there because an address outside of the
// memory it belongs to must never be formed.
const maxLead = 1 << 30

// room gives scratch buffer i with n bytes of undefined content. What is asked for again may be other memory, unless it is no more
// than before. A recorded operation's memory is the schedule's: its steps hold what they were given.
func (c *Call) room(i int, n int64) unsafe.Pointer {
	switch {
	case c.traffic != nil:
		return nil
	case c.rec != nil:
		return c.rec.scratch[i].bytes(n)
	}
	return c.scratch[i].bytes(n)
}

// typed gives scratch buffer i with room for n elements of t: laid out as t says, since operations work on it.
func (c *Call) typed(i int, t *datatype.Type, n int64) core.Buffer {
	lo, hi, err := t.Span(n)
	if err == nil && (lo > maxLead || hi < -maxLead) {
		err = core.NewError(core.ErrType, "data lies %d bytes from the buffer's address; a reduction needs a type with displacements near 0", lo)
	}
	if err != nil {
		if c.rec != nil {
			c.rec.err = err
		} else {
			c.note(err)
			c.dead = true
		}
		return nothing()
	}
	lead := (-min(lo, 0) + 7) &^ 7 // keeps elements aligned
	return core.MakeBuffer(unsafe.Add(c.room(i, lead+max(hi, 0)), lead), n, t)
}

// packed gives scratch buffer i with n bytes.
func (c *Call) packed(i int, n int64) core.Buffer {
	if c.traffic != nil {
		return Weightless(n)
	}
	return core.MakeBuffer(c.room(i, n), n, datatype.Byte)
}

// packedLike is packed for data that b has packed, or will have unpacked from it: they are forwarded as the elements that they are,
// which ranks of another architecture must know.
func (c *Call) packedLike(i int, n int64, b core.Buffer) core.Buffer {
	if c.traffic != nil || b.Type() == nil {
		return c.packed(i, n)
	}
	return core.MakeBuffer(c.room(i, n), n, b.Type().Stream())
}

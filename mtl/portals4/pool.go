package portals4

import (
	"math/bits"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// buffer is pooled memory: copies of short messages, packed data.
type buffer struct {
	mem   []byte
	class int8 // in pools; -1: not kept
	next  *buffer
}

// classes of buffers are powers of two up to 1 MiB; larger ones are the collector's.
const (
	leastClass = 6
	mostClass  = 20
)

type pools [mostClass + 1]*buffer

// get gives a buffer of at least n bytes.
func (p *pools) get(n int) *buffer {
	c := max(bits.Len(uint(max(n, 1)-1)), leastClass)
	if c > mostClass {
		return &buffer{mem: make([]byte, n), class: -1}
	}
	b := p[c]
	if b == nil {
		return &buffer{mem: make([]byte, 1<<c), class: int8(c)}
	}
	p[c] = b.next
	b.next = nil
	return b
}

func (p *pools) put(b *buffer) {
	if b != nil && b.class >= 0 {
		b.next, p[b.class] = p[b.class], b
	}
}

// block is the memory of a message if it is one block, and whether it is; if not, c is left prepared for packing.
func block(buf core.Buffer, c *datatype.Convertor) (mem []byte, ok bool) {
	n := buf.Bytes()
	if n == 0 {
		return nil, true
	}
	if buf.Type().Contiguous() {
		return unsafe.Slice((*byte)(buf.Addr()), n), true
	}
	c.Prepare(buf.Type(), buf.Count(), buf.Addr())
	if !c.IsContiguous() {
		return nil, false
	}
	p, _ := c.ContiguousAt()
	return unsafe.Slice((*byte)(p), n), true
}

// ids are the numbers of sends that peers name.
type ids struct {
	last uint32 // the largest given out; 0 is none
	free []uint32
}

// take gives a free number, 0 when there are too many.
func (t *ids) take() uint32 {
	if n := len(t.free); n > 0 {
		id := t.free[n-1]
		t.free = t.free[:n-1]
		return id
	}
	if t.last == maxIDs {
		return 0
	}
	t.last++
	return t.last
}

func (t *ids) drop(id uint32) {
	if id != 0 {
		t.free = append(t.free, id)
	}
}

package colltest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// pack is the data of b in packed form.
func pack(b core.Buffer) []byte {
	out := make([]byte, b.Bytes())
	if len(out) > 0 {
		var c datatype.Convertor
		c.Prepare(b.Type(), b.Count(), b.Addr())
		c.Pack(out)
	}
	return out
}

// unpack stores packed data in b.
func unpack(b core.Buffer, data []byte) {
	if len(data) > 0 {
		var c datatype.Convertor
		c.Prepare(b.Type(), b.Count(), b.Addr())
		c.Unpack(data)
	}
}

// margin is how many bytes around a buffer are watched, a multiple of the strictest alignment.
const margin = 64

// pattern is what memory holds before anything is stored in it.
const pattern = 0xa7a6a5a4a3a2a1a0

// memory is a buffer under test with all the memory around and between its elements. want is what that memory should hold in the
// end, byte for byte: what no message may touch keeps its pattern.
type memory struct {
	words []uint64 // keeps raw aligned
	raw   []byte
	want  []byte
	base  int64 // of the buffer in raw
	t     *datatype.Type
	count int64
}

// newMemory makes room for count elements of t, filled with a pattern.
func newMemory(t *datatype.Type, count int64) *memory {
	lo, hi, err := t.Span(count)
	if err != nil {
		panic(err)
	}
	lo = -(max(-lo, 0) + 7) / 8 * 8
	n := (max(hi, 0) - lo + 7) / 8 * 8
	m := &memory{words: make([]uint64, (n+2*margin)/8), base: margin - lo, t: t, count: count}
	m.raw = unsafe.Slice((*byte)(unsafe.Pointer(&m.words[0])), len(m.words)*8)
	for i := range m.words {
		m.words[i] = pattern
	}
	m.want = bytes.Clone(m.raw)
	return m
}

// buffer is the whole buffer.
func (m *memory) buffer() core.Buffer { return m.part(0, m.count) }

func (m *memory) part(first, count int64) core.Buffer {
	return view(m.raw, m.base, m.t, first, count)
}

// view is count elements of t from element first on, in the copy raw of a memory.
func view(raw []byte, base int64, t *datatype.Type, first, count int64) core.Buffer {
	return core.MakeBuffer(unsafe.Pointer(&raw[base]), count, t).At(first, count)
}

// fill stores packed data in count elements from first on; it belongs there until something else is expected.
func (m *memory) fill(first, count int64, data []byte) {
	unpack(m.part(first, count), data)
	m.expect(first, count, data)
}

// expect says what the elements should hold in the end.
func (m *memory) expect(first, count int64, data []byte) {
	unpack(view(m.want, m.base, m.t, first, count), data)
}

// check compares every byte.
func (m *memory) check() error {
	if bytes.Equal(m.raw, m.want) {
		return nil
	}
	for i := range m.raw {
		if m.raw[i] != m.want[i] {
			return fmt.Errorf("byte %d of the buffer is %#x, want %#x (%d elements of %s)",
				int64(i)-m.base, m.raw[i], m.want[i], m.count, m.t.Name())
		}
	}
	return nil
}

// checkData compares the elements but not what lies between them, which an operation on whole Go values may write.
func (m *memory) checkData() error {
	got, want := pack(m.buffer()), pack(view(m.want, m.base, m.t, 0, m.count))
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("byte %d of the data is %#x, want %#x (%d elements of %s)", i, got[i], want[i], m.count, m.t.Name())
		}
	}
	n := len(m.raw) - margin
	if !bytes.Equal(m.raw[:margin], m.want[:margin]) || !bytes.Equal(m.raw[n:], m.want[n:]) {
		return fmt.Errorf("memory around the buffer has changed (%d elements of %s)", m.count, m.t.Name())
	}
	return nil
}

// noise is n bytes that depend on the key alone, so that every rank knows what any other sends.
func noise(n int64, key ...int) []byte {
	h := uint64(14695981039346656037)
	for _, k := range key {
		h = (h ^ uint64(k)) * 1099511628211
	}
	r := rand.New(rand.NewPCG(h, uint64(n)))
	out := make([]byte, n+8)
	for i := int64(0); i < n; i += 8 {
		binary.LittleEndian.PutUint64(out[i:], r.Uint64())
	}
	return out[:n]
}

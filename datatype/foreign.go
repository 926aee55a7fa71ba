package datatype

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// Moving to and from the other byte order. In a foreign stream each element has its bytes reversed where it stands, so that byte p
// of the stream is byte p' of the native one, with p' in the same element. Fragments that end inside an element need no memory of
// each other for that: their odd bytes are moved one by one, each from or to its own place.

// PrepareFor is Prepare for a packed stream in the representation of arch: Pack converts to it, Unpack from it. A message that
// needs converting is never contiguous and has no memory blocks to list; see IsContiguous, Iovec and ContiguousAt.
func (c *Convertor) PrepareFor(t *Type, count int64, base unsafe.Pointer, arch Arch) {
	c.Prepare(t, count, base)
	if t.of != nil {
		t = t.of
	}
	if arch.Foreign() && c.total > 0 && (t.uniform == KindNone || unit(t.uniform) > 1) {
		c.foreign = t
	}
}

// Converts tells whether the stream is in another representation than the memory.
func (c *Convertor) Converts() bool { return c.foreign != nil }

// unit is how many bytes change places together: an element, of a complex one either half.
func unit(k Kind) int64 {
	switch k {
	case KindComplex64:
		return 4
	case KindComplex128:
		return 8
	}
	return kinds[k].size
}

// elements is the message as a loop over the form of its type that keeps elements of different kinds apart, for walks that look for
// elements and not for memory.
func (c *Convertor) elements() op {
	t := c.foreign
	return op{count: (c.total-1)/t.size + 1, size: t.size, body: t.typedBody()}
}

// unitAt is the width of the unit at byte pos of the stream, and how many of its bytes lie before pos.
func (c *Convertor) unitAt(pos int64) (width, in int64) {
	switch t := c.foreign; {
	case pos == c.total:
		return 1, 0
	case t.uniform != KindNone:
		width, in = unit(t.uniform), pos
	default:
		root := c.elements()
		var w walk
		in = w.seek(&root, pos)
		ops, _ := w.runs()
		width = unit(ops[0].kind)
	}
	return width, in % width
}

// swapBuffer is where data is turned around on its way in; what comes may be shared with the one who sends it, and is not ours to
// change.
const swapBuffer = 2048

// convert moves all of buf, which is not empty and ends at the message's end at the latest, to or from the other byte order: the
// units that are there as a whole together, a cut one at either end by its bytes.
func (c *Convertor) convert(buf []byte, unpack bool) {
	if width, in := c.unitAt(c.pos); in > 0 {
		n := min(width-in, int64(len(buf)))
		c.part(buf[:n], width, in, unpack)
		if buf = buf[n:]; len(buf) == 0 {
			return
		}
	}
	width, rest := c.unitAt(c.pos + int64(len(buf)))
	whole := buf[:int64(len(buf))-rest]
	if unpack {
		c.convertIn(whole)
	} else if len(whole) > 0 {
		pos := c.pos
		c.same(whole, false)
		c.swapAt(whole, whole, pos)
	}
	if rest > 0 {
		c.part(buf[len(whole):], width, 0, unpack)
	}
}

// convertIn unpacks whole units.
func (c *Convertor) convertIn(buf []byte) {
	var swapped [swapBuffer]byte
	for len(buf) > 0 {
		n := int64(len(buf))
		if n > swapBuffer {
			_, cut := c.unitAt(c.pos + swapBuffer)
			n = swapBuffer - cut
		}
		c.swapAt(swapped[:n], buf[:n], c.pos)
		c.same(swapped[:n], true)
		buf = buf[n:]
	}
}

// swapAt reverses each unit of src, which is not empty, into dst, which may be src. It begins at byte pos of the stream.
func (c *Convertor) swapAt(dst, src []byte, pos int64) {
	if k := c.foreign.uniform; k != KindNone {
		swapUnits(dst, src, unit(k))
		return
	}
	root := c.elements()
	var w walk
	in := w.seek(&root, pos)
	for {
		ops, _ := w.runs()
		for i := range ops {
			o := &ops[i]
			n := min(o.packed()-in, int64(len(src)))
			swapUnits(dst[:n], src[:n], unit(o.kind))
			dst, src, pos = dst[n:], src[n:], pos+n
			if len(src) == 0 {
				return
			}
			in = 0
		}
		w.advance(len(ops), &root, pos)
	}
}

// part moves buf, bytes in and following of a unit which is not there as a whole.
func (c *Convertor) part(buf []byte, width, in int64, unpack bool) {
	first := c.pos - in
	for i := range buf {
		c.pos = first + width - 1 - in - int64(i)
		c.same(buf[i:i+1], unpack)
	}
	c.pos = first + in + int64(len(buf))
}

// swapUnits reverses each unit of src into dst, which may be src. What is left at the end, where a stream ends inside an element, is
// copied.
func swapUnits(dst, src []byte, width int64) {
	ne := binary.NativeEndian
	dst = dst[:len(src)]
	i := 0
	switch width {
	case 2:
		for ; i+2 <= len(src); i += 2 {
			ne.PutUint16(dst[i:], bits.ReverseBytes16(ne.Uint16(src[i:])))
		}
	case 4:
		for ; i+4 <= len(src); i += 4 {
			ne.PutUint32(dst[i:], bits.ReverseBytes32(ne.Uint32(src[i:])))
		}
	case 8:
		for ; i+8 <= len(src); i += 8 {
			ne.PutUint64(dst[i:], bits.ReverseBytes64(ne.Uint64(src[i:])))
		}
	}
	copy(dst[i:], src[i:])
}

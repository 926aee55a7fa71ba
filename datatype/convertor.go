package datatype

import (
	"math/bits"
	"strconv"
	"unsafe"
)

// Convertor is a cursor over a message in memory: count items of a type at an address. Its position counts bytes of the packed
// stream, elements in type map order without gaps. It is a value: copy a prepared one to have a second cursor. Nothing here
// allocates. The zero Convertor is an empty message.
//
// The caller keeps the memory alive and has checked, with Type.Span, that the message lies inside it.
type Convertor struct {
	base  unsafe.Pointer // nil: displacements are addresses
	total int64
	pos   int64
	root  op // the whole message as one run or loop

	foreign *Type // nil: the stream is as the memory; else its elements are those of this type, in the other byte order
}

// Prepare points c at the beginning of count items of t at base, committing t if need be. A nil base makes the displacements of
// t absolute addresses (MPI_BOTTOM). A count that Type.PackedSize refuses panics: such counts are the user's errors to hear of at
// the entrance, and wrapped around they would be memory corruption here.
func (c *Convertor) Prepare(t *Type, count int64, base unsafe.Pointer) {
	p := t.program()
	hi, total := bits.Mul64(uint64(count), uint64(t.size))
	if hi != 0 || int64(total) < 0 || count < 0 {
		panic("datatype: prepare: impossible count " + strconv.FormatInt(count, 10))
	}
	c.base, c.total, c.pos, c.foreign = base, int64(total), 0, nil
	if p.contiguous {
		c.root = op{count: 1, size: c.total}
		return
	}
	c.prepareGaps(t, p, count)
}

func (c *Convertor) prepareGaps(t *Type, p *program, count int64) {
	if c.total == 0 {
		c.root = op{}
		return
	}
	extent := t.extent()
	if len(p.ops) == 1 {
		// The only run or loop of a type takes the items as more of itself where they continue it.
		c.root = p.ops[0]
		o := &c.root
		switch {
		case count == 1:
			return
		case o.count == 1 && o.body == nil && o.size == extent:
			o.size *= count
			return
		case o.count == 1:
			o.count, o.stride = count, extent
			return
		case o.continues(extent):
			o.count *= count
			return
		}
	}
	c.root = op{count: count, stride: extent, size: t.size, body: &p.body}
}

// Total is the packed size of the message in bytes.
func (c *Convertor) Total() int64 { return c.total }

// Position is the packed offset of the next byte to be moved.
func (c *Convertor) Position() int64 { return c.pos }

// SetPosition moves the cursor to packed offset pos, anywhere from 0 to Total, also inside an element. Any other pos panics:
// offsets that come from a peer are checked where they arrive.
func (c *Convertor) SetPosition(pos int64) {
	if uint64(pos) > uint64(c.total) {
		panic("datatype: set position: " + strconv.FormatInt(pos, 10) + " is outside the message")
	}
	c.pos = pos
}

// IsContiguous tells whether the whole message is one memory block, so that no packing is needed.
func (c *Convertor) IsContiguous() bool {
	return c.root.body == nil && c.root.count <= 1 && c.foreign == nil
}

// Pack copies packed bytes from the position on into dst, advances and returns how many: fewer than len(dst) only at the end.
func (c *Convertor) Pack(dst []byte) int { return c.move(dst, false) }

// Unpack stores src, packed bytes from the position on, advances and returns how many it took: fewer than len(src) only at the
// end. Gaps are left untouched. Fragments may end anywhere and come in any order.
func (c *Convertor) Unpack(src []byte) int { return c.move(src, true) }

func (c *Convertor) move(buf []byte, unpack bool) int {
	n := min(int64(len(buf)), c.total-c.pos)
	if n <= 0 {
		return 0
	}
	if c.foreign != nil {
		c.convert(buf[:n], unpack)
	} else {
		c.same(buf[:n], unpack)
	}
	return int(n)
}

// same moves all of buf, which is not empty and ends at the message's end at the latest, as it lies in memory.
func (c *Convertor) same(buf []byte, unpack bool) {
	if c.root.body == nil {
		c.run(&c.root, 0, c.pos, unsafe.Pointer(unsafe.SliceData(buf)), int64(len(buf)), unpack)
	} else {
		c.nested(buf, unpack)
	}
	c.pos += int64(len(buf))
}

// nested moves all of buf, which is not empty and ends at the message's end at the latest.
func (c *Convertor) nested(buf []byte, unpack bool) {
	var w walk
	in := w.seek(&c.root, c.pos)
	p, at, end := unsafe.Pointer(unsafe.SliceData(buf)), int64(0), int64(len(buf))
	for {
		if in == 0 {
			if k := w.whole(end - at); k > 0 {
				f := &w.frames[w.depth-1]
				if f.body.plane {
					c.plane(&f.body.ops[0], f.disp, f.stride, k, unsafe.Add(p, at), unpack)
				} else {
					c.columns(f.body, f.disp, f.stride, k, unsafe.Add(p, at), unpack)
				}
				if at += k * f.body.size; at == end {
					return
				}
				w.skip(k, &c.root, c.pos+at)
				continue
			}
		}
		ops, disp := w.runs()
		for i := range ops {
			o := &ops[i]
			n := min(o.packed()-in, end-at)
			if o.count == 1 && in == 0 && c.base != nil { // the commonest, without the way through run
				dst, src := unsafe.Add(p, at), unsafe.Add(c.base, disp+o.disp)
				if unpack {
					dst, src = src, dst
				}
				oneBlock(dst, src, n)
				if at += n; at == end {
					return
				}
				continue
			}
			c.run(o, disp, in, unsafe.Add(p, at), n, unpack)
			if at += n; at == end {
				return
			}
			in = 0
		}
		w.advance(len(ops), &c.root, c.pos+at)
	}
}

// run moves n bytes, at least 1, of the run o from its byte in on; disp is the origin of its displacements.
func (c *Convertor) run(o *op, disp, in int64, buf unsafe.Pointer, n int64, unpack bool) {
	disp += o.disp
	if o.count == 1 {
		c.piece(disp+in, buf, n, unpack)
		return
	}
	var k int64
	if in > 0 {
		k = in / o.size
		if in -= k * o.size; in > 0 {
			head := min(o.size-in, n)
			c.piece(disp+o.nth(k)+in, buf, head, unpack)
			if n -= head; n == 0 {
				return
			}
			buf = unsafe.Add(buf, head)
			k++
		}
	}
	full := o.count - k
	if n < full*o.size {
		full = n / o.size
	}
	if full > 0 {
		if o.list == nil {
			c.row(disp+k*o.stride, o.stride, o.size, full, buf, o.size, unpack)
		} else {
			c.listed((*o.list)[k:k+full], disp, o.size, buf, unpack)
		}
	}
	if done := full * o.size; done < n {
		c.piece(disp+o.nth(k+full), unsafe.Add(buf, done), n-done, unpack)
	}
}

// plane moves k iterations of a loop over the run o, which they are all of.
func (c *Convertor) plane(o *op, disp, stride, k int64, buf unsafe.Pointer, unpack bool) {
	disp += o.disp
	for i := range k {
		at := unsafe.Add(buf, i*o.packed())
		if o.list != nil {
			c.listed(*o.list, disp, o.size, at, unpack)
		} else {
			c.row(disp, o.stride, o.size, o.count, at, o.size, unpack)
		}
		disp += stride
	}
}

// columns moves k iterations of a loop over runs: all first blocks, then all second ones and so on, a stretch at a time that
// the nearest cache holds. A block alone costs several times a step of a row.
func (c *Convertor) columns(b *body, disp, stride, k int64, buf unsafe.Pointer, unpack bool) {
	for done := int64(0); done < k; done += columnStretch {
		n := min(columnStretch, k-done)
		at := done * b.size
		for i := range b.ops {
			o := &b.ops[i]
			for j := range o.count {
				c.row(disp+done*stride+o.disp+o.nth(j), stride, o.size, n, unsafe.Add(buf, at), b.size, unpack)
				at += o.size
			}
		}
	}
}

// row moves n blocks of size bytes: step apart in memory from disp on, packedStep apart in buf.
func (c *Convertor) row(disp, step, size, n int64, buf unsafe.Pointer, packedStep int64, unpack bool) {
	dst, ds, src, ss := buf, packedStep, c.at(disp), step
	if unpack {
		dst, ds, src, ss = src, ss, dst, ds
	}
	if c.base == nil {
		absoluteRows(dst, src, ds, ss, size, n)
	} else {
		rows(dst, src, ds, ss, size, n)
	}
}

// listed moves blocks of size bytes at the displacements of list, which count from disp.
func (c *Convertor) listed(list []int64, disp, size int64, buf unsafe.Pointer, unpack bool) {
	switch {
	case c.base == nil:
		for i, d := range list {
			c.piece(disp+d, unsafe.Add(buf, int64(i)*size), size, unpack)
		}
	case unpack:
		scatter(c.base, disp, list, size, buf)
	default:
		gather(buf, c.base, disp, list, size)
	}
}

// piece moves n consecutive bytes.
func (c *Convertor) piece(disp int64, buf unsafe.Pointer, n int64, unpack bool) {
	dst, src := buf, c.at(disp)
	if unpack {
		dst, src = src, dst
	}
	if c.base == nil {
		absoluteRows(dst, src, 0, 0, n, 1)
	} else {
		oneBlock(dst, src, n)
	}
}

// at is the address of a displacement.
func (c *Convertor) at(disp int64) unsafe.Pointer {
	if c.base == nil {
		return absolute(disp)
	}
	return unsafe.Add(c.base, disp)
}

package datatype

import "unsafe"

// Iovec is one block of memory.
type Iovec struct {
	Base unsafe.Pointer
	Len  int
}

// ContiguousAt gives the memory block at the position, without moving: all that remains when the message is contiguous, else
// the rest of the current block. At the end it is nil, 0. A block at an absolute address may cover variables that happen to be
// neighbours. Memory that needs converting is not what is packed: it is nil, 0 then, too.
func (c *Convertor) ContiguousAt() (p unsafe.Pointer, n int64) {
	if c.pos >= c.total || c.foreign != nil {
		return nil, 0
	}
	o, disp, in := &c.root, int64(0), c.pos
	if o.body != nil {
		var w walk
		in = w.seek(o, in)
		ops, d := w.runs()
		o, disp = &ops[0], d
	}
	disp, n = o.block(disp, in)
	return c.at(disp), n
}

// BlockAt is the address of packed byte pos of a contiguous message. It need not be pos bytes behind the buffer's: the block may
// begin elsewhere.
func (c *Convertor) BlockAt(pos int64) unsafe.Pointer { return c.at(c.root.disp + pos) }

// block gives the displacement of byte in of the run and the bytes left in its block.
func (o *op) block(disp, in int64) (int64, int64) {
	disp += o.disp
	if o.count > 1 {
		k := in / o.size
		in -= k * o.size
		disp += o.nth(k)
	}
	return disp + in, o.size - in
}

// Iovec lists memory blocks in packed order from the position on, as many as fit into out and at most max bytes, and advances
// past them. Blocks that touch are one. It returns how many blocks and bytes it listed: none of a message that needs converting.
func (c *Convertor) Iovec(out []Iovec, max int64) (n int, bytes int64) {
	l := list{c: c, out: out, left: min(max, c.total-c.pos)}
	if l.left <= 0 || c.foreign != nil {
		return 0, 0
	}
	want := l.left
	if c.root.body == nil {
		l.run(&c.root, 0, c.pos)
	} else {
		l.nested(want)
	}
	bytes = want - l.left
	c.pos += bytes
	return l.n, bytes
}

// list collects memory blocks.
type list struct {
	c    *Convertor
	out  []Iovec
	n    int
	left int64 // bytes still wanted
}

func (l *list) nested(want int64) {
	var w walk
	in := w.seek(&l.c.root, l.c.pos)
	for {
		ops, disp := w.runs()
		for i := range ops {
			if !l.run(&ops[i], disp, in) {
				return
			}
			in = 0
		}
		w.advance(len(ops), &l.c.root, l.c.pos+want-l.left)
	}
}

// run adds the blocks of a run from its byte in on; false when the list is complete.
func (l *list) run(o *op, disp, in int64) bool {
	end := o.packed()
	for in < end {
		d, n := o.block(disp, in)
		n = min(n, l.left)
		if !l.add(l.c.at(d), n) {
			return false
		}
		in += n
		if l.left -= n; l.left == 0 {
			return false
		}
	}
	return true
}

func (l *list) add(p unsafe.Pointer, n int64) bool {
	if l.n > 0 && l.c.base != nil { // absolute blocks that touch may still be different variables
		if last := &l.out[l.n-1]; uintptr(last.Base)+uintptr(last.Len) == uintptr(p) {
			last.Len += int(n)
			return true
		}
	}
	if l.n == len(l.out) {
		return false
	}
	l.out[l.n] = Iovec{p, int(n)}
	l.n++
	return true
}

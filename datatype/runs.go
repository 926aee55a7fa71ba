package datatype

// Runs walks the layout of count elements of a type as runs of contiguous bytes, in packed order and without memory: offsets are from where the
// first element begins (displacement 0). Blocks that touch are one run. It allocates nothing; the zero Runs has no runs.
type Runs struct {
	c Convertor // no base; its position is that of the next block to be found

	// Where that is. ops are those directly after the one that block is in, which is here as a value: a pointer into the convertor would move every Runs to the heap.
	ops  []op
	o    op
	disp int64 // origin of their displacements
	in   int64 // packed byte of o

	off, n int64 // a block that was found and not handed out yet
}

// Init begins at the start, committing t if need be. A count that Type.PackedSize refuses panics, as in Convertor.Prepare.
func (r *Runs) Init(t *Type, count int64) {
	r.c.Prepare(t, count, nil)
	r.ops, r.disp, r.in, r.off, r.n = nil, 0, 0, 0, 0
	r.o.count = 0
}

// Next gives the next run, of at most most bytes; n is 0 after the last. Runs that end before most are as long as contiguous bytes follow each other.
func (r *Runs) Next(most int64) (off, n int64) {
	off, n = r.off, r.n
	r.n = 0
	if n == 0 {
		if off, n = r.block(); n == 0 {
			return 0, 0
		}
	}
	for n < most {
		o, k := r.block()
		if k == 0 {
			return off, n
		}
		if o != off+n {
			r.off, r.n = o, k
			return off, n
		}
		n += k
	}
	if n > most {
		r.off, r.n = off+most, n-most
	}
	return off, most
}

// block gives the next block of the layout; n is 0 after the last.
func (r *Runs) block() (off, n int64) {
	if r.c.pos >= r.c.total {
		return 0, 0
	}
	if r.o.count == 0 || r.in == r.o.packed() {
		r.find()
	}
	off, n = r.o.block(r.disp, r.in)
	r.in += n
	r.c.pos += n
	return off, n
}

// find goes to the run that holds the position: the next of its body, or by a search.
func (r *Runs) find() {
	switch {
	case len(r.ops) > 0:
		r.o, r.ops, r.in = r.ops[0], r.ops[1:], 0
	case r.c.root.body == nil:
		r.o, r.in = r.c.root, r.c.pos
	default:
		var w walk
		r.in = w.seek(&r.c.root, r.c.pos)
		ops, disp := w.runs()
		r.o, r.ops, r.disp = ops[0], ops[1:], disp
	}
}

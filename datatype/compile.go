package datatype

import "slices"

// A committed type is a body: a list of ops in packed order. An op without a body of its own is a run, a row of equally large
// memory blocks, at a stride or listed; one with a body is a loop over it. Bodies are immutable and shared between the types built on them, so a type costs
// memory in proportion to its own arguments, not to its elements, and nothing but loops inside loops is left of nesting.

// op is one run or loop. It fills one cache line.
type op struct {
	off    int64 // packed bytes before it in its body
	disp   int64 // first block or iteration, in bytes from the body's origin
	count  int64 // blocks or iterations, at least 1
	stride int64 // bytes between two of them
	size   int64 // packed bytes of one, at least 1

	list *[]int64 // a run without a stride: where its blocks are, relative to disp
	body *body    // nil for a run

	runs int32 // a run: how many consecutive runs begin here, itself included
	kind Kind  // a run: its elements, KindNone when they differ
}

func (o *op) packed() int64 { return o.count * o.size }

// nth is where block k begins, relative to disp.
func (o *op) nth(k int64) int64 {
	if o.list != nil {
		return (*o.list)[k]
	}
	return k * o.stride
}

// continues tells whether a copy of o stride bytes further on is more of the same row.
func (o *op) continues(stride int64) bool {
	return o.list == nil && o.count*o.stride == stride
}

type body struct {
	ops     []op
	size    int64 // packed bytes
	elems   int64 // predefined elements; right only in typed bodies
	columns bool  // a loop over it may move all first blocks, then all second ones, ...
	plane   bool  // it is one run, and a loop over it moves run after run
}

type program struct {
	body
	contiguous bool
}

// inlineOps is how many ops of an inner type are copied into an outer one, where they may merge with their neighbours. Above it
// the outer type refers to the inner body, which bounds what nesting can cost.
const inlineOps = 8

// inlineMany is the same once there are more than manyOps: the lists of a million blocks should not get much longer.
const inlineMany, manyOps = 2, 4096

const (
	// Shorter rows next to each other become a list, from so many blocks on: a list costs 8 bytes a block, an op 64.
	minRow, minList = 8, 4

	// Neighbouring blocks up to this size may stay apart, see merge. An op costs as much as so many small blocks of a row.
	maxApart, opCost = 64, 6

	// Bodies of so many blocks and bytes at most are moved in columns, minColumn iterations or more at a time, in stretches that
	// stay within the nearest cache.
	maxColumns, maxColumnBytes = 32, 512
	minColumn, columnStretch   = 4, 64
	// Of a body that is a row of so many blocks, or of large ones, whole rows are moved instead.
	minPlane = 4
)

// maxRuns bounds op.runs.
const maxRuns = 1 << 30

// program is Commit, compiling at the first call.
func (t *Type) program() *program {
	if p := t.prog.Load(); p != nil {
		return p
	}
	return t.compile()
}

func (t *Type) compile() *program {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.prog.Load(); p != nil {
		return p
	}
	c := compiler{}
	p := &program{body: *c.build(t)}
	switch {
	case t.lb != 0 || t.extent() != t.size:
	case len(p.ops) == 0:
		p.contiguous = true
	case len(p.ops) == 1:
		o := &p.ops[0]
		p.contiguous = o.body == nil && o.count == 1 && o.disp == 0
	}
	t.prog.Store(p)
	return p
}

// typedBody is the compiled form whose every run has elements of one kind.
func (t *Type) typedBody() *body {
	if b := t.typed.Load(); b != nil {
		return b
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if b := t.typed.Load(); b != nil {
		return b
	}
	c := compiler{typed: true}
	b := c.build(t)
	t.typed.Store(b)
	return b
}

// compiler turns constructor arguments into bodies. typed keeps elements of different kinds in different runs.
type compiler struct{ typed bool }

// of is the body of a type below the one being compiled.
func (c *compiler) of(t *Type) *body {
	if c.typed {
		return t.typedBody()
	}
	return &t.program().body
}

// build compiles one item of t. The locks taken on the way go strictly from a type to those it was made of.
func (c *compiler) build(t *Type) *body {
	if t.elems == 0 {
		return &body{}
	}
	if t.made != nil {
		return c.of(t.made)
	}
	switch t.combiner {
	case CombinerNamed:
		b := c.builder(1)
		b.ops = append(b.ops, op{count: 1, size: t.size, kind: t.kind})
		return b.finish()
	case CombinerDup, CombinerResized:
		return c.of(t.types[0])
	case CombinerStruct:
		b := c.builder(len(t.addresses))
		for i, d := range t.addresses {
			b.block(d, t.integers[1+i], t.types[i])
		}
		return b.finish()
	}
	old := t.types[0]
	n := t.integers[0]
	switch t.combiner {
	case CombinerContiguous:
		return c.repeat(int64(n), old.extent(), c.of(old))
	case CombinerVector:
		return c.repeat(int64(n), int64(t.integers[2])*old.extent(), c.repeat(int64(t.integers[1]), old.extent(), c.of(old)))
	case CombinerHVector:
		return c.repeat(int64(n), t.addresses[0], c.repeat(int64(t.integers[1]), old.extent(), c.of(old)))
	}
	b := c.builder(n)
	for i := range n {
		switch t.combiner {
		case CombinerIndexed:
			b.block(int64(t.integers[1+n+i])*old.extent(), t.integers[1+i], old)
		case CombinerHIndexed:
			b.block(t.addresses[i], t.integers[1+i], old)
		case CombinerIndexedBlock:
			b.block(int64(t.integers[2+i])*old.extent(), t.integers[1], old)
		case CombinerHIndexedBlock:
			b.block(t.addresses[i], t.integers[1], old)
		}
	}
	return b.finish()
}

// repeat is b count times, stride bytes apart.
func (c *compiler) repeat(count, stride int64, b *body) *body {
	if count == 0 || len(b.ops) == 0 {
		return &body{}
	}
	if count == 1 {
		return b
	}
	r := c.builder(1)
	if len(b.ops) == 1 {
		o := b.ops[0]
		switch {
		case o.count == 1 && o.body == nil && o.size == stride:
			o.size *= count
			r.ops = append(r.ops, o)
			return r.finish()
		case o.count == 1:
			o.count, o.stride = count, stride
			r.ops = append(r.ops, o)
			return r.finish()
		case o.continues(stride):
			o.count *= count
			r.ops = append(r.ops, o)
			return r.finish()
		}
	}
	if n := int64(len(b.ops)); count <= inlineOps/n {
		for i := range count {
			r.body(i*stride, b)
		}
		return r.finish()
	}
	r.ops = append(r.ops, op{count: count, stride: stride, size: b.size, body: b})
	return r.finish()
}

// builder collects the ops of one body.
type builder struct {
	c   *compiler
	ops []op

	// Repeated blocks seen so far: lists whose blocks are all alike, or come in a few lengths, share their bodies. The last one is
	// looked at first.
	last   *body
	lastOf repeated
	seen   map[repeated]*body
}

// repeated names n consecutive items of t.
type repeated struct {
	t *Type
	n int
}

// maxSeen bounds builder.seen.
const maxSeen = 1024

func (c *compiler) builder(n int) *builder { return &builder{c: c, ops: make([]op, 0, n)} }

// block adds n consecutive items of t.
func (b *builder) block(disp int64, n int, t *Type) {
	if n == 0 || t.elems == 0 {
		return
	}
	if key := (repeated{t, n}); b.last == nil || b.lastOf != key {
		b.last, b.lastOf = b.repeat(key), key
	}
	b.body(disp, b.last)
}

func (b *builder) repeat(key repeated) *body {
	in := b.seen[key]
	if in == nil {
		in = b.c.repeat(int64(key.n), key.t.extent(), b.c.of(key.t))
		if b.seen == nil {
			b.seen = map[repeated]*body{}
		}
		if len(b.seen) < maxSeen {
			b.seen[key] = in
		}
	}
	return in
}

// body adds an existing body, its ops themselves when they are few.
func (b *builder) body(disp int64, in *body) {
	if n := len(in.ops); n > inlineOps || (n > inlineMany && len(b.ops) > manyOps) {
		b.ops = append(b.ops, op{disp: disp, count: 1, size: in.size, body: in})
		return
	}
	for _, o := range in.ops {
		o.disp += disp
		b.ops = append(b.ops, o)
	}
}

// finish merges what can be merged and fixes the packed offsets.
func (b *builder) finish() *body {
	ops := b.merge()
	out := &body{ops: append(make([]op, 0, len(ops)), ops...)} // exactly as large as needed: it lives as long as the type
	for i := range out.ops {
		o := &out.ops[i]
		o.off = out.size
		out.size += o.packed()
		switch {
		case o.body != nil:
			out.elems += o.count * o.body.elems
		case o.kind != KindNone:
			out.elems += o.packed() / int64(o.kind.Size())
		}
	}
	blocks := int64(0)
	for i := len(out.ops) - 1; i >= 0; i-- {
		o := &out.ops[i]
		o.runs = 0
		blocks += min(o.count, maxColumns+1)
		if o.body == nil {
			o.runs = 1
			if i+1 < len(out.ops) {
				o.runs = min(out.ops[i+1].runs+1, maxRuns)
			}
		}
	}
	if len(out.ops) == 1 {
		o := &out.ops[0]
		out.plane = o.body == nil && (o.count >= minPlane || o.size > maxApart)
	}
	out.columns = len(out.ops) > 0 && !out.plane && int(out.ops[0].runs) == len(out.ops) && blocks <= maxColumns && out.size <= maxColumnBytes
	return out
}

// merge makes few ops of many. Neighbours that touch are joined, unless they are small and most have none: then equally large
// blocks that are listed as they are move faster than joined ones of all sizes.
func (b *builder) merge() []op {
	n := len(b.ops)
	var apart []op
	if n >= minList && b.ops[0].size <= maxApart && b.alike() {
		apart = b.lists(b.rows(slices.Clone(b.ops)))
	}
	ops := b.lists(b.rows(b.join(b.ops)))
	if apart != nil && cost(apart) < cost(ops) {
		return apart
	}
	return ops
}

// alike tells whether all ops are single blocks of one size.
func (b *builder) alike() bool {
	for i := range b.ops {
		if o := &b.ops[i]; o.body != nil || o.count != 1 || o.size != b.ops[0].size {
			return false
		}
	}
	return true
}

// cost estimates what moving ops takes, in units of a small block of a row.
func cost(ops []op) int64 {
	n := int64(0)
	for i := range ops {
		n += opCost + ops[i].count*(1+ops[i].size/32)
	}
	return n
}

// join makes one block of neighbouring single blocks that also touch in memory.
func (b *builder) join(ops []op) []op {
	out := ops[:0]
	for _, o := range ops {
		if n := len(out) - 1; n >= 0 {
			l := &out[n]
			if l.body == nil && o.body == nil && l.count == 1 && o.count == 1 && l.disp+l.size == o.disp &&
				(l.kind == o.kind || !b.c.typed) {
				l.size += o.size
				if l.kind != o.kind {
					l.kind = KindNone
				}
				continue
			}
		}
		out = append(out, o)
	}
	return out
}

// rows makes one op of neighbours that do the same at a regular distance.
func (b *builder) rows(ops []op) []op {
	out := ops[:0]
	for _, o := range ops {
		if n := len(out) - 1; n >= 0 && out[n].absorb(&o, b.c.typed) {
			continue
		}
		out = append(out, o)
	}
	return out
}

// absorb makes o the continuation of l, if it is one.
func (l *op) absorb(o *op, typed bool) bool {
	if l.size != o.size || l.body != o.body || l.list != nil || o.list != nil || (typed && l.kind != o.kind) {
		return false
	}
	stride := o.disp - l.disp
	switch {
	case l.count == 1 && o.count == 1:
	case l.count == 1 && o.stride == stride:
	case o.count == 1 && l.continues(stride):
		stride = l.stride
	case l.count > 1 && o.count > 1 && l.stride == o.stride && l.continues(stride):
		stride = l.stride
	default:
		return false
	}
	l.count += o.count
	l.stride = stride
	if l.kind != o.kind {
		l.kind = KindNone
	}
	return true
}

// lists makes one op of neighbouring short rows of equally large blocks.
func (b *builder) lists(ops []op) []op {
	out := ops[:0]
	for i := 0; i < len(ops); {
		first, blocks, n := ops[i], int64(0), 0
		for _, o := range ops[i:] {
			if o.body != nil || o.list != nil || o.count >= minRow || o.size != first.size || (b.c.typed && o.kind != first.kind) {
				break
			}
			blocks += o.count
			n++
		}
		if n < 2 || blocks < minList {
			out = append(out, first)
			i++
			continue
		}
		disps := make([]int64, 0, blocks)
		kind := first.kind
		for _, o := range ops[i : i+n] {
			if o.kind != kind {
				kind = KindNone
			}
			for k := range o.count {
				disps = append(disps, o.disp-first.disp+o.nth(k))
			}
		}
		out = append(out, op{disp: first.disp, count: blocks, size: first.size, list: &disps, kind: kind})
		i += n
	}
	return out
}

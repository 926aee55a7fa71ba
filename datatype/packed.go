package datatype

// Packed is the type of what an item of t packs to: the same elements in the same order, without gaps. Packed data described by
// it, not by [Byte], still is what it was to a receiver and to the conversion between architectures. It is t itself where t
// has no gaps, and committed.
func (t *Type) Packed() *Type {
	if t.Contiguous() {
		return t
	}
	if p := t.packed.Load(); p != nil {
		return p
	}
	p := t.makePacked()
	p.program()
	t.packed.CompareAndSwap(nil, p)
	return t.packed.Load()
}

func (t *Type) makePacked() *Type {
	switch {
	case t.elems == 0:
		return dense(0, Byte)
	case t.uniform != KindNone:
		return dense(t.elems, ofKind(t.uniform))
	}
	return packedBody(t.typedBody())
}

// packedBody describes the packed stream of a typed body. All sizes are parts of a type's, so that nothing overflows.
func packedBody(b *body) *Type {
	lens, disps, types := make([]int, len(b.ops)), make([]int64, len(b.ops)), make([]*Type, len(b.ops))
	for i := range b.ops {
		o := &b.ops[i]
		lens[i], disps[i] = 1, o.off
		if o.body != nil {
			types[i] = dense(o.count, packedBody(o.body))
		} else {
			types[i] = dense(o.elems(o.count), ofKind(o.kind))
		}
	}
	s, err := Struct(lens, disps, types)
	if err == nil {
		s, err = Resized(s, 0, b.size)
	}
	if err != nil {
		panic(err)
	}
	return s
}

// dense is n items of a type without gaps.
func dense(n int64, t *Type) *Type {
	if n == 1 {
		return t
	}
	s := newSum()
	s.blocks(0, 1, 0, n, &t.layout)
	d, err := one(s, "packed", CombinerContiguous, []int{int(n)}, nil, t)
	if err != nil {
		panic(err)
	}
	return d
}

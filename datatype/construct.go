package datatype

import "slices"

// one finishes a constructor with a single old type.
func one(s *sum, what string, c Combiner, ints []int, addrs []int64, t *Type) (*Type, error) {
	l, err := s.finish(what)
	if err != nil {
		return nil, err
	}
	return &Type{layout: l, combiner: c, integers: ints, addresses: addrs, types: []*Type{t}}, nil
}

func checkOld(what string, t *Type) error {
	if t == nil {
		return errType("%s: the old type is nil", what)
	}
	return nil
}

func checkBlocks(what string, blocklens []int, displs int) error {
	if len(blocklens) != displs {
		return errArg("%s: %d block lengths for %d displacements", what, len(blocklens), displs)
	}
	for i, n := range blocklens {
		if n < 0 {
			return errArg("%s: block length %d at index %d is negative", what, n, i)
		}
	}
	return nil
}

// Contiguous is count items of t, one extent apart (MPI_Type_contiguous).
func Contiguous(count int, t *Type) (*Type, error) {
	const what = "contiguous"
	if err := checkOld(what, t); err != nil {
		return nil, err
	}
	if count < 0 {
		return nil, errCount("%s: count %d is negative", what, count)
	}
	s := newSum()
	s.blocks(0, 1, 0, int64(count), &t.layout)
	return one(s, what, CombinerContiguous, []int{count}, nil, t)
}

func checkVector(what string, count, blocklen int, t *Type) error {
	if err := checkOld(what, t); err != nil {
		return err
	}
	if count < 0 {
		return errCount("%s: count %d is negative", what, count)
	}
	if blocklen < 0 {
		return errArg("%s: block length %d is negative", what, blocklen)
	}
	return nil
}

// Vector is count blocks of blocklen items of t, stride extents of t apart (MPI_Type_vector).
func Vector(count, blocklen, stride int, t *Type) (*Type, error) {
	const what = "vector"
	if err := checkVector(what, count, blocklen, t); err != nil {
		return nil, err
	}
	s := newSum()
	// A stride that no second block uses must not overflow the type.
	if count > 1 && blocklen > 0 {
		s.blocks(0, int64(count), s.mul(int64(stride), t.extent()), int64(blocklen), &t.layout)
	} else {
		s.blocks(0, int64(count), 0, int64(blocklen), &t.layout)
	}
	return one(s, what, CombinerVector, []int{count, blocklen, stride}, nil, t)
}

// HVector is Vector with the stride in bytes (MPI_Type_create_hvector).
func HVector(count, blocklen int, strideBytes int64, t *Type) (*Type, error) {
	const what = "hvector"
	if err := checkVector(what, count, blocklen, t); err != nil {
		return nil, err
	}
	s := newSum()
	s.blocks(0, int64(count), strideBytes, int64(blocklen), &t.layout)
	return one(s, what, CombinerHVector, []int{count, blocklen}, []int64{strideBytes}, t)
}

// Indexed is one block per entry: blocklens[i] items of t, displs[i] extents of t from the origin (MPI_Type_indexed).
func Indexed(blocklens, displs []int, t *Type) (*Type, error) {
	const what = "indexed"
	if err := checkOld(what, t); err != nil {
		return nil, err
	}
	if err := checkBlocks(what, blocklens, len(displs)); err != nil {
		return nil, err
	}
	s := newSum()
	for i, n := range blocklens {
		if n > 0 {
			s.blocks(s.mul(int64(displs[i]), t.extent()), 1, 0, int64(n), &t.layout)
		}
	}
	ints := slices.Concat([]int{len(displs)}, blocklens, displs)
	return one(s, what, CombinerIndexed, ints, nil, t)
}

// HIndexed is Indexed with displacements in bytes (MPI_Type_create_hindexed).
func HIndexed(blocklens []int, displsBytes []int64, t *Type) (*Type, error) {
	const what = "hindexed"
	if err := checkOld(what, t); err != nil {
		return nil, err
	}
	if err := checkBlocks(what, blocklens, len(displsBytes)); err != nil {
		return nil, err
	}
	s := newSum()
	for i, n := range blocklens {
		s.blocks(displsBytes[i], 1, 0, int64(n), &t.layout)
	}
	ints := slices.Concat([]int{len(displsBytes)}, blocklens)
	return one(s, what, CombinerHIndexed, ints, slices.Clone(displsBytes), t)
}

// IndexedBlock is Indexed with all blocks of the same length (MPI_Type_create_indexed_block).
func IndexedBlock(blocklen int, displs []int, t *Type) (*Type, error) {
	const what = "indexed block"
	if err := checkVector(what, 0, blocklen, t); err != nil {
		return nil, err
	}
	s := newSum()
	if blocklen > 0 {
		for _, d := range displs {
			s.blocks(s.mul(int64(d), t.extent()), 1, 0, int64(blocklen), &t.layout)
		}
	}
	ints := slices.Concat([]int{len(displs), blocklen}, displs)
	return one(s, what, CombinerIndexedBlock, ints, nil, t)
}

// HIndexedBlock is IndexedBlock with displacements in bytes (MPI_Type_create_hindexed_block).
func HIndexedBlock(blocklen int, displsBytes []int64, t *Type) (*Type, error) {
	const what = "hindexed block"
	if err := checkVector(what, 0, blocklen, t); err != nil {
		return nil, err
	}
	s := newSum()
	for _, d := range displsBytes {
		s.blocks(d, 1, 0, int64(blocklen), &t.layout)
	}
	return one(s, what, CombinerHIndexedBlock, []int{len(displsBytes), blocklen}, slices.Clone(displsBytes), t)
}

// Struct is one block per entry: blocklens[i] items of types[i], displsBytes[i] bytes from the origin (MPI_Type_create_struct).
func Struct(blocklens []int, displsBytes []int64, types []*Type) (*Type, error) {
	const what = "struct"
	if err := checkBlocks(what, blocklens, len(displsBytes)); err != nil {
		return nil, err
	}
	if len(types) != len(blocklens) {
		return nil, errArg("%s: %d types for %d blocks", what, len(types), len(blocklens))
	}
	s := newSum()
	for i, t := range types {
		if t == nil {
			return nil, errType("%s: the type at index %d is nil", what, i)
		}
		s.blocks(displsBytes[i], 1, 0, int64(blocklens[i]), &t.layout)
	}
	l, err := s.finish(what)
	if err != nil {
		return nil, err
	}
	return &Type{
		layout: l, combiner: CombinerStruct,
		integers:  slices.Concat([]int{len(blocklens)}, blocklens),
		addresses: slices.Clone(displsBytes),
		types:     slices.Clone(types),
	}, nil
}

// Resized is t with the given lower bound and extent, in bytes, which no longer depend on its data (MPI_Type_create_resized).
func Resized(t *Type, lb, extent int64) (*Type, error) {
	const what = "resized"
	if err := checkOld(what, t); err != nil {
		return nil, err
	}
	var c calc
	l := t.layout
	l.lb, l.ub, l.explicit = lb, c.add(lb, extent), true
	if c.overflow {
		return nil, errArg("%s: lower bound %d and extent %d exceed 64 bits", what, lb, extent)
	}
	return &Type{layout: l, combiner: CombinerResized, addresses: []int64{lb, extent}, types: []*Type{t}}, nil
}

// Dup is a type of its own equal to t, committed if t is; it has no name (MPI_Type_dup).
func (t *Type) Dup() *Type {
	d := &Type{layout: t.layout, combiner: CombinerDup, types: []*Type{t}, fault: t.fault}
	d.copyAttributes(t)
	if t.Committed() {
		d.program()
	}
	return d
}

package datatype

import "slices"

// Order says which index of an array changes fastest in memory: the last (C, Go) or the first (Fortran).
type Order int

const (
	OrderC Order = iota
	OrderFortran
)

// Distribution says how one dimension of an array is dealt out to processes.
type Distribution int

const (
	Block  Distribution = iota // one piece per process
	Cyclic                     // pieces of the distribution argument's size, in turn
	None                       // not distributed
)

// DefaultArg is the default distribution argument: even blocks, or cycles of one.
const DefaultArg = -1

// like wraps inner, an array type spelled with other constructors, as the type of the given constructor.
func like(inner *Type, c Combiner, ints []int, t *Type) *Type {
	return &Type{layout: inner.layout, combiner: c, integers: ints, types: []*Type{t}, made: inner}
}

// fastestFirst gives the dimensions in the order in which they nest, innermost first.
func fastestFirst(n int, order Order) []int {
	dims := make([]int, n)
	for i := range dims {
		dims[i] = i
	}
	if order == OrderC {
		slices.Reverse(dims)
	}
	return dims
}

// Subarray is the part of an n-dimensional array of t that begins at starts and is subsizes wide; its extent is the whole array
// (MPI_Type_create_subarray).
func Subarray(sizes, subsizes, starts []int, order Order, t *Type) (*Type, error) {
	const what = "subarray"
	if err := checkOld(what, t); err != nil {
		return nil, err
	}
	n := len(sizes)
	switch {
	case n == 0:
		return nil, errArg("%s: no dimensions", what)
	case len(subsizes) != n || len(starts) != n:
		return nil, errArg("%s: %d sizes, %d subsizes and %d starts must be equally many", what, n, len(subsizes), len(starts))
	case order != OrderC && order != OrderFortran:
		return nil, errArg("%s: unknown order %d", what, order)
	}
	for i := range sizes {
		if sizes[i] < 1 || subsizes[i] < 1 || subsizes[i] > sizes[i] || starts[i] < 0 || starts[i] > sizes[i]-subsizes[i] {
			return nil, errArg("%s: dimension %d has size %d, subsize %d, start %d; the part must lie inside and not be empty",
				what, i, sizes[i], subsizes[i], starts[i])
		}
	}
	inner := t
	var err error
	for _, d := range fastestFirst(n, order) {
		if inner, err = slab(what, inner, sizes[d], subsizes[d], subsizes[d], 1, starts[d]); err != nil {
			return nil, err
		}
	}
	return like(inner, CombinerSubarray, slices.Concat([]int{n}, sizes, subsizes, starts, []int{int(order)}), t), nil
}

// slab adds one dimension of gsize indexes around t, which is one index of it: selected are blocks of b indexes, the first at
// start, each stride blocks after the one before, mine indexes in all, the last block possibly short.
func slab(what string, t *Type, gsize, mine, b, stride, start int) (*Type, error) {
	var c calc
	ext := t.extent()
	full, rest := mine/b, mine%b
	step := c.mul(c.mul(int64(b), int64(stride)), ext)
	if full == 0 || (full == 1 && rest == 0) {
		step, c = 0, calc{}
	}
	first := c.mul(int64(start), ext)
	tail := c.add(first, c.mul(int64(full), step))
	whole := c.mul(int64(gsize), ext)
	if c.overflow {
		return nil, errCount("%s: the array exceeds 64 bits", what)
	}
	blocks, err := HVector(full, b, step, t)
	if err != nil {
		return nil, err
	}
	s, err := Struct([]int{1, rest}, []int64{first, tail}, []*Type{blocks, t})
	if err != nil {
		return nil, err
	}
	return Resized(s, 0, whole)
}

// Darray is the part of an n-dimensional array of t that process rank of size owns; the processes form a grid psizes wide in
// row-major order (MPI_Type_create_darray). A process that owns nothing gets a type without data.
func Darray(size, rank int, gsizes []int, distribs []Distribution, dargs, psizes []int, order Order, t *Type) (*Type, error) {
	const what = "darray"
	if err := checkOld(what, t); err != nil {
		return nil, err
	}
	n := len(gsizes)
	switch {
	case n == 0:
		return nil, errArg("%s: no dimensions", what)
	case len(distribs) != n || len(dargs) != n || len(psizes) != n:
		return nil, errArg("%s: %d sizes, %d distributions, %d arguments and %d process counts must be equally many",
			what, n, len(distribs), len(dargs), len(psizes))
	case order != OrderC && order != OrderFortran:
		return nil, errArg("%s: unknown order %d", what, order)
	case size < 1 || rank < 0 || rank >= size:
		return nil, errArg("%s: rank %d of %d processes", what, rank, size)
	}
	grid := 1
	for i := range gsizes {
		if gsizes[i] < 1 || psizes[i] < 1 {
			return nil, errArg("%s: dimension %d has size %d over %d processes; both must be positive", what, i, gsizes[i], psizes[i])
		}
		if grid > size/psizes[i] {
			return nil, errArg("%s: the process grid %v has more than %d processes", what, psizes, size)
		}
		grid *= psizes[i]
	}
	if grid != size {
		return nil, errArg("%s: the process grid %v has %d processes, not %d", what, psizes, grid, size)
	}
	coords := make([]int, n)
	for i, r := n-1, rank; i >= 0; i-- {
		coords[i], r = r%psizes[i], r/psizes[i]
	}
	inner := t
	for _, d := range fastestFirst(n, order) {
		b, err := blockSize(d, gsizes[d], psizes[d], distribs[d], dargs[d])
		if err != nil {
			return nil, err
		}
		start, mine := share(gsizes[d], psizes[d], coords[d], b)
		if inner, err = slab(what, inner, gsizes[d], mine, b, psizes[d], start); err != nil {
			return nil, err
		}
	}
	ints := slices.Concat([]int{size, rank, n}, gsizes)
	for _, d := range distribs {
		ints = append(ints, int(d))
	}
	return like(inner, CombinerDarray, slices.Concat(ints, dargs, psizes, []int{int(order)}), t), nil
}

// blockSize is the length of the pieces in which dimension d is dealt out.
func blockSize(d, gsize, procs int, dist Distribution, arg int) (int, error) {
	switch {
	case dist != Block && dist != Cyclic && dist != None:
		return 0, errArg("darray: dimension %d has unknown distribution %d", d, dist)
	case arg < 1 && arg != DefaultArg && dist != None:
		return 0, errArg("darray: dimension %d has distribution argument %d; use a positive number or DefaultArg", d, arg)
	case dist == None && procs != 1:
		return 0, errArg("darray: dimension %d is not distributed but has %d processes; it must have 1", d, procs)
	}
	even := (gsize-1)/procs + 1
	switch {
	case dist == None:
		return gsize, nil
	case dist == Cyclic && arg == DefaultArg:
		return 1, nil
	case arg == DefaultArg:
		return even, nil
	case dist == Block && arg < even:
		return 0, errArg("darray: dimension %d: blocks of %d on %d processes do not cover %d indexes", d, arg, procs, gsize)
	}
	return min(arg, gsize), nil
}

// share tells where process p of procs begins and how many of gsize indexes it owns when pieces of b are dealt out in turn.
func share(gsize, procs, p, b int) (start, mine int) {
	pieces := gsize / b // whole ones; process pieces%procs has the short one, if any
	mine = pieces / procs * b
	if p < pieces%procs {
		mine += b
	}
	if p == pieces%procs {
		mine += gsize % b
	}
	if mine == 0 {
		return 0, 0
	}
	return p * b, mine
}

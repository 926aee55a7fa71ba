package datatype

import (
	"slices"
	"unsafe"

	"pgregory.net/rapid"
)

// This file is the standard's definition of a datatype, spelled out one element at a time from what Envelope and Contents say:
// slow, and nothing of the compiled form is used.

type element struct {
	kind Kind
	disp int64
}

type typemap struct {
	elems    []element
	lbs, ubs []int64 // explicit bounds
}

func (m *typemap) add(o typemap, disp int64) {
	for _, e := range o.elems {
		m.elems = append(m.elems, element{e.kind, e.disp + disp})
	}
	for i := range o.lbs {
		m.lbs, m.ubs = append(m.lbs, o.lbs[i]+disp), append(m.ubs, o.ubs[i]+disp)
	}
}

func (m *typemap) trueBounds() (lb, ub int64) {
	for i, e := range m.elems {
		end := e.disp + int64(e.kind.Size())
		if i == 0 {
			lb, ub = e.disp, end
		}
		lb, ub = min(lb, e.disp), max(ub, end)
	}
	return
}

func (m *typemap) bounds() (lb, ub int64) {
	if len(m.lbs) > 0 {
		return slices.Min(m.lbs), slices.Max(m.ubs)
	}
	lb, ub = m.trueBounds()
	align := int64(1)
	for _, e := range m.elems {
		align = max(align, kinds[e.kind].align)
	}
	for (ub-lb)%align != 0 {
		ub++
	}
	return
}

func (m *typemap) extent() int64 {
	lb, ub := m.bounds()
	return ub - lb
}

// times is n items of m at disp.
func (m *typemap) times(out *typemap, n int, disp int64) {
	extent := m.extent()
	for i := range n {
		out.add(*m, disp+int64(i)*extent)
	}
}

// mapOf is the type map of t by the definitions of MPI-3.1 section 4.1.
func mapOf(t *Type) typemap {
	ints, addrs, types := t.Contents()
	var old, m typemap
	if len(types) > 0 {
		old = mapOf(types[0])
	}
	ext := old.extent()
	switch t.Envelope().Combiner {
	case CombinerNamed:
		m.elems = []element{{t.Kind(), 0}}
	case CombinerDup:
		m = old
	case CombinerResized:
		m = typemap{old.elems, []int64{addrs[0]}, []int64{addrs[0] + addrs[1]}}
	case CombinerContiguous:
		old.times(&m, ints[0], 0)
	case CombinerVector:
		for i := range ints[0] {
			old.times(&m, ints[1], int64(i)*int64(ints[2])*ext)
		}
	case CombinerHVector:
		for i := range ints[0] {
			old.times(&m, ints[1], int64(i)*addrs[0])
		}
	case CombinerIndexed:
		n := ints[0]
		for i := range n {
			old.times(&m, ints[1+i], int64(ints[1+n+i])*ext)
		}
	case CombinerHIndexed:
		for i := range ints[0] {
			old.times(&m, ints[1+i], addrs[i])
		}
	case CombinerIndexedBlock:
		for i := range ints[0] {
			old.times(&m, ints[1], int64(ints[2+i])*ext)
		}
	case CombinerHIndexedBlock:
		for i := range ints[0] {
			old.times(&m, ints[1], addrs[i])
		}
	case CombinerStruct:
		for i := range ints[0] {
			o := mapOf(types[i])
			o.times(&m, ints[1+i], addrs[i])
		}
	case CombinerSubarray:
		n := ints[0]
		sizes, subs, starts := ints[1:1+n], ints[1+n:1+2*n], ints[1+2*n:1+3*n]
		m = arrayMap(old, sizes, Order(ints[1+3*n]), func(d, i int) bool { return i >= starts[d] && i < starts[d]+subs[d] })
	case CombinerDarray:
		m = darrayMap(old, ints)
	}
	return m
}

func darrayMap(old typemap, ints []int) typemap {
	rank, n := ints[1], ints[2]
	at := func(k int) []int { return ints[3+k*n : 3+(k+1)*n] }
	gsizes, distribs, dargs, psizes := at(0), at(1), at(2), at(3)
	coords := make([]int, n)
	for d, procs, r := 0, ints[0], rank; d < n; d++ {
		procs /= psizes[d]
		coords[d], r = r/procs, r%procs
	}
	return arrayMap(old, gsizes, Order(ints[3+4*n]), func(d, i int) bool {
		switch b := dargs[d]; Distribution(distribs[d]) {
		case Block:
			if b == DefaultArg {
				b = (gsizes[d] + psizes[d] - 1) / psizes[d]
			}
			return i/b == coords[d]
		case Cyclic:
			if b == DefaultArg {
				b = 1
			}
			return i/b%psizes[d] == coords[d]
		}
		return true
	})
}

// arrayMap visits all elements of an array in memory order and takes those whose every index is chosen.
func arrayMap(old typemap, sizes []int, order Order, chosen func(dim, index int) bool) typemap {
	var m typemap
	total := 1
	for _, s := range sizes {
		total *= s
	}
	for i := range total {
		take, rest := true, i
		for k := range sizes {
			d := k
			if order == OrderC {
				d = len(sizes) - 1 - k
			}
			take = take && chosen(d, rest%sizes[d])
			rest /= sizes[d]
		}
		if take {
			m.add(typemap{elems: old.elems}, int64(i)*old.extent())
		}
	}
	m.lbs, m.ubs = []int64{0}, []int64{int64(total) * old.extent()}
	return m
}

// offsets lists, for each packed byte of count items, its displacement in memory.
func (m *typemap) offsets(count int) []int64 {
	var out []int64
	extent := m.extent()
	for i := range count {
		for _, e := range m.elems {
			for b := range e.kind.Size() {
				out = append(out, int64(i)*extent+e.disp+int64(b))
			}
		}
	}
	return out
}

// Limits of what random types may grow to.
const (
	maxElems = 2000
	maxReach = 1 << 16
)

var basics = []*Type{Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64, Float32, Float64, Complex64, Complex128, Byte, Bool}

// draw is what a generator asks for: rapid's draws or a fuzzer's bytes.
type draw func(lo, hi int) int

func drawOf(t *rapid.T) draw {
	return func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, "n") }
}

func (d draw) list(n, lo, hi int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = d(lo, hi)
	}
	return out
}

func (d draw) list64(n, lo, hi int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(d(lo, hi))
	}
	return out
}

// randomType nests up to depth constructors; one that would exceed the limits is left out.
func randomType(d draw, depth int) *Type {
	if depth == 0 || d(0, 9) == 0 {
		return basics[d(0, len(basics)-1)]
	}
	old := randomType(d, depth-1)
	t, err := randomStep(d, old, depth)
	if err != nil {
		panic(err)
	}
	if t.elems > maxElems || max(t.trueUB, -t.trueLB, t.ub, -t.lb) > maxReach {
		return old
	}
	return t
}

func randomStep(d draw, old *Type, depth int) (*Type, error) {
	return randomOf(d, Combiner(d(int(CombinerDup), int(CombinerResized))), old, depth)
}

// randomOf is a type made of old by the constructor c.
func randomOf(d draw, c Combiner, old *Type, depth int) (*Type, error) {
	switch c {
	case CombinerDup:
		return old.Dup(), nil
	case CombinerContiguous:
		return Contiguous(d(0, 12), old)
	case CombinerVector:
		return Vector(d(0, 12), d(0, 4), d(-6, 6), old)
	case CombinerHVector:
		return HVector(d(0, 12), d(0, 4), int64(d(-200, 200)), old)
	case CombinerIndexed:
		n := d(0, 12)
		return Indexed(d.list(n, 0, 3), d.list(n, -5, 20), old)
	case CombinerHIndexed:
		n := d(0, 12)
		return HIndexed(d.list(n, 0, 3), d.list64(n, -50, 300), old)
	case CombinerIndexedBlock:
		n := d(0, 12)
		return IndexedBlock(d(0, 3), d.list(n, -5, 20), old)
	case CombinerHIndexedBlock:
		n := d(0, 12)
		return HIndexedBlock(d(0, 3), d.list64(n, -50, 300), old)
	case CombinerStruct:
		n := d(0, 4)
		types := make([]*Type, n)
		for i := range types {
			types[i] = old
			if d(0, 1) == 1 {
				types[i] = randomType(d, depth-1)
			}
		}
		return Struct(d.list(n, 0, 3), d.list64(n, -50, 300), types)
	case CombinerSubarray:
		n := d(1, 3)
		sizes := d.list(n, 1, 5)
		subs, starts := make([]int, n), make([]int, n)
		for i, s := range sizes {
			subs[i] = d(1, s)
			starts[i] = d(0, s-subs[i])
		}
		return Subarray(sizes, subs, starts, Order(d(0, 1)), old)
	case CombinerDarray:
		return randomDarray(d, old)
	}
	return Resized(old, int64(d(-20, 20)), int64(d(-10, 100)))
}

func randomDarray(d draw, old *Type) (*Type, error) {
	n := d(1, 3)
	gsizes, psizes, dargs := d.list(n, 1, 6), d.list(n, 1, 3), make([]int, n)
	distribs := make([]Distribution, n)
	size := 1
	for i := range distribs {
		distribs[i] = Distribution(d(0, 2))
		dargs[i] = DefaultArg
		switch distribs[i] {
		case Cyclic:
			if d(0, 1) == 1 {
				dargs[i] = d(1, 7)
			}
		case Block:
			if d(0, 1) == 1 {
				dargs[i] = (gsizes[i]+psizes[i]-1)/psizes[i] + d(0, 2)
			}
		case None:
			psizes[i] = 1
		}
		size *= psizes[i]
	}
	return Darray(size, d(0, size-1), gsizes, distribs, dargs, psizes, Order(d(0, 1)), old)
}

// arena is memory for count items of a type, with room around it; at(disp) is a byte of it.
type arena struct {
	mem    []byte
	origin int64
}

func newArena(t *Type, count int64) *arena {
	lo, hi, err := t.Span(count)
	if err != nil {
		panic(err)
	}
	lo, hi = min(lo, 0)-16, max(hi, 0)+16
	return &arena{make([]byte, hi-lo), -lo}
}

func (a *arena) base() unsafe.Pointer { return unsafe.Pointer(&a.mem[a.origin]) }

func (a *arena) at(disp int64) *byte { return &a.mem[a.origin+disp] }

// fill gives every byte a value that tells it from its neighbours near and far.
func (a *arena) fill() {
	for i := range a.mem {
		a.mem[i] = byte(i*7 + i>>8*13 + 1)
	}
}

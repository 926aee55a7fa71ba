package patterns

import "unsafe"

// loop is n steps of stride elements.
type loop struct{ n, stride int }

// part is a nest of loops, or a list of places, over one array of numbers of 4 or 8 bytes.
type part struct {
	at    int     // byte at which it begins, from the datatype's beginning
	elem  int     // bytes of a number: 4 or 8
	loops [3]loop // outermost first; the zero value is a loop of one step
	index []int   // instead of loops: the number at which each block begins
	block int     // numbers side by side
}

func (p part) bytes() int {
	n := p.elem * p.block
	if p.index != nil {
		return n * len(p.index)
	}
	for _, l := range p.loops {
		n *= max(l.n, 1)
	}
	return n
}

// move copies between the array and its packed form.
func (p part) move(mem, packed []byte, back bool) {
	if p.elem == 8 {
		walk(p, numbers[uint64](mem[p.at:]), numbers[uint64](packed), back)
	} else {
		walk(p, numbers[uint32](mem[p.at:]), numbers[uint32](packed), back)
	}
}

// numbers sees memory, which begins aligned, as numbers.
func numbers[T uint32 | uint64](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}

func walk[T uint32 | uint64](p part, array, packed []T, back bool) {
	n := p.block
	for _, first := range p.index {
		step(array[first:first+n], packed[:n], back)
		packed = packed[n:]
	}
	if p.index != nil {
		return
	}
	a, b, c := p.loops[0], p.loops[1], p.loops[2]
	for i := range max(a.n, 1) {
		for j := range max(b.n, 1) {
			for k := range max(c.n, 1) {
				first := i*a.stride + j*b.stride + k*c.stride
				step(array[first:first+n], packed[:n], back)
				packed = packed[n:]
			}
		}
	}
}

// step copies one block; small enough for the compiler to put it into the loops.
func step[T uint32 | uint64](array, packed []T, back bool) {
	if len(array) > 8 {
		row(array, packed, back)
		return
	}
	for i := range array {
		if back {
			array[i] = packed[i]
		} else {
			packed[i] = array[i]
		}
	}
}

// row copies a long block as one would by hand in Go.
func row[T uint32 | uint64](array, packed []T, back bool) {
	if back {
		copy(array, packed)
	} else {
		copy(packed, array)
	}
}

// scattered gives n numbers in ascending order whose distances vary from 1 to 8; they are below 8n. The same in every program.
func scattered(n int) []int {
	list := make([]int, n)
	state, at := uint32(1), 0
	for i := range list {
		list[i] = at
		state = state*1664525 + 1013904223
		at += 1 + int(state>>29)
	}
	return list
}

// shuffle puts a list in an order without order; the same in every program.
func shuffle(list []int) []int {
	state := uint32(1)
	for i := len(list) - 1; i > 0; i-- {
		state = state*1664525 + 1013904223
		j := int(state>>8) % (i + 1)
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// times multiplies every place of a list.
func times(list []int, by int) []int {
	out := make([]int, len(list))
	for i, v := range list {
		out[i] = v * by
	}
	return out
}

package datatype

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// Layouts of applications, after the data exchanged by NAS LU and MG, MILC, WRF, LAMMPS, SPECFEM3D and a parallel FFT, each with the
// loop that one would write by hand for it.

// appLayout is one message: a type over float32 memory, and the loop by hand that packs or unpacks it.
type appLayout struct {
	name string
	typ  *Type
	hand func(packed, mem []float32, unpack bool)
}

// both copies as many floats as both have, either way.
func both(packed, mem []float32, unpack bool) {
	if unpack {
		copy(mem, packed)
	} else {
		copy(packed, mem)
	}
}

func appLayouts() []appLayout {
	r := rand.New(rand.NewPCG(3, 5))
	// places gives n places of blocks of width floats, ascending and irregular, some of them neighbours.
	places := func(n, width int) []int {
		p, at := make([]int, n), 0
		for i := range p {
			at += width * (1 + r.IntN(3)*r.IntN(3))
			p[i] = at
		}
		return p
	}
	blocks := func(dst, mem []float32, un bool, at []int, width int) []float32 {
		for _, p := range at {
			both(dst[:width], mem[p:p+width], un)
			dst = dst[width:]
		}
		return dst
	}
	rows := func(dst, mem []float32, un bool, first, n, width, stride int) []float32 {
		for i := range n {
			at := first + i*stride
			both(dst[:width], mem[at:at+width], un)
			dst = dst[width:]
		}
		return dst
	}
	bytesOf := func(at []int) []int64 {
		b := make([]int64, len(at))
		for i, p := range at {
			b[i] = 4 * int64(p)
		}
		return b
	}
	atoms, cells, ocean := places(3000, 6), places(3000, 3), places(20000, 1)
	same := func(t *Type) []*Type { return []*Type{t, t, t} }
	wrf := must(Subarray([]int{40, 30, 64}, []int{38, 28, 3}, []int{1, 1, 4}, OrderC, Float32))
	wrfY := must(Subarray([]int{40, 30, 64}, []int{38, 3, 60}, []int{1, 2, 2}, OrderC, Float32))
	const field = 40 * 30 * 64
	return []appLayout{
		{"NAS_LU_y", must(Vector(1000, 10, 10*34, Float32)), func(dst, mem []float32, un bool) { rows(dst, mem, un, 0, 1000, 10, 340) }},
		{"NAS_MG_x", must(HVector(64, 1, 66*66*8, must(Vector(64, 1, 66, Float64)))), func(dst, mem []float32, un bool) {
			for k := range 64 {
				for j := range 64 {
					at := (k*66*66 + j*66) * 2
					dst[0], dst[1] = mem[at], mem[at+1]
					dst = dst[2:]
				}
			}
		}},
		{"NAS_MG_y", must(Vector(64, 64, 66*66, Float64)), func(dst, mem []float32, un bool) { rows(dst, mem, un, 0, 64, 128, 66*66*2) }},
		{"MILC_su3_zdown", must(HVector(16, 1, 16*16*16*24, must(Vector(16, 8, 16*16, must(Contiguous(6, Float32)))))), func(dst, mem []float32, un bool) {
			for i := range 16 {
				dst = rows(dst, mem, un, i*16*16*16*6, 16, 48, 16*16*6)
			}
		}},
		{"WRF_x", must(Struct([]int{1, 1, 1}, []int64{0, 4 * field, 8 * field}, same(wrf))), func(dst, mem []float32, un bool) {
			for f := range 3 {
				for i := range 38 {
					dst = rows(dst, mem, un, f*field+((i+1)*30+1)*64+4, 28, 3, 64)
				}
			}
		}},
		{"WRF_y", must(Struct([]int{1, 1, 1}, []int64{0, 4 * field, 8 * field}, same(wrfY))), func(dst, mem []float32, un bool) {
			for f := range 3 {
				for i := range 38 {
					dst = rows(dst, mem, un, f*field+((i+1)*30+2)*64+2, 3, 60, 64)
				}
			}
		}},
		{"LAMMPS_full", must(Struct([]int{1, 1, 1}, []int64{0, 1 << 18, 1 << 19},
			[]*Type{must(HIndexedBlock(3, bytesOf(atoms), Float64)), must(HIndexedBlock(1, bytesOf(atoms), Float32)), must(HIndexedBlock(2, bytesOf(atoms), Float32))})),
			func(dst, mem []float32, un bool) {
				dst = blocks(dst, mem, un, atoms, 6)
				dst = blocks(dst, mem[1<<16:], un, atoms, 1)
				blocks(dst, mem[1<<17:], un, atoms, 2)
			}},
		{"SPECFEM3D_oc", must(IndexedBlock(1, ocean, Float32)), func(dst, mem []float32, un bool) {
			for i, p := range ocean {
				if un {
					mem[p] = dst[i]
				} else {
					dst[i] = mem[p]
				}
			}
		}},
		{"SPECFEM3D_cm", must(Struct([]int{1, 1}, []int64{0, 1 << 18}, []*Type{must(HIndexedBlock(3, bytesOf(cells), Float32)), must(HIndexedBlock(3, bytesOf(cells), Float32))})),
			func(dst, mem []float32, un bool) {
				dst = blocks(dst, mem, un, cells, 3)
				blocks(dst, mem[1<<16:], un, cells, 3)
			}},
		{"SPECFEM3D_mt", must(Vector(1000, 3, 16, Float32)), func(dst, mem []float32, un bool) { rows(dst, mem, un, 0, 1000, 3, 16) }},
		{"FFT2", must(Contiguous(16, must(Resized(must(Vector(64, 1, 64, Complex128)), 0, 16)))), func(dst, mem []float32, un bool) {
			for i := range 16 {
				dst = rows(dst, mem, un, 4*i, 64, 4, 256)
			}
		}},
		{"particles", must(Contiguous(4000, must(Struct([]int{1, 3, 1}, []int64{0, 8, 40}, []*Type{Int32, Float64, Int64})))), func(dst, mem []float32, un bool) {
			for i := range 4000 {
				from := mem[12*i : 12*i+12]
				both(dst[:1], from[:1], un)
				both(dst[1:7], from[2:8], un)
				both(dst[7:9], from[10:12], un)
				dst = dst[9:]
			}
		}},
	}
}

// memory is what one item of the layout needs, as floats.
func (l *appLayout) memory() []float32 { return make([]float32, (l.typ.trueUB+3)/4) }

func asBytes(f []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(f))), 4*len(f))
}

func TestLayouts(t *testing.T) {
	for _, l := range appLayouts() {
		t.Run(l.name, func(t *testing.T) {
			mem, back := l.memory(), l.memory()
			for i := range mem {
				mem[i] = float32(i)
			}
			n := l.typ.Size() / 4
			hand, engine := make([]float32, n), make([]float32, n)
			l.hand(hand, mem, false)
			var c Convertor
			c.Prepare(l.typ, 1, unsafe.Pointer(&mem[0]))
			c.Pack(asBytes(engine))
			if !bytes.Equal(asBytes(hand), asBytes(engine)) {
				t.Fatal("the engine packs otherwise than the loop by hand")
			}
			c.Prepare(l.typ, 1, unsafe.Pointer(&back[0]))
			c.Unpack(asBytes(engine))
			l.hand(hand, back, false)
			if !bytes.Equal(asBytes(hand), asBytes(engine)) {
				t.Fatal("what is unpacked does not pack again")
			}
		})
	}
}

func BenchmarkLayouts(b *testing.B) {
	for _, l := range appLayouts() {
		mem := l.memory()
		n := l.typ.Size()
		packed := make([]float32, n/4)
		move := func(unpack bool) func() {
			return func() {
				var c Convertor
				c.Prepare(l.typ, 1, unsafe.Pointer(&mem[0]))
				c.move(asBytes(packed), unpack)
			}
		}
		race(b, l.name+"/pack", int(n), move(false), func() { l.hand(packed, mem, false) })
		race(b, l.name+"/unpack", int(n), move(true), func() { l.hand(packed, mem, true) })
	}
}

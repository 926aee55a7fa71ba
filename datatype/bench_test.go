package datatype

import (
	"fmt"
	"testing"
	"unsafe"
)

// 1 MiB of data in blocks of some sizes, half of the memory gaps.
func BenchmarkVector(b *testing.B) {
	for _, size := range []int{1, 4, 8, 12, 16, 24, 40, 64, 256, 4096} {
		typ := must(Vector(1<<20/size, size, 2*size, Byte))
		b.Run(fmt.Sprintf("block=%d", size), func(b *testing.B) { benchMove(b, typ, 1, 1<<20) })
	}
}

func BenchmarkContiguous(b *testing.B) {
	for _, size := range []int{8, 64, 4096, 1 << 20} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) { benchMove(b, Byte, int64(size), size) })
	}
}

func BenchmarkShapes(b *testing.B) {
	irregular, touching := make([]int, 1<<17), make([]int, 1<<17)
	for i := range irregular {
		irregular[i] = 3*i + i*i%7%2
		touching[i] = 2*i + i*i%3 // some neighbours are one block
	}
	part := must(Struct([]int{1, 1}, []int64{0, 8}, []*Type{Int8, Float64}))
	b.Run("irregular 8", func(b *testing.B) { benchMove(b, must(IndexedBlock(1, irregular, Float64)), 1, 1<<20) })
	b.Run("touching 8", func(b *testing.B) { benchMove(b, must(IndexedBlock(1, touching, Float64)), 1, 1<<20) })
	b.Run("padded struct", func(b *testing.B) { benchMove(b, part, 1<<16, 9<<16) })
	b.Run("plane of 10", func(b *testing.B) { benchMove(b, must(Vector(1<<14, 1, 2, must(Vector(10, 1, 2, Float64)))), 1, 1<<20) })
	b.Run("columns", func(b *testing.B) {
		benchMove(b, must(Contiguous(100, must(Resized(must(Vector(100, 1, 100, Float64)), 0, 8)))), 1, 80000)
	})
	b.Run("fragments of 64", func(b *testing.B) { benchMove(b, part, 1<<12, 64) })
	b.Run("deep", func(b *testing.B) { benchMove(b, deep(10), 1, 1<<20) })
}

// benchMove packs and unpacks a message in fragments.
func benchMove(b *testing.B, typ *Type, count int64, fragment int) {
	if err := typ.Commit(); err != nil {
		b.Fatal(err)
	}
	a := newArena(typ, count)
	buf := make([]byte, fragment)
	for _, unpack := range []bool{false, true} {
		b.Run(map[bool]string{false: "pack", true: "unpack"}[unpack], func(b *testing.B) {
			b.SetBytes(count * typ.Size())
			b.ReportAllocs()
			for b.Loop() {
				var c Convertor
				c.Prepare(typ, count, a.base())
				for c.Position() < c.Total() {
					c.move(buf, unpack)
				}
			}
		})
	}
}

// Moving the cursor and finding the block there, in types of few and of a million blocks: the cost follows the depth, not the size.
func BenchmarkSetPosition(b *testing.B) {
	for _, n := range []int{10, 100} {
		// Three loops of n around irregular pairs, two of them kept apart by a struct.
		pair := must(HIndexed([]int{1, 2}, []int64{0, 11}, Int16))
		plane := must(HVector(n, 1, 40*int64(n), must(HVector(n, 1, 37, pair))))
		both := must(Struct([]int{1, 1}, []int64{0, 1 << 24}, []*Type{Float64, plane}))
		benchSeek(b, fmt.Sprintf("nested/blocks=%d", 2*n*n*n), must(HVector(n, 1, 1<<25, both)))
		lens, disps := make([]int, n*n*n), make([]int64, n*n*n)
		at := int64(0)
		for i := range lens {
			lens[i], disps[i] = 1+i*i%3, at
			at += 9 + int64(i%5)
		}
		benchSeek(b, fmt.Sprintf("indexed/blocks=%d", n*n*n), must(HIndexed(lens, disps, Int16)))
		benchSeek(b, fmt.Sprintf("listed/blocks=%d", n*n*n), must(HIndexedBlock(1, disps, Int32)))
	}
}

func benchSeek(b *testing.B, name string, typ *Type) {
	if err := typ.Commit(); err != nil {
		b.Fatal(err)
	}
	mem := make([]byte, min(typ.trueUB, 1<<22)) // what lies beyond is looked up and not touched
	b.Run(name, func(b *testing.B) {
		var c Convertor
		c.Prepare(typ, 1, unsafe.Pointer(&mem[0]))
		pos, step := int64(0), typ.Size()*5/8|1
		for b.Loop() {
			if pos += step; pos >= typ.Size() {
				pos -= typ.Size()
			}
			c.SetPosition(pos)
			c.ContiguousAt()
		}
	})
}

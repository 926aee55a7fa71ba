package osc

import (
	"bytes"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// layoutOf draws a type of n elements of old whose elements do not overlap, with gaps, in some order, also backwards.
func layoutOf(t *rapid.T, n int, old *datatype.Type) *datatype.Type {
	size := int(old.Size())
	var typ *datatype.Type
	var err error
	switch rapid.IntRange(0, 3).Draw(t, "shape") {
	case 0:
		typ, err = datatype.Contiguous(n, old)
	case 1:
		typ, err = datatype.Vector(n, 1, rapid.SampledFrom([]int{1, 2, 3, -1, -4}).Draw(t, "stride"), old)
	case 2:
		at := make([]int64, n)
		for i, p := range rapid.Permutation(places(n)).Draw(t, "places") {
			at[i] = int64((p - n/2) * size)
		}
		typ, err = datatype.HIndexed(ones(n), at, old)
	default:
		at := make([]int64, n)
		for i := range at {
			at[i] = int64(i * (size + rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(t, "gap")))
			if i > 0 && at[i] < at[i-1]+int64(size) {
				at[i] = at[i-1] + int64(size)
			}
		}
		typ, err = datatype.HIndexed(ones(n), at, old)
	}
	if err != nil {
		t.Fatal(err)
	}
	if lb, extent := typ.TrueExtent(); rapid.Bool().Draw(t, "resized") {
		if typ, err = datatype.Resized(typ, lb-3, extent+5); err != nil {
			t.Fatal(err)
		}
	}
	return typ
}

func places(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	return p
}

func ones(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = 1
	}
	return p
}

// memoryFor gives memory for count elements, and where in it the first begins.
func memoryFor(t *rapid.T, typ *datatype.Type, count int64) ([]byte, int64) {
	lo, hi, err := typ.Span(count)
	if err != nil {
		t.Fatal(err)
	}
	lo, hi = min(lo, 0), max(hi, 0)
	return make([]byte, hi-lo+8), -lo
}

// Bytes that go from piece to piece end where packing and unpacking puts them.
func TestPiecesModel(t *testing.T) {
	kinds := []*datatype.Type{datatype.Byte, datatype.Int16, datatype.Int32, datatype.Float64, datatype.Complex128}
	rapid.Check(t, func(t *rapid.T) {
		old := rapid.SampledFrom(kinds).Draw(t, "kind")
		in, each := rapid.IntRange(1, 12).Draw(t, "elements"), int64(rapid.IntRange(1, 4).Draw(t, "count"))
		from, to := layoutOf(t, in, old), layoutOf(t, in*int(each), old)
		src, srcAt := memoryFor(t, from, each)
		dst, dstAt := memoryFor(t, to, 1)
		for i := range src {
			src[i] = byte(i*7 + 1)
		}
		want, packed := bytes.Clone(dst), make([]byte, from.Size()*each)
		var c datatype.Convertor
		c.Prepare(from, each, unsafe.Pointer(&src[srcAt]))
		c.Pack(packed)
		c.Prepare(to, 1, unsafe.Pointer(&want[dstAt]))
		c.Unpack(packed)

		off, sum := rapid.Int64Range(0, 1000).Draw(t, "off"), int64(0)
		var p Pieces
		p.Init(core.MakeBuffer(unsafe.Pointer(&src[srcAt]), each, from), off, 1, to)
		for {
			most := rapid.Int64Range(16, 70).Draw(t, "most")
			mem, at, n := p.Next(most)
			if n == 0 {
				break
			}
			if n > most || n%old.Size() != 0 {
				t.Fatalf("a piece of %d bytes of at most %d, elements of %d", n, most, old.Size())
			}
			at += dstAt - off
			copy(dst[at:at+n], unsafe.Slice((*byte)(mem), n))
			sum += n
		}
		if sum != int64(len(packed)) || !bytes.Equal(dst, want) {
			t.Fatalf("%d of %d bytes:\n%x\nwant\n%x", sum, len(packed), dst, want)
		}
		if _, _, n := p.Next(1); n != 0 {
			t.Fatalf("%d bytes after the last", n)
		}
	})
}

func TestPiecesAllocs(t *testing.T) {
	vector, err := datatype.Vector(100, 3, 5, datatype.Int32)
	if err != nil {
		t.Fatal(err)
	}
	var mem [300]int32
	local := core.MakeBuffer(unsafe.Pointer(&mem), 300, datatype.Int32)
	if n := testing.AllocsPerRun(100, func() {
		var p Pieces
		p.Init(local, 64, 1, vector)
		for n := int64(1); n > 0; {
			_, _, n = p.Next(1 << 20)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

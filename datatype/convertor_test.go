package datatype

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"
)

// deep is a type whose compiled form nests loops deeper than a walk remembers.
func deep(levels int) *Type {
	noise := must(Indexed([]int{1, 2, 1, 2, 1}, []int{0, 2, 5, 9, 14}, Int8))
	typ := noise
	for range levels {
		both := must(Struct([]int{1, 1}, []int64{0, 20}, []*Type{noise, typ}))
		typ = must(HVector(2, 1, both.extent()+3, both))
	}
	return typ
}

func depthOf(b *body) int {
	d := 0
	for _, o := range b.ops {
		if o.body != nil {
			d = max(d, 1+depthOf(o.body))
		}
	}
	return d
}

func TestDeepNesting(t *testing.T) {
	typ := deep(10)
	if d := depthOf(&typ.program().body); d <= walkDepth {
		t.Fatalf("only %d loops deep", d)
	}
	ref := mapOf(typ)
	offs := ref.offsets(2)
	r := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		checkMoves(func(lo, hi int) int { return lo + r.IntN(hi-lo+1) }, typ, 2, offs, t.Fatalf)
	}
}

// heap moves v to the heap: a variable on the stack would change its address while we hold it as a number.
//
//go:noinline
func heap[T any](v T) *T {
	p := new(T)
	*p = v
	return p
}

func TestAbsolute(t *testing.T) {
	// Separate variables, at addresses a program got for itself; the last three blocks are a regular row across variables.
	a, b := heap(int64(0x0102030405060708)), heap([3]int32{10, 11, 12})
	rows := [3]*[2]float64{heap([2]float64{0, 0}), heap([2]float64{1, -1}), heap([2]float64{2, -2})}
	addr := func(p unsafe.Pointer) int64 { return int64(uintptr(p)) }
	typ := must(Struct([]int{1, 3, 2, 2, 2},
		[]int64{addr(unsafe.Pointer(a)), addr(unsafe.Pointer(b)), addr(unsafe.Pointer(rows[0])), addr(unsafe.Pointer(rows[1])),
			addr(unsafe.Pointer(rows[2]))},
		[]*Type{Int64, Int32, Float64, Float64, Float64}))
	var c Convertor
	c.Prepare(typ, 1, nil)
	packed := make([]byte, c.Total())
	for at := 0; at < len(packed); at += 13 {
		c.Pack(packed[at:min(at+13, len(packed))])
	}
	var want []byte
	want = append(want, unsafe.Slice((*byte)(unsafe.Pointer(a)), 8)...)
	want = append(want, unsafe.Slice((*byte)(unsafe.Pointer(b)), 12)...)
	for _, r := range rows {
		want = append(want, unsafe.Slice((*byte)(unsafe.Pointer(r)), 16)...)
	}
	if !bytes.Equal(packed, want) {
		t.Fatalf("packed %x, want %x", packed, want)
	}
	var out [8]Iovec
	c.SetPosition(3)
	// Variables that happen to be neighbours may show as one block.
	if n, m := c.Iovec(out[:], 1<<20); n < 1 || n > 5 || m != c.Total()-3 || out[0].Base != unsafe.Add(unsafe.Pointer(a), 3) {
		t.Errorf("Iovec: %d blocks, %d bytes from %p", n, m, out[0].Base)
	}
	*a, *b = 0, [3]int32{}
	for _, r := range rows {
		*r = [2]float64{7, 7}
	}
	c.SetPosition(0)
	c.Unpack(packed)
	if *a != 0x0102030405060708 || *b != [3]int32{10, 11, 12} || *rows[2] != [2]float64{2, -2} {
		t.Errorf("unpacked %x, %v, %v", *a, *b, *rows[2])
	}
	runtime.KeepAlive(rows)
}

func TestAbsoluteRow(t *testing.T) {
	mem := heap([100]float64{})
	for i := range mem {
		mem[i] = float64(i)
	}
	typ := must(HVector(10, 1, 80, Float64))
	typ = must(HIndexed([]int{1}, []int64{int64(uintptr(unsafe.Pointer(&mem[0])))}, typ))
	got := make([]float64, 10)
	var c Convertor
	c.Prepare(typ, 1, nil)
	c.Pack(unsafe.Slice((*byte)(unsafe.Pointer(&got[0])), 80))
	for i, v := range got {
		if v != float64(10*i) {
			t.Fatalf("packed %v", got)
		}
	}
	for i := range got {
		got[i] = -1
	}
	c.SetPosition(0)
	c.Unpack(unsafe.Slice((*byte)(unsafe.Pointer(&got[0])), 80))
	for i, v := range mem {
		if w := float64(i); i%10 == 0 && v != -1 || i%10 != 0 && v != w {
			t.Fatalf("mem[%d] = %v", i, v)
		}
	}
	runtime.KeepAlive(mem)
}

func TestEmptyMessages(t *testing.T) {
	var zero Convertor
	cs := []Convertor{zero, {}, {}, {}}
	cs[1].Prepare(Int32, 0, nil)
	cs[2].Prepare(must(Vector(3, 1, 2, Int32)), 0, nil)
	cs[3].Prepare(typeOf[struct{ _ int64 }](t), 5, nil)
	for i := range cs {
		c := &cs[i]
		c.SetPosition(0)
		p, n := c.ContiguousAt()
		k, m := c.Iovec(make([]Iovec, 1), 10)
		if c.Total() != 0 || c.Pack(make([]byte, 3)) != 0 || c.Unpack(make([]byte, 3)) != 0 || p != nil || n != 0 || k != 0 || m != 0 ||
			!c.IsContiguous() {
			t.Errorf("convertor %d moves something", i)
		}
	}
}

func TestPanics(t *testing.T) {
	var c Convertor
	for name, f := range map[string]func(){
		"negative count":    func() { c.Prepare(Int8, -1, nil) },
		"count too large":   func() { c.Prepare(Int64, 1<<61, nil) },
		"position below":    func() { c.SetPosition(-1) },
		"position too high": func() { c.SetPosition(1) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			c = Convertor{}
			f()
		})
	}
}

// One item of a resized or shifted block is still one piece of memory.
func TestContiguousMessage(t *testing.T) {
	mem := make([]int32, 16)
	for i := range mem {
		mem[i] = int32(i)
	}
	shifted := must(Indexed([]int{3}, []int{2}, Int32))
	wide := must(Resized(Int32, 0, 16))
	for _, c := range []struct {
		name  string
		typ   *Type
		count int64
		whole bool
		first int32
	}{
		{"shifted", shifted, 1, true, 2},
		{"shifted items touch", shifted, 3, true, 2},
		{"one wide item", wide, 1, true, 0},
		{"two wide items", wide, 2, false, 0},
		{"plain", Int32, 16, true, 0},
	} {
		var v Convertor
		v.Prepare(c.typ, c.count, unsafe.Pointer(&mem[0]))
		p, n := v.ContiguousAt()
		if c.whole && v.BlockAt(4) != unsafe.Add(p, 4) {
			t.Errorf("%s: the block is elsewhere", c.name)
		}
		if v.IsContiguous() != c.whole || (n == v.Total()) != c.whole || *(*int32)(p) != c.first {
			t.Errorf("%s: contiguous %v, %d of %d bytes from %d", c.name, v.IsContiguous(), n, v.Total(), *(*int32)(p))
		}
	}
}

var allocTypes = map[string]*Type{
	"contiguous": must(Contiguous(500, Float64)),
	"vector":     must(Vector(500, 1, 2, Float64)),
	"nested":     must(Vector(20, 3, 7, must(Vector(10, 1, 2, Float64)))),
	"irregular":  must(IndexedBlock(1, []int{0, 2, 5, 9, 14, 20, 27, 35, 44, 54}, Float64)),
	"deep":       deep(10),
}

func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for name, typ := range allocTypes {
		t.Run(name, func(t *testing.T) {
			if err := typ.Commit(); err != nil {
				t.Fatal(err)
			}
			a, b := newArena(typ, 4), newArena(typ, 4)
			buf := make([]byte, 4*typ.Size())
			var iov [16]Iovec
			if n := testing.AllocsPerRun(20, func() {
				var c, d Convertor
				c.Prepare(typ, 4, a.base())
				d = c
				c.Pack(buf)
				c.SetPosition(c.Total() / 2)
				c.Pack(buf[:7])
				c.ContiguousAt()
				c.Iovec(iov[:], 1<<20)
				d.Prepare(typ, 4, b.base())
				d.Unpack(buf)
				c.SetPosition(0)
				d.SetPosition(0)
				Copy(&d, &c)
				if _, err := For[outer](); err != nil {
					t.Error(err)
				}
				if _, err := For[float64](); err != nil {
					t.Error(err)
				}
			}); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// More than 2^31 bytes between two blocks and more than 2^32 in a message: sizes only, and what can be packed without the memory.
func TestLargeCounts(t *testing.T) {
	const far = 1 << 33
	typ := must(HVector(1<<20, 1<<13, far, Byte))
	if typ.Size() != 1<<33 || typ.trueUB != far*(1<<20-1)+1<<13 {
		t.Fatalf("size %d, true upper bound %d", typ.Size(), typ.trueUB)
	}
	var c Convertor
	mem := make([]byte, 1<<13)
	c.Prepare(typ, 1, unsafe.Pointer(&mem[0]))
	c.SetPosition(1<<13 - 5)
	if p, n := c.ContiguousAt(); n != 5 || uintptr(p) != uintptr(unsafe.Pointer(&mem[1<<13-5])) {
		t.Errorf("%d bytes at the end of the first block", n)
	}
	big := must(Contiguous(1<<31+1, Int16))
	c.Prepare(big, 3, nil)
	if c.Total() != 3*(1<<32+2) {
		t.Errorf("total %d", c.Total())
	}
	c.SetPosition(1<<33 + 1)
	if _, n := c.ContiguousAt(); n != c.Total()-(1<<33+1) {
		t.Errorf("%d bytes left", n)
	}
	mixed := must(Contiguous(1<<31, typeOf[padded](t)))
	if n, partial := mixed.ElementCount(mixed.Size() - 1); n != 6<<31-1 || partial {
		t.Errorf("elements %d, %v", n, partial)
	}
}

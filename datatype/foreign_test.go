package datatype

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// other is the architecture that this machine is not.
func other() Arch {
	if HostArch() == ArchBig {
		return ArchLittle
	}
	return ArchBig
}

// turned is a native packed stream in the other byte order, element by element from the type map.
func turned(m *typemap, native []byte) []byte {
	out := bytes.Clone(native)
	for at := 0; at < len(out); {
		for _, e := range m.elems {
			size := e.kind.Size()
			units := [][]byte{out[at : at+size]}
			if e.kind == KindComplex64 || e.kind == KindComplex128 {
				units = [][]byte{out[at : at+size/2], out[at+size/2 : at+size]}
			}
			for _, u := range units {
				slices.Reverse(u)
			}
			at += size
		}
	}
	return out
}

func TestForeignModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawOf(t)
		checkForeign(d, randomType(d, d(0, 4)), int64(d(0, 4)), t.Fatalf)
	})
}

func checkForeign(d draw, typ *Type, count int64, fatalf func(string, ...any)) {
	m := mapOf(typ)
	offs := m.offsets(int(count))
	a := newArena(typ, count)
	a.fill()
	native := make([]byte, len(offs))
	for i, o := range offs {
		native[i] = *a.at(o)
	}
	want := turned(&m, native)
	var c Convertor
	c.PrepareFor(typ, count, a.base(), other())
	if c.Total() != int64(len(want)) {
		fatalf("total %d, want %d", c.Total(), len(want))
	}
	if c.Converts() && (c.IsContiguous() || len(want) == 0) {
		fatalf("a message that needs converting is contiguous")
	}
	got := make([]byte, len(want))
	for at := 0; at < len(want); {
		at += c.Pack(got[at:min(len(got), at+d(1, 30))])
	}
	if !bytes.Equal(got, want) {
		fatalf("packed\n%x\nwant\n%x", got, want)
	}
	pos := d(0, len(want))
	n := d(0, len(want)-pos)
	c.SetPosition(int64(pos))
	sum := crc32.Checksum(want[pos:pos+n], crc32.MakeTable(crc32.Castagnoli))
	if s := c.Sum(0, int64(n), make([]byte, d(1, 50))); s != sum || c.Position() != int64(pos) {
		fatalf("sum of %d bytes from %d is %#x, want %#x", n, pos, s, sum)
	}
	if m := c.Pack(got[:n]); m != n || !bytes.Equal(got[:n], want[pos:pos+n]) {
		fatalf("Pack of %d from %d differs", n, pos)
	}

	sorted := slices.Sorted(slices.Values(offs))
	if len(slices.Compact(sorted)) != len(offs) {
		return // unpacking is defined only where no byte of memory is named twice
	}
	b := newArena(typ, count)
	c.PrepareFor(typ, count, b.base(), other())
	cuts := []int{0, len(want)}
	for range d(0, 8) {
		cuts = append(cuts, d(0, len(want)))
	}
	slices.Sort(cuts)
	order := make([]int, len(cuts)-1)
	for i := range order {
		order[i] = i
	}
	for len(order) > 0 {
		k := d(0, len(order)-1)
		i := order[k]
		order = slices.Delete(order, k, k+1)
		c.SetPosition(int64(cuts[i]))
		from := bytes.Clone(want[cuts[i]:cuts[i+1]])
		if n := c.Unpack(from); n != len(from) || !bytes.Equal(from, want[cuts[i]:cuts[i+1]]) {
			fatalf("Unpack took %d of %d, or changed its source", n, len(from))
		}
	}
	clean := newArena(typ, count)
	for _, o := range offs {
		*clean.at(o) = *a.at(o)
	}
	if !bytes.Equal(b.mem, clean.mem) {
		fatalf("unpacked\n%x\nwant\n%x", b.mem, clean.mem)
	}
}

func TestForeignSmall(t *testing.T) {
	v := []int32{0x01020304, -2}
	var c Convertor
	c.PrepareFor(Int32, 2, unsafe.Pointer(&v[0]), ArchBig)
	got := make([]byte, 8)
	c.Pack(got)
	if want := []byte{1, 2, 3, 4, 0xff, 0xff, 0xff, 0xfe}; !bytes.Equal(got, want) {
		t.Errorf("big-endian %x, want %x", got, want)
	}
	if c.PrepareFor(Int32, 2, unsafe.Pointer(&v[0]), ArchNative); c.Converts() {
		t.Error("the native representation is converted")
	}
	if c.PrepareFor(must(Vector(2, 1, 2, Byte)), 2, unsafe.Pointer(&v[0]), other()); c.Converts() {
		t.Error("bytes are converted")
	}
	c.PrepareFor(Int32, 2, unsafe.Pointer(&v[0]), other())
	if n, b := c.Iovec(make([]Iovec, 1), 8); n != 0 || b != 0 {
		t.Error("memory that needs converting is listed")
	}
	for a, want := range map[Arch]string{ArchNative: "native", ArchLittle: "little-endian", ArchBig: "big-endian", 9: "invalid"} {
		if a.String() != want {
			t.Errorf("%q, want %q", a, want)
		}
	}
}

// Packed data sent as a stream of the type it was packed from is converted as that would be, in fragments of any size.
func TestStreamModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawOf(t)
		typ, count := randomType(d, d(0, 4)), int64(d(0, 4))
		m := mapOf(typ)
		s := typ.Stream()
		if s.Size() != 1 || !s.Contiguous() || !s.Committed() || s != typ.Stream() || s.Stream() != s {
			t.Fatalf("stream of %d bytes, contiguous %v", s.Size(), s.Contiguous())
		}
		packed := make([]byte, count*typ.Size()+1)
		for i := range packed {
			packed[i] = byte(d(0, 255))
		}
		packed = packed[:len(packed)-1]
		var c Convertor
		c.PrepareFor(s, int64(len(packed)), unsafe.Pointer(unsafe.SliceData(packed)), other())
		sent := make([]byte, len(packed))
		for at := 0; at < len(sent); {
			at += c.Pack(sent[at:min(len(sent), at+d(1, 30))])
		}
		if want := turned(&m, packed); !bytes.Equal(sent, want) {
			t.Fatalf("stream sent as\n%x\nwant\n%x", sent, want)
		}
		back := make([]byte, len(packed)+1)
		c.PrepareFor(s, int64(len(packed)), unsafe.Pointer(&back[0]), other())
		for at := 0; at < len(sent); {
			at += c.Unpack(sent[at:min(len(sent), at+d(1, 30))])
		}
		if !bytes.Equal(back[:len(packed)], packed) {
			t.Fatalf("stream came back as\n%x\nwant\n%x", back, packed)
		}
	})
}

// A stream that ends inside an element is no message that a program can send; nothing bad happens.
func TestCutStream(t *testing.T) {
	mixed := must(Struct([]int{1, 1}, []int64{0, 8}, []*Type{Int8, Float64}))
	for _, typ := range []*Type{Int64, mixed} {
		mem := []byte("0123456789abcdefghijklmn")
		for n := range int64(len(mem)) {
			var c Convertor
			c.PrepareFor(typ.Stream(), n, unsafe.Pointer(&mem[0]), other())
			out := make([]byte, n)
			c.Pack(out)
			back := make([]byte, n+1)
			c.PrepareFor(typ.Stream(), n, unsafe.Pointer(&back[0]), other())
			c.Unpack(out)
			if !bytes.Equal(back[:n], mem[:n]) {
				t.Errorf("%d bytes came back as %q", n, back)
			}
		}
	}
}

func TestForeignDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	mixed := must(Struct([]int{1, 1, 3}, []int64{0, 8, 16}, []*Type{Int8, Float64, Int16}))
	for name, typ := range map[string]*Type{"uniform": must(Vector(100, 1, 2, Float64)), "mixed": must(Vector(100, 1, 2, mixed))} {
		t.Run(name, func(t *testing.T) {
			a := newArena(typ, 3)
			buf, scratch := make([]byte, 3*typ.Size()), make([]byte, 256)
			if n := testing.AllocsPerRun(20, func() {
				var c Convertor
				c.PrepareFor(typ, 3, a.base(), other())
				c.Pack(buf[:77])
				c.Pack(buf[77:])
				c.SetPosition(5)
				c.Unpack(buf[5:])
				c.SetPosition(0)
				c.Sum(0, c.Total(), scratch)
			}); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

func BenchmarkForeign(b *testing.B) {
	mixed := must(Struct([]int{1, 1}, []int64{0, 8}, []*Type{Int8, Float64}))
	for _, c := range []struct {
		name  string
		typ   *Type
		count int64
	}{{"float64", Float64, 1 << 17}, {"vector", must(Vector(1<<17, 1, 2, Float64)), 1}, {"mixed", mixed, 1 << 16}} {
		a := newArena(c.typ, c.count)
		buf := make([]byte, c.count*c.typ.Size())
		for _, unpack := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/unpack=%v", c.name, unpack), func(b *testing.B) {
				b.SetBytes(int64(len(buf)))
				for b.Loop() {
					var v Convertor
					v.PrepareFor(c.typ, c.count, a.base(), other())
					v.move(buf, unpack)
				}
			})
		}
	}
}

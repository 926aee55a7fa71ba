package datatype

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// checkType compares everything the engine says of count items of t with the type map; fatalf reports a difference and does not return.
func checkType(d draw, t *Type, count int, fatalf func(string, ...any)) {
	ref := mapOf(t)
	lb, ub := ref.bounds()
	if l, e := t.Extent(); l != lb || e != ub-lb {
		fatalf("extent: lb %d, extent %d, want %d, %d", l, e, lb, ub-lb)
	}
	tlb, tub := ref.trueBounds()
	if l, e := t.TrueExtent(); l != tlb || e != tub-tlb {
		fatalf("true extent: lb %d, extent %d, want %d, %d", l, e, tlb, tub-tlb)
	}
	if t.Elements() != int64(len(ref.elems)) {
		fatalf("%d elements, want %d", t.Elements(), len(ref.elems))
	}
	kind := KindNone
	for i, e := range ref.elems {
		if i == 0 {
			kind = e.kind
		} else if kind != e.kind {
			kind = KindNone
		}
	}
	if k, ok := t.Homogeneous(); k != kind || ok != (kind != KindNone) {
		fatalf("homogeneous: %v %v, want %v", k, ok, kind)
	}
	if got := typedElements(t.typedBody()); len(got) != len(ref.elems) {
		fatalf("typed form has %d elements, want %d", len(got), len(ref.elems))
	} else {
		for i := range got {
			if got[i] != ref.elems[i] {
				fatalf("typed form: element %d is %v, want %v", i, got[i], ref.elems[i])
			}
		}
	}
	checkElements(d, t, &ref, fatalf)
	checkMoves(d, t, count, ref.offsets(count), fatalf)
}

// typedElements expands a compiled typed body.
func typedElements(b *body) []element {
	var out []element
	for _, o := range b.ops {
		for i := range o.count {
			origin := o.disp + o.nth(i)
			if o.body != nil {
				for _, e := range typedElements(o.body) {
					out = append(out, element{e.kind, origin + e.disp})
				}
				continue
			}
			for in := int64(0); in < o.size; in += int64(o.kind.Size()) {
				out = append(out, element{o.kind, origin + in})
			}
		}
	}
	return out
}

func checkElements(d draw, t *Type, ref *typemap, fatalf func(string, ...any)) {
	if t.Size() == 0 {
		return
	}
	want := int64(d(0, int(min(3*t.Size(), 1<<15))))
	var n, used int64
	for used < want {
		k := int64(ref.elems[n%int64(len(ref.elems))].kind.Size())
		if used+k > want {
			break
		}
		n, used = n+1, used+k
	}
	got, partial := t.ElementCount(want)
	if got != n || partial != (used != want) {
		fatalf("ElementCount(%d) = %d, %v, want %d, %v", want, got, partial, n, used != want)
	}
	if b := t.ElementBytes(n); b != used {
		fatalf("ElementBytes(%d) = %d, want %d", n, b, used)
	}
}

func checkMoves(d draw, t *Type, count int, offs []int64, fatalf func(string, ...any)) {
	a := newArena(t, int64(count))
	a.fill()
	want := make([]byte, len(offs))
	for i, o := range offs {
		want[i] = *a.at(o)
	}
	var c Convertor
	c.Prepare(t, int64(count), a.base())
	if c.Total() != int64(len(want)) {
		fatalf("total %d, want %d", c.Total(), len(want))
	}
	if t.Contiguous() && !c.IsContiguous() {
		fatalf("type is contiguous, message is not")
	}

	// Packing in order, in fragments of any size.
	got := make([]byte, len(want)+8)
	for at := 0; at < len(want); {
		n := d(1, len(want))
		if d(0, 1) == 1 {
			n = d(1, 20)
		}
		m := c.Pack(got[at:min(at+n, len(got))])
		if m != min(n, len(want)-at) {
			fatalf("Pack of %d at %d of %d took %d", n, at, len(want), m)
		}
		at += m
	}
	if !bytes.Equal(got[:len(want)], want) {
		fatalf("packed in order:\n%x\nwant\n%x", got[:len(want)], want)
	}
	if n := c.Pack(got); n != 0 || c.Position() != c.Total() {
		fatalf("Pack at the end took %d", n)
	}

	// Packing from anywhere, and looking without packing.
	for range 4 {
		pos := d(0, len(want))
		n := d(0, len(want)-pos)
		c.SetPosition(int64(pos))
		if p, m := c.ContiguousAt(); m > 0 {
			if m > int64(len(want)-pos) || !bytes.Equal(unsafe.Slice((*byte)(p), m), want[pos:int64(pos)+m]) {
				fatalf("ContiguousAt(%d) is not what is packed there", pos)
			}
		} else if pos < len(want) {
			fatalf("ContiguousAt(%d) found nothing", pos)
		}
		clear(got)
		if m := c.Pack(got[:n]); m != n || !bytes.Equal(got[:n], want[pos:pos+n]) {
			fatalf("Pack of %d from %d differs", n, pos)
		}
	}
	checkIovec(d, &c, want, fatalf)
	checkAbsolute(d, t, count, a, want, fatalf)

	// Unpacking fragments in any order; defined only where no byte of memory is named twice.
	named := map[int64]bool{}
	for _, o := range offs {
		named[o] = true
	}
	if len(named) != len(offs) {
		return
	}
	b := newArena(t, int64(count))
	for i := range b.mem {
		b.mem[i] = 0xee
	}
	c.Prepare(t, int64(count), b.base())
	cuts := []int{0, len(want)}
	for range d(0, 6) {
		cuts = append(cuts, d(0, len(want)))
	}
	slices.Sort(cuts)
	fragments := make([][2]int, len(cuts)-1)
	for i := range fragments {
		fragments[i] = [2]int{cuts[i], cuts[i+1]}
	}
	for len(fragments) > 0 {
		i := d(0, len(fragments)-1)
		from, to := fragments[i][0], fragments[i][1]
		fragments = slices.Delete(fragments, i, i+1)
		c.SetPosition(int64(from))
		if n := c.Unpack(want[from:to]); n != to-from {
			fatalf("Unpack of %d at %d took %d", to-from, from, n)
		}
	}
	for disp := -b.origin; disp < int64(len(b.mem))-b.origin; disp++ {
		w := byte(0xee)
		if named[disp] {
			w = *a.at(disp)
		}
		if *b.at(disp) != w {
			fatalf("unpacked byte at displacement %d is %#x, want %#x", disp, *b.at(disp), w)
		}
	}
}

// checkAbsolute packs and unpacks the same message through addresses.
func checkAbsolute(d draw, t *Type, count int, a *arena, want []byte, fatalf func(string, ...any)) {
	all, err := Contiguous(count, t)
	if err != nil {
		fatalf("%v", err)
	}
	abs, err := HIndexed([]int{1}, []int64{int64(uintptr(a.base()))}, all)
	if err != nil {
		fatalf("%v", err)
	}
	var c Convertor
	c.Prepare(abs, 1, nil)
	got := make([]byte, len(want))
	cut := d(0, len(want))
	c.Pack(got[:cut])
	c.Pack(got[cut:])
	before := bytes.Clone(a.mem)
	c.SetPosition(0)
	c.Unpack(got[:cut])
	c.Unpack(got[cut:])
	if !bytes.Equal(got, want) || !bytes.Equal(a.mem, before) {
		fatalf("packed by address\n%x\nwant\n%x", got, want)
	}
}

func checkIovec(d draw, c *Convertor, want []byte, fatalf func(string, ...any)) {
	pos := d(0, len(want))
	c.SetPosition(int64(pos))
	var out [5]Iovec
	for pos < len(want) {
		limit := int64(d(1, len(want)))
		n, b := c.Iovec(out[:d(1, len(out))], limit)
		if n == 0 || b == 0 || b > limit || c.Position() != int64(pos)+b {
			fatalf("Iovec at %d of %d: %d blocks, %d bytes, now at %d", pos, len(want), n, b, c.Position())
		}
		for _, v := range out[:n] {
			if !bytes.Equal(unsafe.Slice((*byte)(v.Base), v.Len), want[pos:pos+v.Len]) {
				fatalf("Iovec block at %d differs", pos)
			}
			pos += v.Len
			b -= int64(v.Len)
		}
		if b != 0 {
			fatalf("Iovec blocks and bytes disagree by %d", b)
		}
	}
	if n, b := c.Iovec(out[:], 1); n != 0 || b != 0 {
		fatalf("Iovec at the end: %d, %d", n, b)
	}
}

func TestModel(t *testing.T) {
	for _, depth := range []int{1, 2, 3, 4, 5} {
		t.Run(fmt.Sprint("depth ", depth), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				d := drawOf(t)
				typ := randomType(d, depth)
				checkType(d, typ, d(0, 6), t.Fatalf)
			})
		})
	}
}

// Two messages of one signature, laid out differently: what is copied between them is what packing and unpacking does.
func TestCopyModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawOf(t)
		from := randomType(d, d(1, 4))
		count := int64(d(1, 3))
		size := count * from.Size()
		to, err := Vector(int(size), 1, d(1, 3), Byte)
		if err != nil {
			t.Fatal(err)
		}
		a, b := newArena(from, count), newArena(to, 1)
		a.fill()
		var src, dst Convertor
		src.Prepare(from, count, a.base())
		dst.Prepare(to, 1, b.base())
		want := make([]byte, size)
		src.Pack(want)
		at := int64(d(0, int(size)))
		src.SetPosition(at)
		dst.SetPosition(at)
		if n := Copy(&dst, &src); n != size-at || src.Position() != size || dst.Position() != size {
			t.Fatalf("copied %d of %d", n, size-at)
		}
		got := make([]byte, size-at)
		dst.SetPosition(at)
		dst.Pack(got)
		if !bytes.Equal(got, want[at:]) {
			t.Fatalf("copied\n%x\nwant\n%x", got, want[at:])
		}
	})
}

// FuzzConvertor lets the fuzzer choose the type, the count and the fragments.
func FuzzConvertor(f *testing.F) {
	f.Add([]byte{3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	f.Add(bytes.Repeat([]byte{0xa5, 0x3c, 0x77, 1, 0x90}, 40))
	f.Fuzz(func(t *testing.T, in []byte) {
		d := func(lo, hi int) int {
			if len(in) == 0 {
				return lo
			}
			v := int(in[0])
			in = in[1:]
			if hi-lo > 255 && len(in) > 0 {
				v = v<<8 | int(in[0])
				in = in[1:]
			}
			return lo + v%(hi-lo+1)
		}
		typ := randomType(d, d(1, 6))
		checkType(d, typ, d(0, 3), t.Fatalf)
	})
}

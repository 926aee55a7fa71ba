package am_test

import (
	"bytes"
	"encoding/hex"
	"math"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/osc/am"
	"github.com/ompi-go/ompi-go/osc/elem"
)

func buffer[T any](s []T) core.Buffer {
	t, err := datatype.For[T]()
	if err != nil {
		panic(err)
	}
	return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(s)), int64(len(s)), t)
}

// carry cuts s into commands of at most most bytes, has target carry them out, and lands the results. It returns the number of commands.
func carry(t *rapid.T, s *am.Spec, most, back int, target *am.Target, result core.Buffer) int {
	var c am.Cutter
	if !c.Init(s) {
		t.Fatal("the cutter refuses")
	}
	var l am.Landing
	l.Init(result, s.Type, s.Code, c.Total(), s.Arch)
	n := 0
	for c.Left() > 0 {
		b := make([]byte, most)
		size := c.Next(b, back)
		if size == 0 || size > most {
			t.Fatalf("a command of %d bytes where %d are room, %d left", size, most, c.Left())
		}
		n++
		var cmd am.Command
		if got, err := cmd.Parse(b[:size]); err != nil || got != size {
			t.Fatalf("parse: %d of %d bytes, %v", got, size, err)
		}
		reply := make([]byte, cmd.ReplySize())
		if len(reply) > back {
			t.Fatalf("a reply of %d bytes where %d are room", len(reply), back)
		}
		if len(reply) == 0 {
			if st := target.Execute(&cmd, nil); st != am.OK {
				t.Fatalf("status %d", st)
			}
			continue
		}
		st := target.Execute(&cmd, reply[am.HeaderSize:am.HeaderSize+cmd.N])
		if st != am.OK {
			t.Fatalf("status %d", st)
		}
		if got := cmd.PutReply(reply, st); got != len(reply) {
			t.Fatalf("a reply of %d bytes, %d foreseen", got, len(reply))
		}
		var r am.Command
		if _, err := r.Parse(reply); err != nil || r.ID != s.ID || !l.Put(&r) {
			t.Fatalf("the reply %+v: %v", r, err)
		}
	}
	if s.Kind == am.Get && l.Left() != 0 {
		t.Fatalf("%d bytes did not come back", l.Left())
	}
	return n
}

// layouts draws a datatype of 8-byte integers and a count.
func layouts(t *rapid.T) (*datatype.Type, int64) {
	var typ *datatype.Type
	var err error
	switch rapid.IntRange(0, 3).Draw(t, "layout") {
	case 0:
		typ = datatype.Int64
	case 1:
		typ, err = datatype.Vector(rapid.IntRange(1, 20).Draw(t, "blocks"), rapid.IntRange(1, 5).Draw(t, "block"), rapid.IntRange(5, 9).Draw(t, "stride"), datatype.Int64)
	case 2:
		typ, err = datatype.Indexed([]int{3, 1, 2}, []int{10, 0, 4}, datatype.Int64)
	case 3:
		inner, e := datatype.Vector(3, 2, 3, datatype.Int64)
		if e != nil {
			t.Fatal(e)
		}
		typ, err = datatype.Vector(rapid.IntRange(1, 4).Draw(t, "planes"), 1, 2, inner)
	}
	if err != nil {
		t.Fatal(err)
	}
	return typ, rapid.Int64Range(0, 12).Draw(t, "count")
}

// TestModel compares operations cut into commands with the same done by a convertor in memory.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ, count := layouts(t)
		elements := count * typ.Elements()
		lo, hi, err := typ.Span(count)
		if err != nil {
			t.Fatal(err)
		}
		off := 8 * rapid.Int64Range(0, 5).Draw(t, "offset")
		size := (hi-min(lo, 0)+off)/8 + 8
		mem, model := make([]int64, size), make([]int64, size)
		for i := range mem {
			mem[i] = int64(i) * 1000
		}
		copy(model, mem)
		in, out := make([]int64, elements), make([]int64, elements)
		for i := range in {
			in[i] = rapid.Int64Range(-9, 9).Draw(t, "element")
		}
		var there datatype.Convertor
		there.Prepare(typ, count, unsafe.Add(unsafe.Pointer(&model[0]), off))
		was := make([]int64, elements)
		if elements > 0 {
			there.Pack(unsafe.Slice((*byte)(unsafe.Pointer(&was[0])), 8*elements))
		}
		there.SetPosition(0)
		s := &am.Spec{Off: off, Count: count, Type: typ, ID: 77}
		want := was
		switch rapid.IntRange(0, 4).Draw(t, "operation") {
		case 0:
			s.Kind, s.Origin, want = am.Put, buffer(in), in
		case 1:
			s.Kind = am.Get
		case 2:
			s.Kind, s.Origin = am.Accumulate, buffer(in)
		case 3:
			s.Kind, s.Origin = am.Fetch, buffer(in)
		case 4:
			s.Kind = am.Fetch
		}
		if s.Kind == am.Accumulate || s.Kind == am.Fetch {
			op := core.Sum
			if s.Origin.Type() == nil {
				op = core.NoOp
			}
			var ok bool
			if s.Code, ok = elem.Of(op, typ); !ok {
				t.Fatal("no code")
			}
			if op == core.Sum {
				want = make([]int64, elements)
				for i := range want {
					want[i] = was[i] + in[i]
				}
			}
		}
		var locks elem.Locks
		target := &am.Target{Base: unsafe.Pointer(&mem[0]), Size: 8 * size, Locks: &locks}
		carry(t, s, rapid.IntRange(am.Least, 600).Draw(t, "most"), rapid.IntRange(am.Least, 300).Draw(t, "back"), target, buffer(out))
		if elements > 0 {
			there.Unpack(unsafe.Slice((*byte)(unsafe.Pointer(&want[0])), 8*elements))
		}
		for i := range mem {
			if mem[i] != model[i] {
				t.Fatalf("element %d of the memory is %d, not %d", i, mem[i], model[i])
			}
		}
		if s.Kind == am.Get || s.Kind == am.Fetch {
			for i := range out {
				if out[i] != was[i] {
					t.Fatalf("result %d is %d, not %d", i, out[i], was[i])
				}
			}
		}
	})
}

// TestVectorIsOneRun: what is regular travels as one listed run, whatever its length.
func TestVectorIsOneRun(t *testing.T) {
	typ, err := datatype.Vector(1000, 1, 3, datatype.Int64)
	if err != nil {
		t.Fatal(err)
	}
	var c am.Cutter
	c.Init(&am.Spec{Kind: am.Get, Count: 1, Type: typ})
	b := make([]byte, 200)
	if n := c.Next(b, 1<<20); n != am.HeaderSize+am.RunSize || c.Left() != 0 {
		t.Fatalf("%d bytes, %d left", n, c.Left())
	}
}

func pairs(index int32, values ...float64) (out []core.Loc[float64]) {
	for i, v := range values {
		out = append(out, core.Loc[float64]{Value: v, Index: index + int32(i)})
	}
	return out
}

func TestPairs(t *testing.T) {
	mem, in := pairs(1, 1, 5, 3), pairs(7, 2, 4, 9)
	out := make([]core.Loc[float64], 3)
	typ := buffer(mem).Type()
	code, ok := elem.Of(core.MaxLoc, typ)
	if !ok {
		t.Fatal("no code")
	}
	var locks elem.Locks
	target := &am.Target{Base: unsafe.Pointer(&mem[0]), Size: 48, Locks: &locks}
	rapid.Check(t, func(t *rapid.T) {
		copy(mem, pairs(1, 1, 5, 3))
		carry(t, &am.Spec{Kind: am.Fetch, Code: code, Origin: buffer(in), Count: 3, Type: typ}, rapid.IntRange(am.Least, 300).Draw(t, "most"), 300, target, buffer(out))
		if mem[0] != in[0] || mem[1] != (core.Loc[float64]{Value: 5, Index: 2}) || mem[2] != in[2] || out[2] != (core.Loc[float64]{Value: 3, Index: 3}) {
			t.Fatalf("memory %v, fetched %v", mem, out)
		}
	})
}

// TestForeign: a target of the other byte order gets its own, and the origin understands what comes back.
func TestForeign(t *testing.T) {
	other := datatype.ArchBig
	if datatype.HostArch() == other {
		other = datatype.ArchLittle
	}
	mem, in, out := make([]byte, 16), []uint32{0x01020304, 0x05060708}, make([]uint32, 2)
	var locks elem.Locks
	target := &am.Target{Base: unsafe.Pointer(&mem[0]), Size: 16, Locks: &locks}
	rapid.Check(t, func(t *rapid.T) {
		carry(t, &am.Spec{Kind: am.Put, Origin: buffer(in), Off: 4, Count: 2, Type: datatype.Uint32, Arch: other}, 200, 200, target, core.Buffer{})
		if !bytes.Equal(mem, []byte{0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0}) {
			t.Fatal(mem)
		}
		carry(t, &am.Spec{Kind: am.Get, Off: 4, Count: 2, Type: datatype.Uint32, Arch: other}, 200, 200, target, buffer(out))
		if out[0] != in[0] || out[1] != in[1] {
			t.Fatalf("%x", out)
		}
	})
}

func TestSwap(t *testing.T) {
	mem, compare, value, old := []int32{1, 2}, []int32{2}, []int32{9}, []int32{0}
	var locks elem.Locks
	target := &am.Target{Base: unsafe.Pointer(&mem[0]), Size: 8, Locks: &locks}
	code, _ := elem.Swap(datatype.Int32)
	rapid.Check(t, func(t *rapid.T) {
		mem[1] = 2
		for range 2 {
			carry(t, &am.Spec{Kind: am.Swap, Code: code, Origin: buffer(value), Compare: buffer(compare), Off: 4, Count: 1, Type: datatype.Int32}, am.Least, am.Least, target, buffer(old))
			if mem[1] != 9 || old[0] != compare[0] && old[0] != 9 {
				t.Fatalf("memory %v, old %v", mem, old)
			}
		}
	})
}

func TestGoldenBytes(t *testing.T) {
	var c am.Cutter
	in := []uint16{0x0102}
	c.Init(&am.Spec{Kind: am.Put, Origin: buffer(in), Off: 0x1122, Count: 1, Type: datatype.Uint16, ID: 0x0a0b})
	b := make([]byte, 64)
	n := c.Next(b, 0)
	am.SetSeq(b, 7)
	const want = "0101000000000000" + "3800000007000000" + "0b0a000000000000" + "0000000000000000" + "0200000000000000" + "2211000000000000" + "0201000000000000"
	if got := hex.EncodeToString(b[:n]); got != want {
		t.Fatalf("\n%s, not\n%s", got, want)
	}
}

// TestRanges: nothing outside is touched, and nothing at all by a command that is partly outside.
func TestRanges(t *testing.T) {
	vec, _ := datatype.Vector(3, 1, 2, datatype.Int64)
	for _, x := range []struct {
		name string
		off  int64
		typ  *datatype.Type
		want am.Status
	}{
		{"inside", 0, datatype.Int64, am.OK},
		{"end", 32, datatype.Int64, am.OK},
		{"over the end", 33, datatype.Int64, am.BadRange},
		{"before", -8, datatype.Int64, am.BadRange},
		{"far", 1 << 62, datatype.Int64, am.BadRange},
		{"vector", 0, vec, am.OK},
		{"vector over the end", 8, vec, am.BadRange},
		{"vector before", -8, vec, am.BadRange},
		{"vector far", 1<<63 - 17, vec, am.BadRange},
	} {
		mem := make([]int64, 5)
		var locks elem.Locks
		fixed := &am.Target{Base: unsafe.Pointer(&mem[0]), Size: 40, Locks: &locks}
		dynamic := &am.Target{Attached: new(am.Attached), Locks: &locks}
		if err := dynamic.Attached.Add(core.NewRegion(core.RegionHeap, unsafe.Pointer(&mem[0]), 40, nil)); err != nil {
			t.Fatal(err)
		}
		for _, target := range []*am.Target{fixed, dynamic} {
			in := []int64{1, 2, 3}
			n := x.typ.Size() / 8
			var c am.Cutter
			off := x.off
			if target == dynamic {
				off += int64(uintptr(unsafe.Pointer(&mem[0])))
			}
			c.Init(&am.Spec{Kind: am.Put, Origin: buffer(in[:n]), Off: off, Count: 1, Type: x.typ})
			b := make([]byte, 200)
			var cmd am.Command
			if _, err := cmd.Parse(b[:c.Next(b, 0)]); err != nil {
				t.Fatal(err)
			}
			clear(mem)
			if st := target.Execute(&cmd, nil); st != x.want {
				t.Errorf("%s: status %d", x.name, st)
			} else if st != am.OK && (mem[0]|mem[1]|mem[2]|mem[3]|mem[4]) != 0 {
				t.Errorf("%s: touched %v", x.name, mem)
			}
		}
	}
}

func TestAttached(t *testing.T) {
	mem := make([]byte, 100)
	piece := func(from, n int) *core.Region {
		return core.NewRegion(core.RegionHeap, unsafe.Pointer(&mem[from]), int64(n), nil)
	}
	var a am.Attached
	for _, x := range []struct{ from, n int }{{50, 10}, {0, 10}, {20, 10}, {30, 5}} {
		if err := a.Add(piece(x.from, x.n)); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct{ from, n int }{{50, 10}, {55, 2}, {45, 6}, {9, 1}, {10, 11}, {40, 60}} {
		if err := a.Add(piece(x.from, x.n)); core.ClassOf(err) != core.ErrRMAAttach {
			t.Errorf("%+v: %v", x, err)
		}
	}
	base := int64(uintptr(unsafe.Pointer(&mem[0])))
	for _, x := range []struct {
		from, n int64
		want    bool
	}{{0, 10, true}, {0, 11, false}, {10, 1, false}, {50, 10, true}, {59, 1, true}, {60, 1, false}, {28, 4, false}, {30, 5, true}, {-1, 1, false}} {
		if p, ok := a.Find(base+x.from, x.n); ok != x.want || ok && p != unsafe.Pointer(&mem[x.from]) {
			t.Errorf("%+v: %v", x, ok)
		}
	}
	if _, err := a.Remove(unsafe.Pointer(&mem[51])); core.ClassOf(err) != core.ErrBase {
		t.Error(err)
	}
	if _, err := a.Remove(unsafe.Pointer(&mem[50])); err != nil || a.Len() != 3 {
		t.Error(err)
	}
	if _, ok := a.Find(base+50, 1); ok {
		t.Error("found what is detached")
	}
}

func TestNoAllocations(t *testing.T) {
	mem, in, out := make([]int64, 64), make([]int64, 8), make([]int64, 8)
	vec, _ := datatype.Vector(8, 1, 3, datatype.Int64)
	var locks elem.Locks
	target := &am.Target{Base: unsafe.Pointer(&mem[0]), Size: 512, Locks: &locks}
	code, _ := elem.Of(core.Sum, vec)
	b, reply := make([]byte, 400), make([]byte, 400)
	spec := am.Spec{Kind: am.Fetch, Code: code, Origin: buffer(in), Count: 1, Type: vec}
	if n := testing.AllocsPerRun(100, func() {
		var c am.Cutter
		var l am.Landing
		c.Init(&spec)
		l.Init(buffer(out), vec, code, c.Total(), datatype.ArchNative)
		for c.Left() > 0 {
			var cmd am.Command
			if _, err := cmd.Parse(b[:c.Next(b, len(reply))]); err != nil {
				t.Fatal(err)
			}
			st := target.Execute(&cmd, reply[am.HeaderSize:am.HeaderSize+cmd.N])
			cmd.PutReply(reply, st)
			var r am.Command
			if _, err := r.Parse(reply); err != nil || !l.Put(&r) {
				t.Fatal(err)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzParse: whatever comes, nothing outside the window is touched and nothing panics.
func FuzzParse(f *testing.F) {
	vec, _ := datatype.Vector(3, 1, 2, datatype.Int64)
	in := []int64{1, 2, 3}
	sum, _ := elem.Of(core.Sum, datatype.Int64)
	swap, _ := elem.Swap(datatype.Int64)
	nothing, _ := elem.Of(core.NoOp, datatype.Int64)
	for _, s := range []am.Spec{
		{Kind: am.Put, Origin: buffer(in[:1]), Count: 1, Type: datatype.Int64},
		{Kind: am.Put, Origin: buffer(in), Count: 1, Type: vec},
		{Kind: am.Get, Count: 1, Type: vec},
		{Kind: am.Accumulate, Code: sum, Origin: buffer(in), Count: 1, Type: vec},
		{Kind: am.Fetch, Code: nothing, Count: 3, Type: datatype.Int64},
		{Kind: am.Fetch, Code: sum, Origin: buffer(in), Count: 3, Type: datatype.Int64},
		{Kind: am.Swap, Code: swap, Origin: buffer(in[:1]), Compare: buffer(in[1:2]), Count: 1, Type: datatype.Int64},
	} {
		var c am.Cutter
		c.Init(&s)
		b := make([]byte, 300)
		f.Add(b[:c.Next(b, 300)])
	}
	var huge [am.HeaderSize]byte
	(&am.Command{Kind: am.Get, N: math.MaxInt64}).PutControl(huge[:])
	f.Add(huge[:])
	f.Fuzz(func(t *testing.T, b []byte) {
		mem := make([]byte, 64+40+64)
		for i := range mem {
			mem[i] = 0xaa
		}
		var locks elem.Locks
		target := &am.Target{Base: unsafe.Pointer(&mem[64]), Size: 40, Locks: &locks}
		dynamic := &am.Target{Attached: new(am.Attached), Locks: &locks}
		_ = dynamic.Attached.Add(core.NewRegion(core.RegionHeap, unsafe.Pointer(&mem[64]), 40, nil))
		out := make([]int64, 5)
		var l am.Landing
		l.Init(buffer(out), datatype.Int64, 0, 40, datatype.ArchNative)
		for len(b) > 0 {
			aligned := append([]byte(nil), b...) // as carriers give it
			var c am.Command
			n, err := c.Parse(aligned)
			if err != nil {
				return
			}
			if n < am.HeaderSize || n > len(b) {
				t.Fatalf("a command of %d in %d bytes", n, len(b))
			}
			l.Put(&c)
			if c.ReplySize() < 1<<16 {
				for _, tg := range []*am.Target{target, dynamic} {
					reply := make([]byte, c.ReplySize())
					if len(reply) == 0 {
						tg.Execute(&c, nil)
						continue
					}
					st := tg.Execute(&c, reply[am.HeaderSize:am.HeaderSize+c.N])
					if got := c.PutReply(reply, st); got > len(reply) {
						t.Fatalf("a reply of %d bytes, %d foreseen", got, len(reply))
					}
				}
			}
			b = b[n:]
		}
		for i, v := range mem {
			if (i < 64 || i >= 104) && v != 0xaa {
				t.Fatalf("byte %d outside the window has changed", i-64)
			}
		}
	})
}

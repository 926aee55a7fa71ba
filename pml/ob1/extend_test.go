package ob1

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/pml"
)

// TestGoldenExtensions pins the bytes of extended headers.
func TestGoldenExtensions(t *testing.T) {
	e := ext{datatype.ArchBig, true, 0x04030201}
	for _, c := range []struct {
		put  func(f *btl.Frag)
		want string
	}{
		{func(f *btl.Frag) { h0, h1 := matchWords(typeMatch, 0, 1, 2, 3, 4); putMatch(f, h0, h1) }, "11000100020000000300000004000000"},
		{func(f *btl.Frag) { putFrag(f, 1, 2) }, "150000000000000001000000000000000200000000000000"},
	} {
		var f btl.Frag
		c.put(&f)
		putExt(&f, e)
		if got := hex.EncodeToString(f.Header()); got != c.want+"0201000001020304" || f.Tag != tagOf(int(f.Hdr[0])) {
			t.Errorf("%s, tag %#x, want %s", got, f.Tag, c.want)
		}
		if back, ok := parseExt(f.Header()[f.HdrLen-extSize:]); !ok || back != e {
			t.Errorf("%+v came back as %+v, %v", e, back, ok)
		}
	}
	for _, bad := range [][]byte{{0, 0}, {3, 0}, {1, 2}, {2, 0x80}} {
		if _, ok := parseExt(append(bad, make([]byte, 6)...)); ok {
			t.Errorf("%v is taken for an extension", bad)
		}
	}
	var f btl.Frag
	putRndv(&f, 1, 1)
	if putRget(&f, btl.MemHandle{}); int(f.HdrLen)+extSize > btl.HeaderMax {
		t.Error("an extended RGET header is too long")
	}
}

func must(typ *datatype.Type, err error) *datatype.Type {
	if err != nil {
		panic(err)
	}
	return typ
}

// typed is a buffer over fresh memory of n bytes.
func typed(n int64, count int64, typ *datatype.Type) ([]byte, core.Buffer) {
	mem := make([]byte, n)
	return mem, core.MakeBuffer(unsafe.Pointer(&mem[0]), count, typ)
}

// TestConversion sends typed data between ranks of either architecture, by every protocol and with fragments that end inside
// elements, posted early and late. On the wire it is in the sender's order, in memory always in this machine's.
func TestConversion(t *testing.T) {
	mixed := must(datatype.Struct([]int{1, 1, 2}, []int64{0, 8, 16}, []*datatype.Type{datatype.Int8, datatype.Float64, datatype.Complex64}))
	types := map[string]*datatype.Type{
		"int32": datatype.Int32, "shifted": must(datatype.HIndexed([]int{9}, []int64{16}, datatype.Int32)), // one block, but not at its address
		"complex128": datatype.Complex128, "mixed": mixed, "byte": datatype.Byte,
		"vector": must(datatype.Resized(must(datatype.Vector(3, 1, 2, datatype.Int64)), 0, 48)),
	}
	archs := []datatype.Arch{datatype.ArchNative, datatype.ArchBig, datatype.ArchLittle}
	for name, typ := range types {
		for _, count := range []int64{0, 1, 5, 33, 200} {
			for _, checksum := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/checksum=%v", name, count, checksum), func(t *testing.T) {
					s := btltest.NewScript()
					s.Facts = btl.Limits{Eager: 145, RndvEager: 37, MaxSend: 107, MinGet: 1000, Exclusivity: 1}
					s.Gets = true
					opt := Options{Depth: 3, Checksum: checksum}
					w := newMixedWorld(t, s, false, []Options{opt, opt, opt}, archs)
					for from := range archs {
						for to := range archs {
							for _, late := range []bool{false, true} {
								oneConversion(t, w, from, to, late, typ, count)
							}
						}
					}
				})
			}
		}
	}
}

func oneConversion(t *testing.T, w *world, from, to int, late bool, typ *datatype.Type, count int64) {
	t.Helper()
	_, n, err := typ.Span(count)
	if err != nil {
		t.Fatal(err)
	}
	n += 8
	sent, out := typed(n, count, typ)
	for i := range sent {
		sent[i] = byte(i*13 + i>>8)
	}
	got, in := typed(n, count, typ)
	var r *core.Request
	recv := func() { r = w.ranks[to].o.Irecv(w.ranks[to].channel(0, false), in, from, 5) }
	if !late {
		recv()
	}
	q := w.ranks[from].o.Isend(w.ranks[from].channel(0, false), out, to, 5, pml.Standard)
	if late {
		w.script.DeliverAll()
		recv()
	}
	w.script.DeliverAll()
	if !q.Done() || !r.Done() || q.Status.Err != nil || r.Status.Err != nil || r.Status.Bytes() != count*typ.Size() {
		t.Fatalf("%d to %d, late %v: send %v, receive %v of %d bytes", from, to, late, q.Status.Err, r.Status.Err, r.Status.Bytes())
	}
	pack := func(b core.Buffer) []byte {
		p := make([]byte, count*typ.Size())
		if count > 0 {
			var c datatype.Convertor
			c.Prepare(typ, count, b.Addr())
			c.Pack(p)
		}
		return p
	}
	if !bytes.Equal(pack(out), pack(in)) {
		t.Fatalf("%d to %d, late %v:\n%.200x... came as\n%.200x...", from, to, late, sent, got)
	}
	for _, x := range []int{from, to} {
		w.ranks[x].checkBalance(t)
	}
}

// TestRawBytesOfForeignRank: what rank 1 puts on the wire is big-endian, and what little-endian ranks put there is not.
func TestRawBytesOfForeignRank(t *testing.T) {
	s := btltest.NewScript()
	w := newMixedWorld(t, s, false, make([]Options, 2), []datatype.Arch{datatype.ArchLittle, datatype.ArchBig})
	for from, want := range [][]byte{{4, 3, 2, 1}, {1, 2, 3, 4}} {
		v := uint32(0x01020304)
		w.ranks[from].o.Isend(w.ranks[from].channel(0, false), core.MakeBuffer(unsafe.Pointer(&v), 1, datatype.Uint32), 1-from, 1, pml.Standard)
		if f := s.Frames(); !bytes.Equal(f[len(f)-1].Payload, want) {
			t.Errorf("rank %d sends %x, want %x", from, f[len(f)-1].Payload, want)
		}
	}
}

// TestDamagedMemory: with checksums, memory that changes between the announcement and its being read is found out.
func TestDamagedMemory(t *testing.T) {
	s := btltest.NewScript()
	s.Gets = true
	w := newWorld(t, 2, s, Options{Depth: 4, Checksum: true}, false)
	sent, got := newMemory(t, 9000, 1, false), newMemory(t, 9000, -1, false)
	q := w.ranks[0].send(sent, 1, 1, pml.Standard)
	*sent.at(4567) ^= 0x10
	r := w.ranks[1].recv(got, 0, 1)
	s.DeliverAll()
	if !q.Done() || !r.Done() || core.ClassOf(r.Status.Err) != core.ErrIntern || w.ranks[1].o.stats.ChecksumErrors != 1 {
		t.Errorf("send %v, receive %v: %v", q.Done(), r.Done(), r.Status.Err)
	}
	w.ranks[1].checkBalance(t)
}

// TestDamage: whichever byte of whichever frame's payload is damaged, the receive hears of it, and the next message is well.
func TestDamage(t *testing.T) {
	for _, vector := range []bool{false, true} {
		for _, n := range []int{1, 90, 700} {
			for frame := 0; frame < 9; frame++ {
				s := btltest.NewScript()
				s.Facts = btl.Limits{Eager: 145, RndvEager: 37, MaxSend: 107, Exclusivity: 1}
				w := newWorld(t, 2, s, Options{Depth: 20, Checksum: true}, false)
				got := newMemory(t, n, -1, !vector)
				r := w.ranks[1].recv(got, 0, 1)
				w.ranks[0].send(newMemory(t, n, 1, vector), 1, 1, pml.Standard)
				damaged := false
				for i := 0; len(s.Frames()) > 0; {
					f := s.Frames()[0]
					if len(f.Payload) > 0 {
						if i == frame {
							f.Payload[(n+frame*7)%len(f.Payload)] ^= 1 << (n % 8)
							damaged = true
						}
						i++
					}
					s.Deliver(f)
				}
				if !r.Done() || (core.ClassOf(r.Status.Err) == core.ErrIntern) != damaged || (r.Status.Err == nil) == damaged || !got.intact() {
					t.Fatalf("%d bytes, frame %d damaged %v: done %v, %v", n, frame, damaged, r.Done(), r.Status.Err)
				}
				next := newMemory(t, n, -1, vector)
				r = w.ranks[1].recv(next, 0, 2)
				w.ranks[0].send(newMemory(t, n, 2, vector), 1, 2, pml.Standard)
				s.DeliverAll()
				if !r.Done() || r.Status.Err != nil || !next.holds(n, 2) {
					t.Fatalf("the message after: %v", r.Status.Err)
				}
				w.ranks[0].checkBalance(t)
				w.ranks[1].checkBalance(t)
			}
		}
	}
}

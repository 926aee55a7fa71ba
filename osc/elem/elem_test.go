package elem

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

var kinds = []*datatype.Type{datatype.Int8, datatype.Int16, datatype.Int32, datatype.Int64, datatype.Uint8, datatype.Uint16, datatype.Uint32, datatype.Uint64,
	datatype.Float32, datatype.Float64, datatype.Complex64, datatype.Complex128, datatype.Byte, datatype.Bool}

func pairsOf(t testing.TB) []*datatype.Type {
	return []*datatype.Type{pairOf[int8](t), pairOf[int16](t), pairOf[int32](t), pairOf[int64](t), pairOf[uint8](t), pairOf[uint16](t), pairOf[uint32](t),
		pairOf[uint64](t), pairOf[float32](t), pairOf[float64](t)}
}

func pairOf[T any](t testing.TB) *datatype.Type { return typeOf[core.Loc[T]](t) }

func typeOf[T any](t testing.TB) *datatype.Type {
	typ, err := datatype.For[T]()
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// Every operation that package core allows on a type has a code, and no other.
func TestOf(t *testing.T) {
	types := append(pairsOf(t), kinds...)
	types = append(types, typeOf[[3]float64](t), typeOf[[5]int8](t), typeOf[struct {
		A int8
		B float64
	}](t))
	seen := map[Code]string{}
	for _, op := range byNumber[1:] {
		for _, typ := range types {
			c, ok := Of(op, typ)
			if want := op.CheckAccumulate(typ) == nil; ok != want {
				t.Errorf("%s on %s: %v, want %v", op.Name(), typ.Name(), ok, want)
			}
			if !ok {
				continue
			}
			_, extent := typ.Extent()
			switch k, _ := typ.Homogeneous(); {
			case c.Pair() && c.Size() != extent, !c.Pair() && k != datatype.KindNone && c.Size() != int64(k.Size()):
				t.Errorf("%s on %s: an element has %d bytes", op.Name(), typ.Name(), c.Size())
			}
			if !c.Valid() || c.IsSwap() || c.IsNoOp() != (op == core.NoOp) || c.Pair() != (core.PairKind(typ) != 0 && numberOf(op) >= opMaxLoc) {
				t.Errorf("%s on %s: code %#x", op.Name(), typ.Name(), c)
			}
			if typ.Kind() != datatype.KindNone {
				if other, ok := seen[c]; ok {
					t.Errorf("%s on %s has the code of %s", op.Name(), typ.Name(), other)
				}
				seen[c] = op.Name() + " on " + typ.Name()
			}
		}
	}
	if _, ok := Of(nil, datatype.Int8); ok {
		t.Error("no operation has a code")
	}
}

// What comes from a peer is Valid only if Of or Swap could have made it.
func TestValid(t *testing.T) {
	made := map[Code]bool{}
	for _, typ := range append(pairsOf(t), kinds...) {
		for _, op := range byNumber[1:] {
			if c, ok := Of(op, typ); ok {
				made[c] = true
			}
		}
		if c, ok := Swap(typ); ok {
			made[c] = true
		}
	}
	for c := range 1 << 16 {
		if Code(c).Valid() != made[Code(c)] {
			t.Errorf("code %#x: valid is %v", c, Code(c).Valid())
		}
	}
}

// place gives n bytes at that distance from an address divisible by 64, with guards around.
func place(n, shift int) (mem []byte, guarded func() bool) {
	whole := make([]byte, n+shift+192)
	for i := range whole {
		whole[i] = 0xa5
	}
	at := 64 + shift + int(-uintptr(unsafe.Pointer(&whole[0]))&63)
	return whole[at : at+n : at+n], func() bool {
		for i, b := range whole {
			if (i < at || i >= at+n) && b != 0xa5 {
				return false
			}
		}
		return true
	}
}

func ptr(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

// reference does what c does, by package core.
func reference(op *core.Op, typ *datatype.Type, mem, operand []byte, n int64) {
	if k := op.Kernel(typ.Kind()); k != nil {
		k(ptr(operand), ptr(mem), n)
		return
	}
	if op == core.Replace {
		copy(mem, operand)
	} else if op != core.NoOp {
		op.Apply(ptr(operand), ptr(mem), n, typ)
	}
}

func fill(r *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(r.Uint32())
		if r.IntN(4) == 0 {
			b[i] = 0
		}
	}
}

// gapless clears the gaps of pairs, which no operation looks at.
func gapless(c Code, b []byte) {
	if !c.Pair() {
		return
	}
	value, index := c.kind().Size(), int(core.PairIndex(c.kind()))
	for ; len(b) > 0; b = b[c.Size():] {
		clear(b[value:index])
		clear(b[index+4 : c.Size()])
	}
}

func TestAgainstCore(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, op := range byNumber[1:] {
		for _, typ := range append(pairsOf(t), kinds...) {
			c, ok := Of(op, typ)
			if !ok || (c.Pair() != (core.PairKind(typ) != 0)) {
				continue
			}
			t.Run(op.Name()+"/"+typ.Name(), func(t *testing.T) {
				for range 60 {
					n := r.IntN(12)
					if r.IntN(4) == 0 {
						n = r.IntN(200)
					}
					size := n * int(c.Size())
					shift, other := r.IntN(17), r.IntN(9)
					if r.IntN(2) == 0 {
						shift = int(c.Size()) * r.IntN(16)
					}
					mem, guarded := place(size, shift)
					operand, _ := place(size, other)
					old, oldGuarded := place(size, r.IntN(9))
					fill(r, mem)
					fill(r, operand)
					gapless(c, operand)
					gapless(c, mem)
					gapless(c, old)
					before, with := bytes.Clone(mem), bytes.Clone(operand)
					want, _ := place(size, 0)
					in, _ := place(size, 0)
					copy(want, mem)
					copy(in, operand)
					reference(op, typ, want, in, int64(n))
					var l Locks
					fetch, same := r.IntN(2) == 0, r.IntN(3) == 0
					switch {
					case fetch && same:
						copy(old, operand)
						c.Fetch(ptr(mem), ptr(old), ptr(old), int64(n), &l)
					case fetch && op == core.NoOp:
						c.Fetch(ptr(mem), nil, ptr(old), int64(n), &l)
					case fetch:
						c.Fetch(ptr(mem), ptr(operand), ptr(old), int64(n), &l)
					default:
						c.Apply(ptr(mem), ptr(operand), int64(n), &l)
					}
					if !equal(typ, mem, want) {
						t.Fatalf("%d elements at %d:\n%x with\n%x is\n%x, want\n%x", n, shift, before, operand, mem, want)
					}
					if fetch && !bytes.Equal(old, before) {
						t.Fatalf("%d elements at %d: fetched\n%x, was\n%x", n, shift, old, before)
					}
					if !bytes.Equal(operand, with) || !guarded() || !oldGuarded() {
						t.Fatalf("%d elements at %d: others' memory has changed", n, shift)
					}
				}
			})
		}
	}
}

// equal compares elements; any NaN is like any other, for which one comes out of two is the compiler's choice.
func equal(typ *datatype.Type, a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	switch typ.Kind() {
	case datatype.KindFloat32, datatype.KindComplex64:
		return equalFloats[float32](a, b)
	case datatype.KindFloat64, datatype.KindComplex128:
		return equalFloats[float64](a, b)
	}
	return false
}

func equalFloats[T float32 | float64](a, b []byte) bool {
	size := int(unsafe.Sizeof(T(0)))
	for ; len(a) > 0; a, b = a[size:], b[size:] {
		var x, y T
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&x)), size), a)
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&y)), size), b)
		if x != y && (x == x || y == y) {
			return false
		}
	}
	return true
}

func TestCompareSwap(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, typ := range kinds {
		c, ok := Swap(typ)
		if !ok || !c.IsSwap() || !c.Valid() {
			t.Fatalf("%s: code %#x", typ.Name(), c)
		}
		size := int(c.Size())
		for shift := range 17 {
			for _, hit := range []bool{true, false} {
				mem, guarded := place(size, shift)
				compare, value, old := make([]byte, size), make([]byte, size), make([]byte, size)
				fill(r, mem)
				fill(r, value)
				copy(compare, mem)
				if !hit {
					compare[r.IntN(size)] ^= 1 << r.IntN(8)
				}
				was, want := bytes.Clone(mem), bytes.Clone(mem)
				if hit {
					copy(want, value)
				}
				var l Locks
				c.CompareSwap(ptr(mem), ptr(compare), ptr(value), ptr(old), &l)
				if !bytes.Equal(mem, want) || !bytes.Equal(old, was) || !guarded() {
					t.Errorf("%s at %d, hit %v: %x, want %x; old %x, want %x", typ.Name(), shift, hit, mem, want, old, was)
				}
			}
		}
	}
	if _, ok := Swap(typeOf[core.Loc[float64]](t)); ok {
		t.Error("compare-and-swap of pairs")
	}
}

// one is the value 1 of a kind.
func one(k datatype.Kind) []byte {
	var b [16]byte
	switch k {
	case datatype.KindFloat32, datatype.KindComplex64:
		*(*float32)(unsafe.Pointer(&b)) = 1
	case datatype.KindFloat64, datatype.KindComplex128:
		*(*float64)(unsafe.Pointer(&b)) = 1
	case datatype.KindInt16, datatype.KindUint16:
		*(*uint16)(unsafe.Pointer(&b)) = 1
	case datatype.KindInt32, datatype.KindUint32:
		*(*uint32)(unsafe.Pointer(&b)) = 1
	case datatype.KindInt64, datatype.KindUint64:
		*(*uint64)(unsafe.Pointer(&b)) = 1
	default:
		b[0] = 1
	}
	return b[:k.Size()]
}

const (
	hammers = 60
	width   = 40 // elements of an area
)

// areas lays out memory in which every kind has elements, at the start of a page: aligned ones, then some that are not.
func area(i, shift int) int { return i*2048 + shift }

func areaBytes() int { return len(kinds) * 2048 }

// hammer adds 1 to all elements of all areas, in pieces of many sizes.
func hammer(mem []byte, seed uint64, l *Locks) {
	r := rand.New(rand.NewPCG(seed, 7))
	for range hammers {
		for i, typ := range kinds {
			c, ok := Of(core.Sum, typ)
			if !ok {
				continue
			}
			size := int(c.Size())
			operand, old := bytes.Repeat(one(typ.Kind()), width), make([]byte, width*size)
			for _, shift := range []int{0, 1024 + 1} {
				for at := 0; at < width; {
					n := min(1+r.IntN(width), width-at)
					p := unsafe.Pointer(&mem[area(i, shift)+at*size])
					if r.IntN(2) == 0 {
						c.Apply(p, ptr(operand), int64(n), l)
					} else {
						c.Fetch(p, ptr(operand), ptr(old), int64(n), l)
					}
					at += n
				}
			}
		}
	}
}

func checkHammered(t *testing.T, mem []byte, by int) {
	for i, typ := range kinds {
		c, ok := Of(core.Sum, typ)
		if !ok {
			continue
		}
		size := int(c.Size())
		want := bytes.Repeat([]byte{0}, size)
		var l Locks
		for range by * hammers {
			c.Apply(ptr(want), ptr(one(typ.Kind())), 1, &l)
		}
		for _, shift := range []int{0, 1024 + 1} {
			for k := range width {
				at := area(i, shift) + k*size
				if got := mem[at : at+size]; !bytes.Equal(got, want) {
					t.Fatalf("%s, shift %d: element %d is %x, want %x", typ.Name(), shift, k, got, want)
				}
			}
		}
	}
}

func TestManyGoroutines(t *testing.T) {
	const by = 6
	mem, l := make([]byte, areaBytes()), new(Locks)
	var wg sync.WaitGroup
	for g := range by {
		wg.Go(func() { hammer(mem, uint64(g), l) })
	}
	wg.Wait()
	checkHammered(t, mem, by)
}

// The extremes that many goroutines bring come with their own indices.
func TestPairsTogether(t *testing.T) {
	for _, op := range []*core.Op{core.MaxLoc, core.MinLoc} {
		c, _ := Of(op, pairOf[int64](t))
		mem, l := make([]core.Loc[int64], 5), new(Locks)
		var wg sync.WaitGroup
		const by, rounds = 4, 500
		for g := range by {
			wg.Go(func() {
				for i := range rounds {
					v := make([]core.Loc[int64], len(mem))
					for k := range v {
						n := int64(i*by + g + 1)
						if op == core.MinLoc {
							n = -n
						}
						v[k] = core.Loc[int64]{Value: n, Index: int32(n ^ 0x55)}
					}
					c.Fetch(unsafe.Pointer(&mem[0]), unsafe.Pointer(&v[0]), unsafe.Pointer(&v[0]), int64(len(v)), l)
					for _, x := range v {
						if x.Value != 0 && x.Index != int32(x.Value^0x55) {
							t.Errorf("%d has the index of another: %d", x.Value, x.Index)
						}
					}
				}
			})
		}
		wg.Wait()
		want := int64(by * rounds)
		if op == core.MinLoc {
			want = -want
		}
		for _, x := range mem {
			if x.Value != want || x.Index != int32(want^0x55) {
				t.Errorf("%s: %+v, want %d", op.Name(), x, want)
			}
		}
	}
}

// Elements side by side in one word do not disturb each other, whatever happens to them.
func TestNeighbours(t *testing.T) {
	mem, l := make([]byte, 8), new(Locks)
	var wg sync.WaitGroup
	const rounds = 3000
	for i := range 4 {
		wg.Go(func() {
			c, _ := Of(core.Sum, datatype.Uint8)
			for range rounds {
				c.Apply(unsafe.Pointer(&mem[i]), ptr(one(datatype.KindUint8)), 1, l)
			}
		})
	}
	wg.Go(func() {
		c, _ := Swap(datatype.Uint16)
		for i := uint16(0); i < rounds; {
			next, old := i+1, uint16(0)
			c.CompareSwap(unsafe.Pointer(&mem[4]), unsafe.Pointer(&i), unsafe.Pointer(&next), unsafe.Pointer(&old), l)
			if old == i {
				i++
			} else {
				t.Errorf("found %d, want %d", old, i)
				return
			}
		}
	})
	wg.Wait()
	for i, b := range mem[:4] {
		if b != byte(rounds&255) {
			t.Errorf("byte %d is %d", i, b)
		}
	}
	if got := *(*uint16)(unsafe.Pointer(&mem[4])); got != rounds {
		t.Errorf("the counter of two bytes is %d", got)
	}
}

// mapShared maps the memory of the test with several processes: Locks, then areas.
func mapShared(fd int) (*Locks, []byte, error) {
	size := int(LocksSize+4095)&^4095 + areaBytes()
	b, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	return (*Locks)(unsafe.Pointer(&b[0])), b[size-areaBytes():], nil
}

const childEnv = "OMPI_GO_ELEM_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		l, mem, err := mapShared(3)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		hammer(mem, uint64(os.Getpid()), l)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestProcesses(t *testing.T) {
	fd, err := unix.MemfdCreate("elem", unix.MFD_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	f := os.NewFile(uintptr(fd), "elem")
	defer f.Close()
	if err := f.Truncate(LocksSize + 4096 + int64(areaBytes())); err != nil {
		t.Fatal(err)
	}
	l, mem, err := mapShared(fd)
	if err != nil {
		t.Fatal(err)
	}
	const by = 3
	children := make([]*exec.Cmd, by-1)
	for i := range children {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), childEnv+"=1")
		c.ExtraFiles = []*os.File{f}
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		children[i] = c
	}
	hammer(mem, 1, l)
	for _, c := range children {
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	checkHammered(t, mem, by)
}

// A lock whose holder has died is taken by who waits for it.
func TestDeadHolder(t *testing.T) {
	c := exec.Command("true")
	if err := c.Run(); err != nil {
		t.Skip(err)
	}
	l := new(Locks)
	for i := range l.stripes {
		l.stripes[i].word = uint32(c.Process.Pid)
	}
	mem := make([]complex128, 1)
	with := complex(1, 2)
	sum, _ := Of(core.Sum, datatype.Complex128)
	sum.Apply(unsafe.Pointer(&mem[0]), unsafe.Pointer(&with), 1, l)
	if mem[0] != with || l.of(unsafe.Pointer(&mem[0])).word != 0 {
		t.Errorf("%v", mem[0])
	}
}

func TestAllocs(t *testing.T) {
	l := new(Locks)
	var mem [600]byte
	sizes := []int64{1, 3, 30}
	if n := testing.AllocsPerRun(20, func() {
		var operand, old [600]byte
		for _, op := range byNumber[1:] {
			for _, typ := range kinds {
				if c, ok := Of(op, typ); ok {
					for _, n := range sizes {
						c.Apply(unsafe.Pointer(&mem[0]), unsafe.Pointer(&operand), n, l)
						c.Fetch(unsafe.Pointer(&mem[1]), unsafe.Pointer(&operand), unsafe.Pointer(&old), n, l)
					}
				}
			}
		}
		c, _ := Swap(datatype.Int32)
		c.CompareSwap(unsafe.Pointer(&mem[4]), unsafe.Pointer(&operand), unsafe.Pointer(&operand), unsafe.Pointer(&old), l)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkElem(b *testing.B) {
	l := new(Locks)
	mem, operand, old := make([]uint64, 8192), make([]uint64, 8192), make([]uint64, 8192)
	for _, k := range []struct {
		op  *core.Op
		typ *datatype.Type
	}{{core.Sum, datatype.Int64}, {core.Sum, datatype.Float64}, {core.Sum, datatype.Int32}, {core.Sum, datatype.Int8}, {core.Replace, datatype.Float64},
		{core.Sum, datatype.Complex128}} {
		c, _ := Of(k.op, k.typ)
		for _, bytes := range []int64{c.Size(), 65536} {
			b.Run(fmt.Sprintf("%s/%s/%d", k.op.Name(), k.typ.Name(), bytes), func(b *testing.B) {
				b.SetBytes(bytes)
				for i := range operand {
					operand[i] = 0
				}
				for i := range bytes {
					if i%c.Size() == 0 {
						copy(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(&operand[0]), i)), c.Size()), one(k.typ.Kind()))
					}
				}
				for b.Loop() {
					c.Apply(unsafe.Pointer(&mem[0]), unsafe.Pointer(&operand[0]), bytes/c.Size(), l)
				}
			})
		}
	}
	c, _ := Of(core.Sum, datatype.Int64)
	b.Run("fetch", func(b *testing.B) {
		for b.Loop() {
			c.Fetch(unsafe.Pointer(&mem[0]), unsafe.Pointer(&operand[0]), unsafe.Pointer(&old[0]), 1, l)
		}
	})
	c, _ = Swap(datatype.Int64)
	b.Run("swap", func(b *testing.B) {
		for b.Loop() {
			c.CompareSwap(unsafe.Pointer(&mem[0]), unsafe.Pointer(&operand[0]), unsafe.Pointer(&operand[0]), unsafe.Pointer(&old[0]), l)
		}
	})
}

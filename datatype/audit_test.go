package datatype

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestEveryConstructorInEveryOther nests all pairs of constructors, and each with itself, over uniform and mixed data: what random
// trees do by chance.
func TestEveryConstructorInEveryOther(t *testing.T) {
	mixed := must(Struct([]int{1, 1, 2}, []int64{0, 8, 16}, []*Type{Int8, Float64, Complex64}))
	r := rand.New(rand.NewPCG(7, 11))
	d := func(lo, hi int) int { return lo + r.IntN(hi-lo+1) }
	for outer := CombinerDup; outer <= CombinerResized; outer++ {
		for inner := CombinerDup; inner <= CombinerResized; inner++ {
			for _, leaf := range []*Type{Int32, Complex128, mixed} {
				for done := 0; done < 3; {
					in, err := randomOf(d, inner, leaf, 1)
					if err != nil {
						t.Fatal(err)
					}
					out, err := randomOf(d, outer, in, 1)
					if err != nil {
						t.Fatal(err)
					}
					if out.elems > maxElems || max(out.trueUB, -out.trueLB, out.ub, -out.lb) > maxReach {
						continue
					}
					done++
					fail := func(format string, args ...any) {
						t.Helper()
						t.Fatalf("%d in %d: "+format, append([]any{inner, outer}, args...)...)
					}
					checkType(d, out, d(0, 3), fail)
					checkForeign(d, out, int64(d(0, 3)), fail)
				}
			}
		}
	}
}

// Arguments that no element uses may be anything.
func TestUnusedArguments(t *testing.T) {
	for name, typ := range map[string]func() (*Type, error){
		"vector of empty blocks":      func() (*Type, error) { return Vector(3, 0, math.MaxInt, Int64) },
		"vector of no blocks":         func() (*Type, error) { return Vector(0, 3, math.MinInt, Int64) },
		"hvector of one block":        func() (*Type, error) { return HVector(1, 1, math.MinInt64, Int64) },
		"indexed with an empty block": func() (*Type, error) { return Indexed([]int{0, 1}, []int{math.MinInt, 0}, Int64) },
		"empty indexed block":         func() (*Type, error) { return IndexedBlock(0, []int{math.MaxInt}, Int64) },
		"struct with an empty block": func() (*Type, error) {
			return Struct([]int{0, 1}, []int64{math.MaxInt64, 0}, []*Type{Int64, Int64})
		},
		"one item of a wide type": func() (*Type, error) { return Contiguous(1, must(Resized(Int8, 0, math.MaxInt64))) },
	} {
		v, err := typ()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if lo, hi, err := v.Span(1); err != nil || hi-lo != v.Size() {
			t.Errorf("%s: span %d to %d of %d bytes, %v", name, lo, hi, v.Size(), err)
		}
	}
}

// Whatever is a number too large is an error and not another number.
func TestOverflow(t *testing.T) {
	wide := must(Resized(Int8, 0, 1<<40))
	low := must(HIndexed([]int{1}, []int64{math.MinInt64 + 100}, Byte))
	for name, f := range map[string]func() (*Type, error){
		"extent of contiguous":       func() (*Type, error) { return Contiguous(1<<23, wide) },
		"size of contiguous":         func() (*Type, error) { return Contiguous(1<<60, Int64) },
		"extent of vector":           func() (*Type, error) { return Vector(1<<12, 1, 1<<12, wide) },
		"extent of vector backwards": func() (*Type, error) { return Vector(1<<12, 1, -1<<12, wide) },
		"size of vector":             func() (*Type, error) { return Vector(1<<31, 1<<31, 0, Int16) },
		"size of hvector":            func() (*Type, error) { return HVector(math.MaxInt, 2, 0, Byte) },
		"size of indexed":            func() (*Type, error) { return Indexed([]int{1 << 62, 1 << 62}, []int{0, 0}, Byte) },
		"bounds of hindexed":         func() (*Type, error) { return HIndexed([]int{1}, []int64{math.MaxInt64}, Int64) },
		"bounds of hindexed block":   func() (*Type, error) { return HIndexedBlock(1, []int64{math.MinInt64, 1}, Byte) },
		"size of struct": func() (*Type, error) {
			return Struct([]int{1 << 62, 1 << 62}, []int64{0, 0}, []*Type{Byte, Byte})
		},
		"bounds of struct":    func() (*Type, error) { return Struct([]int{1, 1}, []int64{0, math.MaxInt64 - 8}, []*Type{low, Byte}) },
		"shifted below":       func() (*Type, error) { return HIndexed([]int{1}, []int64{-200}, low) },
		"epsilon of a struct": func() (*Type, error) { return Struct([]int{1, 1}, []int64{0, math.MaxInt64 - 3}, []*Type{Int64, Int8}) },
		"size of subarray":    func() (*Type, error) { return Subarray([]int{1 << 23}, []int{1}, []int{0}, OrderC, wide) },
		"start of subarray":   func() (*Type, error) { return Subarray([]int{1 << 40}, []int{1}, []int{1 << 39}, OrderFortran, wide) },
		"size of darray": func() (*Type, error) {
			return Darray(2, 1, []int{1 << 40}, []Distribution{Cyclic}, []int{1}, []int{2}, OrderC, wide)
		},
	} {
		if v, err := f(); err == nil || !errors.Is(err, abiClass(classCount)) {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
}

// The standard's own example of Darray, 4.8 in MPI-3.1 (section 4.1.4): who owns what.
func TestDarrayExample(t *testing.T) {
	owned := map[int64]int{}
	const procs = 6
	for rank := range procs {
		typ := must(Darray(procs, rank, []int{10, 20, 30}, []Distribution{Block, None, Cyclic}, []int{DefaultArg, DefaultArg, DefaultArg}, []int{2, 1, 3}, OrderFortran, Byte))
		if lb, ext := typ.Extent(); lb != 0 || ext != 6000 || typ.Size() != 1000 {
			t.Fatalf("rank %d: lower bound %d, extent %d, size %d", rank, lb, ext, typ.Size())
		}
		m := mapOf(typ)
		for _, e := range m.elems {
			i, k := int(e.disp%10), int(e.disp/200)
			if want := i/5*3 + k%3; want != rank {
				t.Fatalf("rank %d has element (%d, %d, %d) of rank %d", rank, i, e.disp/10%20, k, want)
			}
			owned[e.disp]++
		}
	}
	if len(owned) != 6000 {
		t.Errorf("%d elements are owned", len(owned))
	}
}

// Receiving into a type that names a place twice is an error of the program (MPI-3.1 section 4.1.11): what is there in the end is one
// of the values sent to it, and nothing else is touched.
func TestOverlappingUnpack(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	d := func(lo, hi int) int { return lo + r.IntN(hi-lo+1) }
	for range 300 {
		typ := randomType(d, 3)
		m := mapOf(typ)
		offs := m.offsets(2)
		a := newArena(typ, 2)
		for i := range a.mem {
			a.mem[i] = 0xee
		}
		packed := make([]byte, len(offs))
		sent := map[int64][]byte{}
		for i, o := range offs {
			packed[i] = byte(d(0, 255))
			sent[o] = append(sent[o], packed[i])
		}
		var c Convertor
		c.Prepare(typ, 2, a.base())
		for at := 0; at < len(packed); {
			at += c.Unpack(packed[at:min(len(packed), at+d(1, 100))])
		}
		for disp := -a.origin; disp < int64(len(a.mem))-a.origin; disp++ {
			got, ok := *a.at(disp), false
			for _, v := range sent[disp] {
				ok = ok || v == got
			}
			if len(sent[disp]) == 0 {
				ok = got == 0xee
			}
			if !ok {
				t.Fatalf("byte at %d is %#x, sent were %x", disp, got, sent[disp])
			}
		}
	}
}

// Counts beyond 2^31, of items that all lie at the same place: the whole stream would be gigabytes, the memory is not.
func TestCountsBeyond31Bits(t *testing.T) {
	const count = 1<<31 + 1
	v := [3]int32{1, 2, 3}
	same := must(Resized(must(Vector(2, 1, 2, Int32)), 0, 0))
	for name, typ := range map[string]*Type{
		"resized to nothing":  same,
		"vector of no stride": must(Resized(must(HVector(3, 1, 0, same)), 0, 0)),
		"indexed":             must(Resized(must(IndexedBlock(1, []int{0, 2, 2, 0, 0, 0}, Int32)), 0, 0)),
	} {
		for _, arch := range []Arch{ArchNative, other()} {
			t.Run(fmt.Sprintf("%s/%v", name, arch), func(t *testing.T) {
				var c Convertor
				c.PrepareFor(typ, count, unsafe.Pointer(&v[0]), arch)
				if c.Total() != count*typ.Size() {
					t.Fatalf("total %d", c.Total())
				}
				period := make([]byte, typ.Size())
				c.Pack(period)
				for _, pos := range []int64{1<<31 - 3, 1<<32 - 1, 1 << 33, c.Total() - 17} {
					buf := make([]byte, 40)
					c.SetPosition(pos)
					n := c.Pack(buf)
					if int64(n) != min(40, c.Total()-pos) {
						t.Fatalf("%d bytes from %d", n, pos)
					}
					for i := range n {
						if buf[i] != period[(pos+int64(i))%typ.Size()] {
							t.Fatalf("byte %d is %d", pos+int64(i), buf[i])
						}
					}
					c.SetPosition(pos)
					c.Unpack(buf[:n])
					if v != [3]int32{1, 2, 3} {
						t.Fatalf("unpacked at %d: %v", pos, v)
					}
				}
				if n, partial := typ.ElementCount(c.Total() - 1); n != count*typ.Elements()-1 || !partial {
					t.Errorf("%d elements, %v", n, partial)
				}
			})
		}
	}
}

// A new type has no name, whatever its parts are called; a duplicate is committed if its original is (MPI-3.1 sections 4.1.10, 6.8).
func TestDuplicateOfNamed(t *testing.T) {
	v := must(Vector(2, 1, 3, Int64))
	v.SetName("column")
	d := v.Dup()
	if d.Name() != "" || d.Committed() || Int64.Dup().Name() != "" || !Int64.Dup().Committed() {
		t.Errorf("names %q, %q", d.Name(), Int64.Dup().Name())
	}
	if l, e := d.Extent(); l != 0 || e != 32 || d.Size() != 16 || d.Elements() != 2 {
		t.Errorf("duplicate: lower bound %d, extent %d, size %d", l, e, d.Size())
	}
}

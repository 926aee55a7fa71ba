package core

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/datatype"
	"pgregory.net/rapid"
)

var reductions = []*Op{Sum, Prod, Max, Min, LAnd, LOr, LXor, BAnd, BOr, BXor, MaxLoc, MinLoc}

// classes of MPI-3.1 §5.9.2 and what they are here.
var (
	intTypes     = []*datatype.Type{datatype.Int8, datatype.Int16, datatype.Int32, datatype.Int64, datatype.Uint8, datatype.Uint16, datatype.Uint32, datatype.Uint64}
	floatTypes   = []*datatype.Type{datatype.Float32, datatype.Float64}
	complexTypes = []*datatype.Type{datatype.Complex64, datatype.Complex128}
	boolTypes    = []*datatype.Type{datatype.Bool}
	byteTypes    = []*datatype.Type{datatype.Byte}
	allTypes     = slices.Concat(intTypes, floatTypes, complexTypes, boolTypes, byteTypes)
)

func TestCheckFollowsTheStandardsList(t *testing.T) {
	legal := map[*Op][]*datatype.Type{}
	for _, o := range []*Op{Max, Min} {
		legal[o] = slices.Concat(intTypes, floatTypes)
	}
	for _, o := range []*Op{Sum, Prod} {
		legal[o] = slices.Concat(intTypes, floatTypes, complexTypes)
	}
	for _, o := range []*Op{LAnd, LOr, LXor} {
		legal[o] = slices.Concat(intTypes, boolTypes)
	}
	for _, o := range []*Op{BAnd, BOr, BXor} {
		legal[o] = slices.Concat(intTypes, byteTypes)
	}
	for _, o := range append(slices.Clone(reductions), Replace, NoOp) {
		for _, ty := range allTypes {
			err := o.Check(ty)
			if want := slices.Contains(legal[o], ty); want != (err == nil) {
				t.Errorf("%s on %s: error %v, want legal %v", o.Name(), ty.Name(), err, want)
			}
			if err != nil && !errors.Is(err, ErrOp) {
				t.Errorf("%s on %s: %v is not ErrOp", o.Name(), ty.Name(), err)
			}
			if (o.Kernel(ty.Kind()) != nil) != (o.rmaLegal(ty) && o.pairs == nil) {
				t.Errorf("%s on %s: kernel and CheckAccumulate disagree", o.Name(), ty.Name())
			}
		}
		if o.Commutative() == o.rma || !o.Predefined() {
			t.Errorf("%s: wrong properties", o.Name())
		}
		if err := o.Check(nil); !errors.Is(err, ErrType) && !errors.Is(err, ErrOp) {
			t.Errorf("%s on nil: %v", o.Name(), err)
		}
	}
	if err := (*Op)(nil).Check(datatype.Int32); !errors.Is(err, ErrOp) {
		t.Errorf("nil operation: %v", err)
	}
}

func (o *Op) rmaLegal(t *datatype.Type) bool { return o.CheckAccumulate(t) == nil }

// testOp is an operation and its definition.
type testOp[T any] struct {
	op *Op
	f  func(a, b T) T
}

func orderedOps[T ordered]() []testOp[T] {
	return []testOp[T]{
		{Sum, func(a, b T) T { return a + b }},
		{Prod, func(a, b T) T { return a * b }},
		{Max, func(a, b T) T { return max(a, b) }},
		{Min, func(a, b T) T { return min(a, b) }},
		{Replace, func(a, b T) T { return a }},
		{NoOp, func(a, b T) T { return b }},
	}
}

func integerOps[T integer]() []testOp[T] {
	is := func(v bool) T {
		if v {
			return 1
		}
		return 0
	}
	return append(orderedOps[T](), []testOp[T]{
		{LAnd, func(a, b T) T { return is(a != 0 && b != 0) }},
		{LOr, func(a, b T) T { return is(a != 0 || b != 0) }},
		{LXor, func(a, b T) T { return is((a == 0) != (b == 0)) }},
		{BAnd, func(a, b T) T { return a & b }},
		{BOr, func(a, b T) T { return a | b }},
		{BXor, func(a, b T) T { return a ^ b }},
	}...)
}

func complexOps[T complex64 | complex128]() []testOp[T] {
	return []testOp[T]{
		{Sum, func(a, b T) T { return a + b }},
		{Prod, func(a, b T) T { return a * b }},
		{Replace, func(a, b T) T { return a }},
		{NoOp, func(a, b T) T { return b }},
	}
}

// runOps applies each operation to all pairs of values and compares with its definition.
func runOps[T comparable](t *testing.T, ty *datatype.Type, ops []testOp[T], values []T) {
	t.Helper()
	for _, c := range ops {
		t.Run(c.op.Name()+"/"+ty.Name(), func(t *testing.T) {
			var in, inout, want []T
			for _, a := range values {
				for _, b := range values {
					in, inout, want = append(in, a), append(inout, b), append(want, c.f(a, b))
				}
			}
			kept := slices.Clone(in)
			k := c.op.Kernel(ty.Kind())
			if k == nil {
				t.Fatal("no kernel")
			}
			again := slices.Clone(inout)
			k(unsafe.Pointer(&in[0]), unsafe.Pointer(&again[0]), int64(len(in)))
			c.op.Apply(unsafe.Pointer(&in[0]), unsafe.Pointer(&inout[0]), int64(len(in)), ty)
			for i := range want {
				if inout[i] != want[i] || again[i] != want[i] {
					t.Fatalf("%v op second: got %v and %v, want %v", in[i], inout[i], again[i], want[i])
				}
			}
			if !slices.Equal(in, kept) {
				t.Fatal("the in operand changed")
			}
		})
	}
}

func TestEveryOperationOnEveryKind(t *testing.T) {
	runOps(t, datatype.Int8, integerOps[int8](), []int8{0, 1, -1, 5, 127, -128})
	runOps(t, datatype.Int16, integerOps[int16](), []int16{0, 1, -1, 300, 32767, -32768})
	runOps(t, datatype.Int32, integerOps[int32](), []int32{0, 1, -1, 70000, 1<<31 - 1, -1 << 31})
	runOps(t, datatype.Int64, integerOps[int64](), []int64{0, 1, -1, 1 << 40, 1<<63 - 1, -1 << 63})
	runOps(t, datatype.Uint8, integerOps[uint8](), []uint8{0, 1, 5, 127, 255})
	runOps(t, datatype.Uint16, integerOps[uint16](), []uint16{0, 1, 300, 65535})
	runOps(t, datatype.Uint32, integerOps[uint32](), []uint32{0, 1, 70000, 1<<32 - 1})
	runOps(t, datatype.Uint64, integerOps[uint64](), []uint64{0, 1, 1 << 40, 1<<64 - 1})
	runOps(t, datatype.Float32, orderedOps[float32](), []float32{0, 1, -1.5, 3e10})
	runOps(t, datatype.Float64, orderedOps[float64](), []float64{0, 1, -1.5, 3e100})
	runOps(t, datatype.Complex64, complexOps[complex64](), []complex64{0, 1, 2i, -1.5 + 4i})
	runOps(t, datatype.Complex128, complexOps[complex128](), []complex128{0, 1, 2i, -1.5 + 4i})
	logical := []testOp[bool]{
		{LAnd, func(a, b bool) bool { return a && b }},
		{LOr, func(a, b bool) bool { return a || b }},
		{LXor, func(a, b bool) bool { return a != b }},
		{Replace, func(a, b bool) bool { return a }},
	}
	runOps(t, datatype.Bool, logical, []bool{false, true})
	runOps(t, datatype.Byte, integerOps[byte]()[9:], []byte{0, 1, 0x55, 0xff})
}

type celsius float64

func runLoc[T ordered](t *testing.T) {
	t.Helper()
	ty, err := datatype.For[Loc[T]]()
	if err != nil {
		t.Fatal(err)
	}
	type side struct{ a, b, max, min Loc[T] }
	for _, c := range []side{
		{Loc[T]{1, 7}, Loc[T]{2, 8}, Loc[T]{2, 8}, Loc[T]{1, 7}},
		{Loc[T]{2, 7}, Loc[T]{1, 8}, Loc[T]{2, 7}, Loc[T]{1, 8}},
		{Loc[T]{3, 7}, Loc[T]{3, 8}, Loc[T]{3, 7}, Loc[T]{3, 7}},
		{Loc[T]{3, 8}, Loc[T]{3, -7}, Loc[T]{3, -7}, Loc[T]{3, -7}},
	} {
		for op, want := range map[*Op]Loc[T]{MaxLoc: c.max, MinLoc: c.min} {
			if err := op.Check(ty); err != nil {
				t.Fatalf("%s on %s: %v", op.Name(), ty.Name(), err)
			}
			if err := op.CheckAccumulate(ty); err != nil {
				t.Fatalf("%s into %s: %v", op.Name(), ty.Name(), err)
			}
			a, b := c.a, c.b
			op.Apply(unsafe.Pointer(&a), unsafe.Pointer(&b), 1, ty)
			if b != want || a != c.a {
				t.Errorf("%s on %s: %v with %v gives %v, want %v", op.Name(), ty.Name(), c.a, c.b, b, want)
			}
		}
	}
	if err := Sum.Check(ty); !errors.Is(err, ErrOp) {
		t.Errorf("sum of pairs: %v, want ErrOp", err)
	}
}

func TestPairs(t *testing.T) {
	runLoc[int8](t)
	runLoc[int16](t)
	runLoc[int32](t)
	runLoc[int64](t)
	runLoc[uint8](t)
	runLoc[uint16](t)
	runLoc[uint32](t)
	runLoc[uint64](t)
	runLoc[float32](t)
	runLoc[float64](t)
}

func mustType(t *testing.T) func(ty *datatype.Type, err error) *datatype.Type {
	return func(ty *datatype.Type, err error) *datatype.Type {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return ty
	}
}

func TestPairTypesMadeOtherwise(t *testing.T) {
	must := mustType(t)
	byHand := must(datatype.Struct([]int{1, 1}, []int64{0, 8}, []*datatype.Type{datatype.Float64, datatype.Int32}))
	good := []*datatype.Type{
		must(datatype.For[Loc[int]]()), must(datatype.For[Loc[uint]]()), must(datatype.For[Loc[celsius]]()), byHand, byHand.Dup(),
		must(datatype.Resized(byHand, 0, 16)),
	}
	for i, ty := range good {
		if err := MaxLoc.Check(ty); err != nil {
			t.Errorf("good type %d: %v", i, err)
		}
	}
	a, b := Loc[celsius]{20, 1}, Loc[celsius]{19, 0}
	MaxLoc.Apply(unsafe.Pointer(&a), unsafe.Pointer(&b), 1, good[2])
	if b != a {
		t.Errorf("named value type: got %v, want %v", b, a)
	}
	type farther struct {
		V float64
		_ int32
		I int32
	}
	type wide struct {
		V float64
		I int64
	}
	type three struct {
		V    float64
		I, J int32
	}
	bad := []*datatype.Type{
		must(datatype.For[farther]()), must(datatype.For[wide]()), must(datatype.For[three]()), must(datatype.For[Loc[bool]]()),
		must(datatype.For[Loc[complex64]]()), must(datatype.Resized(byHand, 0, 24)), must(datatype.Resized(byHand, -8, 24)),
		must(datatype.Contiguous(2, datatype.Int32)), must(datatype.Contiguous(2, byHand)), datatype.Float64,
		must(datatype.Contiguous(0, datatype.Int32)),
	}
	for i, ty := range bad {
		if err := MinLoc.Check(ty); !errors.Is(err, ErrOp) {
			t.Errorf("bad type %d (%s): %v, want ErrOp", i, ty.Name(), err)
		}
	}
}

func TestDerivedTypes(t *testing.T) {
	must := mustType(t)
	array := must(datatype.For[[2][3]float32]())
	if err := Sum.Check(array); err != nil {
		t.Errorf("Go array: %v", err)
	}
	a, b := [2][2][3]float32{{{1, 2, 3}, {4, 5, 6}}, {{7}, {8}}}, [2][2][3]float32{{{10, 10, 10}}, {{}, {1, 2, 3}}}
	want := [2][2][3]float32{{{11, 12, 13}, {4, 5, 6}}, {{7, 0, 0}, {9, 2, 3}}}
	Sum.Apply(unsafe.Pointer(&a), unsafe.Pointer(&b), 2, array)
	if b != want {
		t.Errorf("sum of arrays: %v, want %v", b, want)
	}
	if err := LAnd.Check(array); !errors.Is(err, ErrOp) {
		t.Errorf("logical on floats in an array: %v, want ErrOp", err)
	}
	type xyz struct{ X, Y, Z float64 }
	derived := []*datatype.Type{
		must(datatype.Contiguous(3, datatype.Float64)), must(datatype.Vector(2, 1, 2, datatype.Float64)), must(datatype.For[xyz]()),
		datatype.Float64.Dup(),
	}
	for i, ty := range derived {
		if err := Sum.Check(ty); !errors.Is(err, ErrOp) {
			t.Errorf("derived type %d: %v, want ErrOp", i, err)
		}
		if err := Sum.CheckAccumulate(ty); err != nil {
			t.Errorf("accumulate into derived type %d: %v", i, err)
		}
		if err := BAnd.CheckAccumulate(ty); !errors.Is(err, ErrOp) {
			t.Errorf("accumulate bits into derived type %d: %v, want ErrOp", i, err)
		}
	}
	mixed := must(datatype.For[Loc[float64]]())
	if err := Sum.CheckAccumulate(mixed); !errors.Is(err, ErrOp) {
		t.Errorf("accumulate sum into a mixed type: %v, want ErrOp", err)
	}
	if err := Replace.CheckAccumulate(mixed); err != nil {
		t.Errorf("replace in a mixed type: %v", err)
	}
}

func TestUserOperations(t *testing.T) {
	must := mustType(t)
	type pair struct {
		A int8
		B int64
	}
	minus := NewOp(false, func(in, inout []pair) {
		for i := range in {
			inout[i] = pair{in[i].A - inout[i].A, in[i].B - inout[i].B}
		}
	})
	if minus.Commutative() || minus.Predefined() || minus.Kernel(datatype.KindInt64) != nil {
		t.Error("user operation has the wrong properties")
	}
	a, b := []pair{{9, 90}, {8, 80}}, []pair{{1, 10}, {2, 20}}
	ty := must(datatype.For[pair]())
	if err := minus.Check(ty); err != nil {
		t.Fatal(err)
	}
	minus.Apply(unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0]), 2, ty)
	if !slices.Equal(b, []pair{{8, 80}, {6, 60}}) {
		t.Errorf("got %v", b)
	}
	minus.Apply(nil, nil, 0, ty)
	for _, bad := range []*datatype.Type{datatype.Int64, must(datatype.For[[16]byte]()), must(datatype.Resized(ty, 0, 24))} {
		if err := minus.Check(bad); !errors.Is(err, ErrOp) {
			t.Errorf("on %s: %v, want ErrOp", bad.Name(), err)
		}
	}
	if err := minus.Check(ty.Dup()); err != nil {
		t.Errorf("on a duplicate: %v", err)
	}
	if err := minus.CheckAccumulate(ty); !errors.Is(err, ErrOp) {
		t.Errorf("accumulate: %v, want ErrOp", err)
	}
	if err := NewOp(true, func(in, inout []byte) {}).Check(datatype.Byte); err != nil {
		t.Errorf("bytes: %v", err)
	}
	if err := NewOp(true, func(in, inout []int64) {}).Check(datatype.Float64); !errors.Is(err, ErrOp) {
		t.Errorf("int64 operation on floats: %v, want ErrOp", err)
	}
	if err := NewOp(true, func(in, inout []string) {}).Check(datatype.Byte); !errors.Is(err, ErrType) {
		t.Errorf("strings: %v, want ErrType", err)
	}
	if err := NewOp[int](true, nil).Check(datatype.Int64); !errors.Is(err, ErrArg) {
		t.Errorf("nil function: %v, want ErrArg", err)
	}
	if err := NewRawOp(true, nil).Check(datatype.Int64); !errors.Is(err, ErrArg) {
		t.Errorf("nil raw function: %v, want ErrArg", err)
	}
}

func TestRawOperationSeesItsType(t *testing.T) {
	vector := mustType(t)(datatype.Vector(2, 1, 2, datatype.Int32))
	var seen int
	raw := NewRawOp(true, func(in, inout unsafe.Pointer, n int, ty *datatype.Type) {
		seen = n
		if ty != vector {
			t.Errorf("got type %v", ty)
		}
		*(*int32)(inout) += *(*int32)(in)
	})
	if err := raw.Check(vector); err != nil {
		t.Fatal(err)
	}
	a, b := int32(3), int32(4)
	raw.Apply(unsafe.Pointer(&a), unsafe.Pointer(&b), 5, vector)
	if seen != 5 || b != 7 {
		t.Errorf("n %d, result %d", seen, b)
	}
}

func TestApplyRefusesWhatCheckRefuses(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	var a, b float64
	BAnd.Apply(unsafe.Pointer(&a), unsafe.Pointer(&b), 1, datatype.Float64)
}

func TestApplyDoesNotAllocate(t *testing.T) {
	pair := mustType(t)(datatype.For[Loc[float64]]())
	array := mustType(t)(datatype.For[[4]int32]())
	var x, y [4]Loc[float64]
	for op, ty := range map[*Op]*datatype.Type{Sum: datatype.Float64, MaxLoc: pair, BXor: array} {
		n := testing.AllocsPerRun(100, func() {
			op.Apply(unsafe.Pointer(&x), unsafe.Pointer(&y), 4, ty)
			if op.Check(ty) != nil {
				t.Error("refused")
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", op.Name(), n)
		}
	}
}

// Any grouping of a chain of operands gives the same result, which is what collectives build on.
func TestGroupingDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		op := rapid.SampledFrom([]*Op{Sum, Prod, Max, Min, LAnd, LOr, LXor, BAnd, BOr, BXor}).Draw(t, "op")
		v := rapid.SliceOfN(rapid.Int32(), 2, 9).Draw(t, "operands")
		cut := rapid.IntRange(1, len(v)-1).Draw(t, "cut")
		fold := func(v []int32) int32 {
			acc := v[len(v)-1]
			for i := len(v) - 2; i >= 0; i-- {
				op.Apply(unsafe.Pointer(&v[i]), unsafe.Pointer(&acc), 1, datatype.Int32)
			}
			return acc
		}
		left, right, all := fold(v[:cut]), fold(v[cut:]), fold(v)
		op.Apply(unsafe.Pointer(&left), unsafe.Pointer(&right), 1, datatype.Int32)
		if right != all {
			t.Fatalf("%s of %v cut at %d: %d, want %d", op.Name(), v, cut, right, all)
		}
	})
}

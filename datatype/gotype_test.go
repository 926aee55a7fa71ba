package datatype

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

type celsius float64

type padded struct {
	A int8
	_ int32
	B float64
	C [3]uint16
	d bool
}

type inner struct{ X, Y float32 }

type outer struct {
	inner
	In  [2]inner
	N   int
	End int8
}

type withArray struct {
	_ [0]func()
	A int32
}

func typeOf[T any](t *testing.T) *Type {
	t.Helper()
	typ, err := For[T]()
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

func TestForBasic(t *testing.T) {
	for _, c := range []struct {
		got, want *Type
	}{
		{typeOf[int8](t), Int8}, {typeOf[int16](t), Int16}, {typeOf[int32](t), Int32}, {typeOf[rune](t), Int32},
		{typeOf[int64](t), Int64}, {typeOf[uint8](t), Uint8}, {typeOf[byte](t), Uint8}, {typeOf[uint16](t), Uint16},
		{typeOf[uint32](t), Uint32}, {typeOf[uint64](t), Uint64}, {typeOf[float32](t), Float32}, {typeOf[float64](t), Float64},
		{typeOf[complex64](t), Complex64}, {typeOf[complex128](t), Complex128}, {typeOf[bool](t), Bool},
		{typeOf[celsius](t), Float64}, {typeOf[reflect.Kind](t), typeOf[uint](t)},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got.Name(), c.want.Name())
		}
	}
	word := int64(unsafe.Sizeof(uintptr(0)))
	for _, typ := range []*Type{typeOf[int](t), typeOf[uint](t), typeOf[uintptr](t)} {
		if typ.Size() != word || typ.Kind() == KindNone {
			t.Errorf("%s has %d bytes, want %d", typ.Name(), typ.Size(), word)
		}
	}
}

func TestForStruct(t *testing.T) {
	for _, c := range []struct {
		name                string
		typ                 *Type
		size, extent, elems int64
		contiguous          bool
	}{
		{"padded", typeOf[padded](t), 1 + 8 + 6 + 1, int64(unsafe.Sizeof(padded{})), 6, false},
		{"inner", typeOf[inner](t), 8, 8, 2, true},
		{"outer", typeOf[outer](t), 24 + 8 + 1, int64(unsafe.Sizeof(outer{})), 8, false},
		{"array", typeOf[[5]inner](t), 40, 40, 10, true},
		{"array of padded", typeOf[[5]padded](t), 80, 5 * int64(unsafe.Sizeof(padded{})), 30, false},
		{"empty", typeOf[struct{}](t), 0, 0, 0, true},
		{"blank", typeOf[struct{ _ int64 }](t), 0, 8, 0, false},
		{"no elements", typeOf[[0]string](t), 0, 0, 0, true},
		{"empty array field", typeOf[withArray](t), 4, int64(unsafe.Sizeof(withArray{})), 1, unsafe.Sizeof(withArray{}) == 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			lb, extent := c.typ.Extent()
			if c.typ.Size() != c.size || lb != 0 || extent != c.extent || c.typ.Elements() != c.elems ||
				c.typ.Contiguous() != c.contiguous || !c.typ.Committed() || c.typ.Kind() != KindNone {
				t.Errorf("size %d, lb %d, extent %d, elements %d, contiguous %v; want %d, 0, %d, %d, %v", c.typ.Size(), lb, extent,
					c.typ.Elements(), c.typ.Contiguous(), c.size, c.extent, c.elems, c.contiguous)
			}
		})
	}
	if again := typeOf[padded](t); again != typeOf[padded](t) {
		t.Error("For made a second type for one Go type")
	}
	if name := typeOf[padded](t).Name(); name != "datatype.padded" {
		t.Errorf("name %q", name)
	}
}

func TestForLeavesHolesAlone(t *testing.T) {
	typ := typeOf[padded](t)
	in := []padded{{A: 1, B: 2, C: [3]uint16{3, 4, 5}, d: true}, {A: 6, B: 7, C: [3]uint16{8, 9, 10}}}
	var c Convertor
	c.Prepare(typ, 2, unsafe.Pointer(&in[0]))
	packed := make([]byte, c.Total())
	c.Pack(packed)

	out := make([]padded, 2)
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&out[0])), len(out)*int(unsafe.Sizeof(out[0])))
	for i := range raw {
		raw[i] = 0xaa
	}
	c.Prepare(typ, 2, unsafe.Pointer(&out[0]))
	c.Unpack(packed)
	for i := range in {
		if in[i].A != out[i].A || in[i].B != out[i].B || in[i].C != out[i].C || in[i].d != out[i].d {
			t.Errorf("element %d: got %v, want %v", i, out[i], in[i])
		}
	}
	holes := 0
	for _, b := range raw {
		if b == 0xaa {
			holes++
		}
	}
	if want := len(raw) - len(packed); holes != want {
		t.Errorf("%d bytes untouched, want %d", holes, want)
	}
}

type abiClass int

func (c abiClass) Error() string { return "class" }
func (c abiClass) ABIClass() int { return int(c) }

func TestForPointers(t *testing.T) {
	type body struct {
		ID   int32
		Name string
	}
	type item struct{ Tags []int }
	fail := func(_ *Type, err error) error { return err }
	for _, c := range []struct {
		err  error
		want string
	}{
		{fail(For[struct{ Body body }]()), "field Body.Name (string)"},
		{fail(For[struct{ Items [3]item }]()), "field Items[].Tags ([]int)"},
		{fail(For[struct{ Names [2][3]string }]()), "field Names ([2][3]string)"},
		{fail(For[struct{ _ *int }]()), "field _ (*int)"},
		{fail(For[[2]item]()), "field Tags ([]int)"},
		{fail(For[struct{ P unsafe.Pointer }]()), "field P (unsafe.Pointer)"},
		{fail(For[string]()), "string holds pointers"},
		{fail(For[*int]()), "*int holds pointers: a pointer cannot be sent"},
		{fail(For[[]int]()), "[]int holds pointers"},
		{fail(For[map[int]int]()), "map[int]int holds pointers"},
		{fail(For[chan int]()), "chan int holds pointers: a channel cannot be sent"},
		{fail(For[func()]()), "func() holds pointers"},
		{fail(For[any]()), "interface {} holds pointers: an interface cannot be sent"},
		{fail(For[error]()), "error holds pointers"},
		{fail(For[[2]*int]()), "[2]*int holds pointers"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got %v, want it to say %q", c.err, c.want)
		}
		if !errors.Is(c.err, abiClass(classType)) || errors.Is(c.err, abiClass(classArg)) {
			t.Errorf("%v is not just of class MPI_ERR_TYPE", c.err)
		}
		var e *Error
		if !errors.As(c.err, &e) || e.ABIClass() != classType {
			t.Errorf("%v is no *Error of class MPI_ERR_TYPE", c.err)
		}
	}
}

// What Contents says of a struct's type makes the same type again.
func TestForContents(t *testing.T) {
	typ := typeOf[outer](t)
	ints, addrs, types := typ.Contents()
	if typ.Envelope().Combiner == CombinerResized {
		t.Fatal("a plain struct has its natural extent")
	}
	again, err := Struct(ints[1:], addrs, types)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := mapOf(typ), mapOf(again); !reflect.DeepEqual(a, b) {
		t.Errorf("got %v, want %v", b, a)
	}
	if e := typeOf[struct {
		A int32
		_ [4]byte
	}](t).Envelope(); e != (Envelope{CombinerResized, 0, 2, 1}) {
		t.Errorf("envelope %+v", e)
	}
}

func TestForConcurrent(t *testing.T) {
	type fresh struct {
		A int8
		B [7]outer
	}
	var wg sync.WaitGroup
	got := make([]*Type, 8)
	for i := range got {
		wg.Go(func() {
			typ, err := For[fresh]()
			if err == nil {
				err = typ.Commit()
			}
			if err != nil {
				t.Error(err)
			}
			got[i] = typ
		})
	}
	wg.Wait()
	for _, typ := range got {
		if typ != got[0] {
			t.Fatal("For gave different types for one Go type")
		}
	}
}

func BenchmarkFor(b *testing.B) {
	b.Run("float64", func(b *testing.B) { benchFor[float64](b) })
	b.Run("bool", func(b *testing.B) { benchFor[bool](b) })
	b.Run("named", func(b *testing.B) { benchFor[celsius](b) })
	b.Run("struct", func(b *testing.B) { benchFor[outer](b) })
}

func benchFor[T any](b *testing.B) {
	for b.Loop() {
		if _, err := For[T](); err != nil {
			b.Fatal(err)
		}
	}
}

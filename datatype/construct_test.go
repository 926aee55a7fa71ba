package datatype

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
)

func must(t *Type, err error) *Type {
	if err != nil {
		panic(err)
	}
	return t
}

// Bounds by hand, beside the model test: these are the standard's own examples and corners.
func TestBounds(t *testing.T) {
	doubleChar := must(Struct([]int{1, 1}, []int64{0, 8}, []*Type{Float64, Int8})) // MPI-3.1 example 4.1
	for _, c := range []struct {
		name                                 string
		typ                                  *Type
		size, lb, extent, trueLB, trueExtent int64
	}{
		{"example 4.1", doubleChar, 9, 0, 16, 0, 9},
		{"example 4.2", must(Contiguous(3, doubleChar)), 27, 0, 48, 0, 41},
		{"vector", must(Vector(2, 3, 4, Float64)), 48, 0, 56, 0, 56},
		{"vector backwards", must(Vector(3, 1, -2, Float64)), 24, -32, 40, -32, 40},
		{"vector of one block", must(Vector(1, 3, math.MaxInt, Float64)), 24, 0, 24, 0, 24},
		{"hvector unaligned", must(HVector(2, 1, 5, Int32)), 8, 0, 12, 0, 9},
		{"indexed", must(Indexed([]int{3, 1}, []int{4, 0}, Float64)), 32, 0, 56, 0, 56},
		{"indexed skips empty blocks", must(Indexed([]int{0, 1}, []int{-1000, 2}, Int32)), 4, 8, 4, 8, 4},
		{"nothing", must(Contiguous(0, Float64)), 0, 0, 0, 0, 0},
		{"no blocks", must(Struct(nil, nil, nil)), 0, 0, 0, 0, 0},
		{"resized", must(Resized(Int32, -4, 16)), 4, -4, 16, 0, 4},
		{"resized twice", must(Resized(must(Resized(Int32, -4, 16)), 0, 4)), 4, 0, 4, 0, 4},
		{"contiguous of resized", must(Contiguous(3, must(Resized(Int32, -4, 16)))), 12, -4, 48, 0, 36},
		{"resized rules", must(Struct([]int{1, 1}, []int64{0, 100}, []*Type{must(Resized(Int32, 0, 16)), Int64})), 12, 0, 16, 0, 108},
		{"empty but resized", must(Contiguous(3, must(Resized(must(Contiguous(0, Int8)), 0, 16)))), 0, 0, 48, 0, 0},
		{"negative extent", must(Contiguous(3, must(Resized(Int32, 0, -8)))), 12, -16, 8, -16, 20},
		{"subarray", must(Subarray([]int{4, 6}, []int{2, 3}, []int{1, 2}, OrderC, Int32)), 24, 0, 96, 32, 36},
		{"subarray fortran", must(Subarray([]int{4, 6}, []int{2, 3}, []int{1, 2}, OrderFortran, Int32)), 24, 0, 96, 36, 40},
		{"darray", must(Darray(4, 3, []int{4, 6}, []Distribution{Block, Cyclic}, []int{DefaultArg, 2}, []int{2, 2}, OrderC, Int32)),
			16, 0, 96, 56, 32},
		{"darray owning nothing", must(Darray(4, 3, []int{2}, []Distribution{Block}, []int{DefaultArg}, []int{4}, OrderC, Int32)),
			0, 0, 8, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			lb, extent := c.typ.Extent()
			tlb, text := c.typ.TrueExtent()
			got := [...]int64{c.typ.Size(), lb, extent, tlb, text}
			if want := [...]int64{c.size, c.lb, c.extent, c.trueLB, c.trueExtent}; got != want {
				t.Errorf("size, lb, extent, true lb, true extent: %v, want %v", got, want)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	const big = math.MaxInt
	huge := must(Contiguous(1<<60, Byte))
	fail := func(_ *Type, err error) error { return err }
	for i, c := range []struct {
		err   error
		class int
	}{
		{fail(Contiguous(-1, Int8)), classCount},
		{fail(Contiguous(1, nil)), classType},
		{fail(Contiguous(big, Int16)), classCount},
		{fail(Contiguous(8, huge)), classCount},
		{fail(Vector(-1, 1, 1, Int8)), classCount},
		{fail(Vector(1, -1, 1, Int8)), classArg},
		{fail(Vector(2, 1, big, Int16)), classCount},
		{fail(Vector(1<<32, 1<<32, 0, Int8)), classCount},
		{fail(HVector(3, 1, big, Int16)), classCount},
		{fail(HVector(3, 1, math.MinInt64, Int16)), classCount},
		{fail(HVector(1, 1, 1, nil)), classType},
		{fail(Indexed([]int{1}, []int{1, 2}, Int8)), classArg},
		{fail(Indexed([]int{-1}, []int{1}, Int8)), classArg},
		{fail(Indexed([]int{1}, []int{big}, Int16)), classCount},
		{fail(HIndexed([]int{1}, nil, Int8)), classArg},
		{fail(HIndexed([]int{1, 1}, []int64{math.MinInt64, math.MaxInt64 - 8}, Int8)), classCount},
		{fail(IndexedBlock(-1, nil, Int8)), classArg},
		{fail(IndexedBlock(1, []int{math.MinInt}, Int16)), classCount},
		{fail(HIndexedBlock(1, []int64{math.MaxInt64}, Int8)), classCount},
		{fail(HIndexedBlock(1, nil, nil)), classType},
		{fail(Struct([]int{1}, []int64{0}, nil)), classArg},
		{fail(Struct([]int{1}, []int64{0}, []*Type{nil})), classType},
		{fail(Resized(Int8, math.MaxInt64, 1)), classArg},
		{fail(Resized(nil, 0, 1)), classType},
		{fail(Subarray(nil, nil, nil, OrderC, Int8)), classArg},
		{fail(Subarray([]int{4}, []int{3}, []int{2}, OrderC, Int8)), classArg},
		{fail(Subarray([]int{4}, []int{0}, []int{2}, OrderC, Int8)), classArg},
		{fail(Subarray([]int{4}, []int{1}, []int{1}, 7, Int8)), classArg},
		{fail(Subarray([]int{4}, []int{1, 1}, []int{1}, OrderC, Int8)), classArg},
		{fail(Subarray([]int{1 << 32, 1 << 32}, []int{1, 1}, []int{0, 0}, OrderC, Int8)), classCount},
		{fail(Darray(2, 2, []int{4}, []Distribution{Block}, []int{-1}, []int{2}, OrderC, Int8)), classArg},
		{fail(Darray(2, 0, []int{4}, []Distribution{Block}, []int{1}, []int{2}, OrderC, Int8)), classArg},
		{fail(Darray(2, 0, []int{4}, []Distribution{None}, []int{-1}, []int{2}, OrderC, Int8)), classArg},
		{fail(Darray(2, 0, []int{4}, []Distribution{9}, []int{-1}, []int{2}, OrderC, Int8)), classArg},
		{fail(Darray(3, 0, []int{4}, []Distribution{Cyclic}, []int{-1}, []int{2}, OrderC, Int8)), classArg},
		{fail(Darray(2, 0, []int{4}, []Distribution{Cyclic}, []int{0}, []int{2}, OrderC, Int8)), classArg},
		{fail(Darray(2, 0, []int{4, 4}, []Distribution{Cyclic}, []int{-1}, []int{2}, OrderC, Int8)), classArg},
		{(*Type)(nil).Commit(), classType},
	} {
		if c.err == nil || !errors.Is(c.err, abiClass(c.class)) {
			t.Errorf("case %d: got %v, want an error of class %d", i, c.err, c.class)
		}
	}
}

func TestPackedSizeAndSpan(t *testing.T) {
	back := must(Vector(3, 1, -2, Float64))
	for _, c := range []struct {
		typ          *Type
		count        int64
		size, lo, hi int64
		bad          bool
	}{
		{Int32, 5, 20, 0, 20, false},
		{Int32, 0, 0, 0, 0, false},
		{Int32, -1, 0, 0, 0, true},
		{Int32, math.MaxInt64 / 2, 0, 0, 0, true},
		{back, 2, 48, -32, 48, false},
		{must(Resized(Int32, 0, -8)), 3, 12, -16, 4, false},
		{must(Resized(Int8, 0, 1<<40)), 1 << 30, 0, 0, 0, true},
		{must(Resized(must(Contiguous(0, Int8)), 0, 1<<40)), 1 << 30, 0, 0, 0, false},
		{Int64, 1 << 32, 1 << 35, 0, 1 << 35, false},
	} {
		lo, hi, err := c.typ.Span(c.count)
		if (err != nil) != c.bad || lo != c.lo || hi != c.hi || (c.bad && !errors.Is(err, abiClass(classCount))) {
			t.Errorf("Span(%d) = %d, %d, %v; want %d, %d, error %v", c.count, lo, hi, err, c.lo, c.hi, c.bad)
		}
		if n, err := c.typ.PackedSize(c.count); err == nil && n != c.size && !c.bad {
			t.Errorf("PackedSize(%d) = %d, want %d", c.count, n, c.size)
		}
	}
}

// Every constructor's contents, in the standard's order; a type is rebuilt from them and is the same.
func TestContents(t *testing.T) {
	two := []*Type{Int32, Int8}
	for _, c := range []struct {
		typ   *Type
		comb  Combiner
		ints  []int
		addrs []int64
		types []*Type
	}{
		{Int32, CombinerNamed, nil, nil, nil},
		{Int32.Dup(), CombinerDup, nil, nil, two[:1]},
		{must(Contiguous(3, Int32)), CombinerContiguous, []int{3}, nil, two[:1]},
		{must(Vector(2, 3, 4, Int32)), CombinerVector, []int{2, 3, 4}, nil, two[:1]},
		{must(HVector(2, 3, 40, Int32)), CombinerHVector, []int{2, 3}, []int64{40}, two[:1]},
		{must(Indexed([]int{1, 2}, []int{3, 5}, Int32)), CombinerIndexed, []int{2, 1, 2, 3, 5}, nil, two[:1]},
		{must(HIndexed([]int{1, 2}, []int64{3, 9}, Int32)), CombinerHIndexed, []int{2, 1, 2}, []int64{3, 9}, two[:1]},
		{must(IndexedBlock(7, []int{3, 25}, Int32)), CombinerIndexedBlock, []int{2, 7, 3, 25}, nil, two[:1]},
		{must(HIndexedBlock(7, []int64{3, 95}, Int32)), CombinerHIndexedBlock, []int{2, 7}, []int64{3, 95}, two[:1]},
		{must(Struct([]int{1, 2}, []int64{0, 4}, two)), CombinerStruct, []int{2, 1, 2}, []int64{0, 4}, two},
		{must(Subarray([]int{4, 6}, []int{2, 3}, []int{1, 2}, OrderFortran, Int32)), CombinerSubarray,
			[]int{2, 4, 6, 2, 3, 1, 2, int(OrderFortran)}, nil, two[:1]},
		{must(Darray(2, 1, []int{5}, []Distribution{Cyclic}, []int{3}, []int{2}, OrderC, Int32)), CombinerDarray,
			[]int{2, 1, 1, 5, int(Cyclic), 3, 2, int(OrderC)}, nil, two[:1]},
		{must(Resized(Int32, -1, 9)), CombinerResized, nil, []int64{-1, 9}, two[:1]},
	} {
		ints, addrs, types := c.typ.Contents()
		e := c.typ.Envelope()
		if e != (Envelope{c.comb, len(c.ints), len(c.addrs), len(c.types)}) || !reflect.DeepEqual(ints, c.ints) ||
			!reflect.DeepEqual(addrs, c.addrs) || !reflect.DeepEqual(types, c.types) {
			t.Errorf("combiner %d: envelope %+v, contents %v, %v, %v; want %v, %v, %v", c.comb, e, ints, addrs, types,
				c.ints, c.addrs, c.types)
		}
		if len(ints) > 0 {
			ints[0] = -99
			if again, _, _ := c.typ.Contents(); again[0] == -99 {
				t.Errorf("combiner %d: contents can be written to", c.comb)
			}
		}
	}
}

func TestConstructorsCopyTheirArguments(t *testing.T) {
	lens, displs := []int{1, 1}, []int64{0, 8}
	typ := must(HIndexed(lens, displs, Int32))
	lens[0], displs[1] = 100, 1<<40
	if m := mapOf(typ); len(m.elems) != 2 || m.elems[1].disp != 8 {
		t.Errorf("the type follows its arguments: %v", m)
	}
}

func TestNamesAndCommit(t *testing.T) {
	if Int32.Name() != "MPI_INT32_T" || !Int32.Committed() || Int32.Kind() != KindInt32 || KindComplex128.Size() != 16 {
		t.Errorf("Int32: %q, %v, %v", Int32.Name(), Int32.Committed(), Int32.Kind())
	}
	if Kind(200).Size() != 0 || Kind(200).String() != "invalid" || KindNone.Size() != 0 || KindBool.String() != "MPI_C_BOOL" {
		t.Error("unknown kinds")
	}
	v := must(Vector(2, 1, 2, Int32))
	if v.Name() != "" || v.Committed() || v.Kind() != KindNone {
		t.Error("a new type has a name, a kind or is committed")
	}
	v.SetName("column")
	d := v.Dup()
	if d.Committed() {
		t.Error("duplicate of an uncommitted type is committed")
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := v.Commit(); err != nil {
				t.Error(err)
			}
			if err := d.Commit(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if e := v.Dup(); !v.Committed() || !e.Committed() || e.Name() != "" || v.Name() != "column" {
		t.Error("commit, duplicate and name")
	}
}

// What the commit makes of common types: few runs, whatever the way they were spelled.
func TestCompiledForm(t *testing.T) {
	row := must(Contiguous(4, Float64))
	spaced := make([]int, 1000)
	for i := range spaced {
		spaced[i] = 3 * i
	}
	part := must(Indexed([]int{1, 2, 1, 2, 1, 2, 1, 2, 1}, []int{0, 2, 5, 9, 14, 20, 27, 35, 44}, Float64))
	shared := "[0+8 16+16 40+8 72+16 112+8 160+16 216+8 280+16 352+8]"
	for _, c := range []struct {
		name string
		typ  *Type
		want string
	}{
		{"contiguous of contiguous", must(Contiguous(5, row)), "[0+160]"},
		{"vector without gaps", must(Vector(5, 4, 4, Float64)), "[0+160]"},
		{"vector", must(Vector(5, 2, 4, Float64)), "[5x32:0+16]"},
		{"indexed at a regular stride", must(IndexedBlock(1, spaced, Float64)), "[1000x24:0+8]"},
		{"neighbours", must(HIndexed([]int{1, 1, 1}, []int64{0, 8, 24}, Float64)), "[0+16 24+8]"},
		{"struct of everything", must(Struct([]int{1, 1}, []int64{0, 4}, []*Type{Int32, Float32})), "[0+8]"},
		{"column of a matrix", must(Contiguous(3, must(Resized(must(Vector(10, 1, 10, Float64)), 0, 8)))),
			"[10x80:0+8 10x80:8+8 10x80:16+8]"},
		{"vector of a continuing vector", must(HVector(100, 1, 96, must(Vector(3, 1, 4, Float64)))), "[300x32:0+8]"},
		{"plane", must(Subarray([]int{20, 30}, []int{10, 15}, []int{5, 7}, OrderC, Float64)), "[10x240:1256+120]"},
		{"cube", must(Subarray([]int{20, 20, 20}, []int{10, 10, 10}, []int{0, 0, 0}, OrderC, Float64)),
			"[10x3200:0[10x160:0+80]]"},
		{"irregular", must(IndexedBlock(1, []int{0, 2, 5, 9, 14}, Float64)), "[0,16,40,72,112 at 0+8]"},
		{"shared body", must(HIndexed([]int{1, 1}, []int64{0, 4096}, must(Vector(3, 1, 100, part)))),
			"[3x36000:0" + shared + " 3x36000:4096" + shared + "]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := spell(&c.typ.program().body); got != c.want {
				t.Errorf("%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func spell(b *body) string {
	s := "["
	for i, o := range b.ops {
		if i > 0 {
			s += " "
		}
		if o.list != nil {
			s += strings.ReplaceAll(strings.Trim(fmt.Sprint(*o.list), "[]"), " ", ",") + " at "
		} else if o.count > 1 {
			s += fmt.Sprintf("%dx%d:", o.count, o.stride)
		}
		if o.body != nil {
			s += fmt.Sprint(o.disp) + spell(o.body)
		} else {
			s += fmt.Sprintf("%d+%d", o.disp, o.size)
		}
	}
	return s + "]"
}

// Nesting that doubles the elements at every level must not double the compiled form.
func TestCompiledFormStaysSmall(t *testing.T) {
	typ := must(Indexed([]int{1, 1, 1}, []int{0, 2, 5}, Int8))
	for level := range 40 {
		typ = must(Struct([]int{1, 1}, []int64{0, 100 << level}, []*Type{typ, typ}))
	}
	if want := int64(3 << 40); typ.Size() != want {
		t.Fatalf("size %d, want %d", typ.Size(), want)
	}
	if n := len(typ.program().ops); n > inlineOps {
		t.Errorf("%d ops at the top", n)
	}
}

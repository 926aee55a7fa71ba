package ompi_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

func typeMust(t *datatype.Type, err error) *datatype.Type {
	if err != nil {
		panic(err)
	}
	return t
}

type record struct {
	ID   int16
	_    int32
	X    float64
	Flag bool
	Z    complex64
}

// TestExternalVectors: external32 byte by byte (MPI-3.1 §13.5.2, table 13.2), and back.
func TestExternalVectors(t *testing.T) {
	for _, c := range []struct {
		name string
		buf  func(v any) ompi.Buffer
		v    any // a slice
		want string
	}{
		{"int8", sliceOf[int8], []int8{1, -1}, "01 ff"},
		{"uint8", sliceOf[uint8], []uint8{1, 0xfe}, "01 fe"},
		{"int16", sliceOf[int16], []int16{0x0102, -2}, "0102 fffe"},
		{"uint16", sliceOf[uint16], []uint16{0x0102, 0xfffe}, "0102 fffe"},
		{"int32", sliceOf[int32], []int32{0x01020304, -2}, "01020304 fffffffe"},
		{"uint32", sliceOf[uint32], []uint32{0x01020304}, "01020304"},
		{"int64", sliceOf[int64], []int64{0x0102030405060708, -2}, "0102030405060708 fffffffffffffffe"},
		{"uint64", sliceOf[uint64], []uint64{0x0102030405060708}, "0102030405060708"},
		{"float32", sliceOf[float32], []float32{1, -2.5}, "3f800000 c0200000"},
		{"float64", sliceOf[float64], []float64{1, -2.5, math.Inf(1)}, "3ff0000000000000 c004000000000000 7ff0000000000000"},
		{"complex64", sliceOf[complex64], []complex64{1 - 2.5i}, "3f800000 c0200000"},
		{"complex128", sliceOf[complex128], []complex128{1 - 2.5i}, "3ff0000000000000 c004000000000000"},
		{"bool", sliceOf[bool], []bool{true, false}, "01 00"},
		{"DOUBLE_INT", sliceOf[core.Loc[float64]], []core.Loc[float64]{{Value: 1, Index: 2}, {Value: -2.5, Index: -1}},
			"3ff0000000000000 00000002 c004000000000000 ffffffff"},
		{"SHORT_INT", sliceOf[core.Loc[int16]], []core.Loc[int16]{{Value: 0x0102, Index: 3}}, "0102 00000003"},
		{"struct", sliceOf[record], []record{{ID: 0x0102, X: 1, Flag: true, Z: 1 - 2.5i}}, "0102 3ff0000000000000 01 3f800000 c0200000"},
	} {
		want, err := hex.DecodeString(strings.ReplaceAll(c.want, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		in := c.buf(c.v)
		if n := ompi.PackExternalSize(in.Count(), in.Type()); n != int64(len(want)) {
			t.Errorf("%s: size %d, want %d", c.name, n, len(want))
		}
		out := bytes.Repeat([]byte{0xee}, len(want)+4)
		pos, err := ompi.PackExternal(in, out, 3)
		if err != nil || pos != int64(3+len(want)) || !bytes.Equal(out[3:pos], want) || out[2] != 0xee || out[pos] != 0xee {
			t.Errorf("%s: %x, position %d, %v; want %x", c.name, out, pos, err, want)
		}
		back := reflect.MakeSlice(reflect.TypeOf(c.v), reflect.ValueOf(c.v).Len(), reflect.ValueOf(c.v).Len()).Interface()
		if pos, err := ompi.UnpackExternal(out, 3, c.buf(back)); err != nil || pos != int64(3+len(want)) || !reflect.DeepEqual(back, c.v) {
			t.Errorf("%s: %v came back as %v, position %d, %v", c.name, c.v, back, pos, err)
		}
	}
}

func sliceOf[T any](v any) ompi.Buffer { return ompi.Slice(v.([]T)) }

// TestPackPositions: packed piece by piece, unpacked in other pieces (MPI-3.1 §4.2, example 4.21).
func TestPackPositions(t *testing.T) {
	column := typeMust(datatype.Vector(3, 1, 4, datatype.Int32))
	matrix := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	for name, f := range map[string]struct {
		pack   func(ompi.Buffer, []byte, int64) (int64, error)
		unpack func([]byte, int64, ompi.Buffer) (int64, error)
	}{"native": {ompi.Pack, ompi.Unpack}, "external32": {ompi.PackExternal, ompi.UnpackExternal}} {
		t.Run(name, func(t *testing.T) {
			out := make([]byte, ompi.PackSize(1, column)+ompi.PackSize(2, datatype.Float64))
			var pos int64
			var err error
			for _, b := range []ompi.Buffer{ompi.TypedAt(matrix, 1, 1, column), ompi.Slice([]float64{1.5, -2}), ompi.Slice([]int8(nil)), {}} {
				if pos, err = f.pack(b, out, pos); err != nil {
					t.Fatal(err)
				}
			}
			if pos != int64(len(out)) {
				t.Fatalf("position %d of %d", pos, len(out))
			}
			ints, floats := make([]int32, 3), make([]float64, 1)
			pos, err = f.unpack(out, 0, ompi.Slice(ints))
			if err != nil || pos != 12 || ints[0] != 1 || ints[1] != 5 || ints[2] != 9 {
				t.Fatalf("%v at %d, %v", ints, pos, err)
			}
			for _, want := range []float64{1.5, -2} {
				if pos, err = f.unpack(out, pos, ompi.Slice(floats)); err != nil || floats[0] != want {
					t.Fatalf("%v at %d, %v", floats, pos, err)
				}
			}
			kept := bytes.Clone(out)
			for _, c := range []struct {
				name  string
				err   func() (int64, error)
				class ompi.ErrorClass
			}{
				{"pack without room", func() (int64, error) { return f.pack(ompi.Slice(floats), out, pos-7) }, ompi.ErrTruncate},
				{"pack outside", func() (int64, error) { return f.pack(ompi.Slice(floats), out, pos+1) }, ompi.ErrArg},
				{"pack before", func() (int64, error) { return f.pack(ompi.Slice(floats), out, -1) }, ompi.ErrArg},
				{"pack in place", func() (int64, error) { return f.pack(ompi.InPlace(), out, 0) }, ompi.ErrBuffer},
				{"pack nonsense", func() (int64, error) { return f.pack(ompi.Slice([]string{"a"}), out, 0) }, ompi.ErrType},
				{"unpack too much", func() (int64, error) { return f.unpack(out, pos-7, ompi.Slice(floats)) }, ompi.ErrTruncate},
				{"unpack outside", func() (int64, error) { return f.unpack(out, math.MaxInt64, ompi.Slice(floats)) }, ompi.ErrArg},
				{"unpack before", func() (int64, error) { return f.unpack(out, math.MinInt64, ompi.Slice(floats)) }, ompi.ErrArg},
				{"unpack into too little", func() (int64, error) { return f.unpack(out, 0, ompi.Typed(floats, 2, datatype.Float64)) }, ompi.ErrArg},
				{"unpack into nothing", func() (int64, error) { return f.unpack(out, 0, ompi.Typed(floats, 1, nil)) }, ompi.ErrType},
			} {
				if _, err := c.err(); !errors.Is(err, c.class) {
					t.Errorf("%s: %v, want %v", c.name, err, c.class)
				}
			}
			if floats[0] != -2 || !bytes.Equal(out, kept) {
				t.Errorf("a failed call has changed %v or the packed bytes", floats)
			}
		})
	}
	for _, n := range []int64{ompi.PackSize(-1, datatype.Int8), ompi.PackSize(1, nil), ompi.PackExternalSize(math.MaxInt64, datatype.Int16)} {
		if n != ompi.Undefined {
			t.Errorf("size of nonsense is %d", n)
		}
	}
	if n := ompi.PackSize(1<<40, column); n != 12<<40 {
		t.Errorf("size of 2^40 columns is %d", n)
	}
}

// FuzzUnpack: whatever position, type and bytes, nothing outside of the elements is written, and what is unpacked packs again.
func FuzzUnpack(f *testing.F) { fuzzUnpack(f, ompi.Unpack, ompi.Pack) }

// FuzzUnpackExternal is the same for external32.
func FuzzUnpackExternal(f *testing.F) { fuzzUnpack(f, ompi.UnpackExternal, ompi.PackExternal) }

func fuzzUnpack(f *testing.F, unpack func([]byte, int64, ompi.Buffer) (int64, error), pack func(ompi.Buffer, []byte, int64) (int64, error)) {
	mixed := typeMust(datatype.Struct([]int{1, 2, 1}, []int64{0, 4, 16}, []*datatype.Type{datatype.Int8, datatype.Int32, datatype.Complex64}))
	types := []*datatype.Type{
		datatype.Byte, datatype.Int16, datatype.Complex128, mixed,
		typeMust(datatype.Vector(3, 2, -4, datatype.Int16)),
		typeMust(datatype.Vector(4, 1, 2, mixed)),
		typeMust(datatype.Resized(mixed, -8, 40)),
		typeMust(datatype.Contiguous(0, datatype.Int32)),
		typeMust(datatype.Subarray([]int{4, 5}, []int{2, 3}, []int{1, 1}, datatype.OrderFortran, datatype.Uint32)),
	}
	f.Add([]byte("0123456789abcdef0123456789abcdef"), int64(0), 3, 1, 100)
	f.Add([]byte("0123456789abcdef0123456789abcdef"), int64(5), 4, 2, 60)
	f.Add([]byte{}, int64(-1), 5, 1<<40, 0)
	f.Fuzz(func(t *testing.T, in []byte, position int64, which, count, offset int) {
		typ := types[uint(which)%uint(len(types))]
		const size = 512
		mem := bytes.Repeat([]byte{0xee}, size)
		buf := ompi.TypedAt(mem, offset, count, typ)
		pos, err := unpack(in, position, buf)
		if err != nil {
			if !bytes.Equal(mem, bytes.Repeat([]byte{0xee}, size)) || pos != position {
				t.Fatalf("%v, but memory has changed", err)
			}
			return
		}
		n := ompi.PackSize(int64(count), typ)
		if pos != position+n || pos > int64(len(in)) {
			t.Fatalf("position %d after %d bytes from %d of %d", pos, n, position, len(in))
		}
		out := make([]byte, n)
		if _, err := pack(buf, out, 0); err != nil || !bytes.Equal(out, in[position:pos]) {
			t.Fatalf("%x packs as %x, %v", in[position:pos], out, err)
		}
		// What the type does not name is untouched: packed away, nothing is left that differs.
		clean := bytes.Repeat([]byte{0xee}, int(n))
		if _, err := unpack(clean, 0, buf); err != nil || !bytes.Equal(mem, bytes.Repeat([]byte{0xee}, size)) {
			t.Fatalf("bytes outside of the elements were written: %x, %v", mem, err)
		}
	})
}

// TestCountBeyond31Bits sends more than 2^31 elements, which all lie at one place, so that nothing of that size is ever allocated.
func TestCountBeyond31Bits(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("moving two gigabytes byte by byte takes seconds")
	}
	const count = 1<<31 + 1
	one := typeMust(datatype.Resized(datatype.Byte, 0, 0))
	job(t, 1, func(w *ompi.Comm) error {
		from, to := []byte{7}, []byte{0}
		q := w.Isend(ompi.Typed(from, count, one), 0, 1)
		st, err := w.Recv(ompi.Typed(to, count, one), 0, 1)
		if err != nil {
			return err
		}
		if st.Bytes() != count || st.Count(one) != count || st.Elements(datatype.Byte) != count || to[0] != 7 {
			t.Errorf("%d bytes, %d elements of value %d came", st.Bytes(), st.Count(one), to[0])
		}
		_, err = q.Wait()
		return err
	})
}

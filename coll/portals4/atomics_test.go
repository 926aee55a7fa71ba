package portals4

import (
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

var allOps = []*core.Op{core.Sum, core.Prod, core.Max, core.Min, core.LAnd, core.LOr, core.LXor, core.BAnd, core.BOr, core.BXor}

var allTypes = []*datatype.Type{datatype.Int8, datatype.Int16, datatype.Int32, datatype.Int64, datatype.Uint8, datatype.Uint16, datatype.Uint32, datatype.Uint64,
	datatype.Float32, datatype.Float64, datatype.Complex64, datatype.Complex128, datatype.Byte, datatype.Bool}

// Every operation that MPI defines on a predefined type is served, and nothing that it does not define.
func TestWhatIsServed(t *testing.T) {
	for _, op := range allOps {
		for _, typ := range allTypes {
			if _, _, ok := atomicOf(op, typ); ok != (op.Check(typ) == nil) {
				t.Errorf("%s on %s: served %v, MPI says %v", op.Name(), typ.Name(), ok, op.Check(typ))
			}
		}
	}
	pair, err := datatype.For[core.Loc[int32]]()
	if err != nil {
		t.Fatal(err)
	}
	array, err := datatype.For[[3]int16]()
	if err != nil {
		t.Fatal(err)
	}
	gaps, err := datatype.Vector(2, 1, 2, datatype.Int32)
	if err != nil {
		t.Fatal(err)
	}
	mine := core.NewOp(true, func(in, inout []int32) {})
	for _, c := range []struct {
		op *core.Op
		t  *datatype.Type
		ok bool
	}{{core.Sum, array, true}, {core.MaxLoc, pair, false}, {core.MinLoc, pair, false}, {mine, datatype.Int32, false}, {core.Sum, gaps, false},
		{core.Replace, datatype.Int32, false}, {core.NoOp, datatype.Int32, false}, {nil, datatype.Int32, false}, {core.Sum, nil, false}} {
		if _, _, ok := atomicOf(c.op, c.t); ok != c.ok {
			t.Errorf("%v: served %v, want %v", c, ok, c.ok)
		}
	}
}

// Allreduce gives what the operator gives, applied in any order, for all operators and types, in place and not, over several segments.
func TestAllreduceOfEverything(t *testing.T) {
	const n, count = 6, 40
	w := newWorld(t, n, "coll_portals4_segment", "64", "coll_portals4_radix", "2")
	w.run(func(rank int, tbl *coll.Table, c *core.Comm) {
		if moduleOf(tbl) == nil {
			t.Error("the component does not serve")
			return
		}
		for _, op := range allOps {
			for _, typ := range allTypes {
				if _, _, ok := atomicOf(op, typ); !ok {
					continue
				}
				want := operand(typ, 0, count)
				for r := 1; r < n; r++ {
					op.Apply(unsafe.Pointer(&operand(typ, r, count)[0]), unsafe.Pointer(&want[0]), count, typ)
				}
				send, recv := operand(typ, rank, count), make([]byte, len(want))
				if err := tbl.Allreduce.Allreduce(rawBytes(send, typ), rawBytes(recv, typ), op); err != nil {
					t.Errorf("rank %d: %s of %s: %v", rank, op.Name(), typ.Name(), err)
				}
				if string(recv) != string(want) {
					t.Errorf("rank %d: %s of %s: % x, want % x", rank, op.Name(), typ.Name(), recv, want)
				}
				if err := tbl.Allreduce.Allreduce(core.InPlaceBuffer(), rawBytes(send, typ), op); err != nil || string(send) != string(want) {
					t.Errorf("rank %d: %s of %s in place: %v, % x, want % x", rank, op.Name(), typ.Name(), err, send, want)
				}
			}
		}
	})
}

// operand is what a rank contributes: few small numbers, so that no order of floating-point operations gives other bits.
func operand(typ *datatype.Type, rank, count int) []byte {
	words := make([]uint64, (count*int(typ.Size())+7)/8)
	b := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), count*int(typ.Size()))
	at := func(i int) int { return (rank*7 + i*5) % 3 }
	for i := range count {
		p := unsafe.Pointer(&b[i*int(typ.Size())])
		switch typ {
		case datatype.Float32:
			*(*float32)(p) = float32(at(i))
		case datatype.Float64:
			*(*float64)(p) = float64(at(i))
		case datatype.Complex64:
			*(*complex64)(p) = complex(float32(at(i)), float32(at(i+1)))
		case datatype.Complex128:
			*(*complex128)(p) = complex(float64(at(i)), float64(at(i+1)))
		case datatype.Bool:
			*(*byte)(p) = byte(at(i) & 1)
		default:
			for k := range int(typ.Size()) {
				b[i*int(typ.Size())+k] = byte(at(i+k)) << (k % 3)
			}
		}
	}
	return b
}

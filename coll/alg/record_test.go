package alg

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// Scratch memory cannot stand in for memory named by absolute addresses. Whoever needs some says so, and forms no address on the way.
func TestReductionsOverAbsoluteAddresses(t *testing.T) {
	far, err := datatype.HIndexed([]int{1}, []int64{1 << 40}, datatype.Int32)
	if err != nil {
		t.Fatal(err)
	}
	b := core.MakeBuffer(nil, 1, far)
	for _, commutes := range []bool{true, false} {
		op := core.NewRawOp(commutes, func(in, inout unsafe.Pointer, n int, t *datatype.Type) {})
		for k := range Kinds {
			if !k.Reduces() || k == ReduceScatterBlock { // the one buffer would need an element for each rank
				continue
			}
			for _, g := range List(k) {
				a := Args{Kind: k, Op: op, Send: core.InPlaceBuffer(), Recv: b, RecvCounts: []int{0, 1, 0, 0, 0, 0, 0}}
				if !g.Serves(&a, 7) {
					continue
				}
				refused := 0
				for rank := range 7 {
					switch _, err := record(nil, g, &a, rank, 7, 7); {
					case errors.Is(err, core.ErrType):
						refused++
					case err != nil:
						t.Errorf("%s %s, rank %d: %v", k, g.Name, rank, err)
					}
				}
				if refused == 0 {
					t.Errorf("%s %s: nobody refused", k, g.Name)
				}
			}
		}
	}
}

// A schedule's memory is used again, and nothing of the user's stays in it.
func TestScheduleIsReused(t *testing.T) {
	data, sum := make([]int32, 100), make([]int32, 100)
	buffer := func(s []int32) core.Buffer {
		return core.MakeBuffer(unsafe.Pointer(unsafe.SliceData(s)), int64(len(s)), datatype.Int32)
	}
	g := Named(Allreduce, "rabenseifner")
	a := Args{Kind: Allreduce, Op: core.Sum, Send: buffer(data), Recv: buffer(sum)}
	s, err := record(nil, g, &a, 2, 7, 7)
	if err != nil || len(s.Steps) == 0 {
		t.Fatal(err)
	}
	first, steps := &s.Steps[0], len(s.Steps)
	s.Forget(1 << 20)
	for _, st := range s.Steps[:steps] {
		if st.Buf.Addr() != nil || st.From.Addr() != nil {
			t.Fatal("a step still names the user's memory")
		}
	}
	again, err := record(s, g, &a, 2, 7, 7)
	if err != nil || again != s || len(s.Steps) != steps || &s.Steps[0] != first {
		t.Errorf("recorded anew: %v, %d steps, %d before", err, len(s.Steps), steps)
	}
}

// Elements in scratch memory are aligned as in the user's, though data may begin before the address.
func TestScratchIsAligned(t *testing.T) {
	odd, err := datatype.Struct([]int{1, 1}, []int64{-4, 8}, []*datatype.Type{datatype.Int32, datatype.Float64})
	if err != nil {
		t.Fatal(err)
	}
	var c Call
	b := c.typed(0, odd, 3)
	if at := uintptr(b.Addr()) + 8; at%8 != 0 {
		t.Errorf("a float64 lies at %#x", at)
	}
}

package ompi_test

import (
	"errors"
	"testing"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// TestIsendrecv: both halves complete as one, by every protocol, with ProcNull at either side, and with failures of either half.
func TestIsendrecv(t *testing.T) {
	job(t, 3, func(w *ompi.Comm) error {
		var m must
		to, from := (w.Rank()+1)%3, (w.Rank()+2)%3
		for round := range 40 {
			n := []int{0, 8, 3000, 100_000}[round%4]
			out, in := make([]byte, n), make([]byte, n)
			fillMessage(out, w.Rank()+round)
			r := w.Isendrecv(ompi.Slice(out), to, round, ompi.Slice(in), from, round)
			st, err := r.Wait()
			want := make([]byte, n)
			fillMessage(want, from+round)
			m.that(err == nil && st.Source == from && st.Tag == round && st.Bytes() == int64(n) && string(in) == string(want), "round %d: %+v, %v", round, st, err)
			_, ok, err := r.Test()
			m.that(ok && err == nil, "it is not retired")
		}
		m.ok(w.Barrier())
		null := ompi.ProcNull
		st, err := w.Isendrecv(ompi.Slice([]byte{1}), null, 0, ompi.Slice(make([]byte, 1)), null, 0).Wait()
		m.that(err == nil && st.Source == null && st.Bytes() == 0, "ProcNull: %+v, %v", st, err)
		if w.Rank() == 0 {
			st, err = w.Isendrecv(ompi.Slice([]byte{1, 2}), 1, 0, ompi.Slice(make([]byte, 1)), null, 0).Wait()
			m.that(err == nil && st.Source == null, "from ProcNull: %+v, %v", st, err)
		}
		if w.Rank() == 1 {
			_, err = w.Isendrecv(ompi.Slice([]byte{1}), null, 0, ompi.Slice(make([]byte, 1)), 0, 0).Wait()
			m.that(errors.Is(err, ompi.ErrTruncate), "into a buffer too small: %v", err)
		}
		_, err = w.Isendrecv(ompi.Slice([]byte{1}), 7, 0, ompi.Slice(make([]byte, 1)), 0, 0).Wait()
		m.that(errors.Is(err, ompi.ErrRank), "to nobody: %v", err)
		r := w.Isendrecv(ompi.Slice([]byte{1}), w.Rank(), 5, ompi.Slice(make([]byte, 1)), w.Rank(), 5)
		m.ok(r.Free())
		return m.err
	})
}

// TestStatusElements: SetElements counts predefined elements (MPI-3.1 §12.3).
func TestStatusElements(t *testing.T) {
	mixed, err := datatype.Struct([]int{1, 2}, []int64{0, 8}, []*datatype.Type{datatype.Float64, datatype.Int32})
	if err != nil {
		t.Fatal(err)
	}
	if err := mixed.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		typ         *datatype.Type
		n, count    int
		elements    int
		bytes       int64
		description string
	}{
		{datatype.Int32, 5, 5, 5, 20, "predefined"},
		{mixed, 6, 2, 6, 32, "whole items"},
		{mixed, 4, ompi.Undefined, 4, 24, "an item and a third"},
		{mixed, 0, 0, 0, 0, "nothing"},
	} {
		var st ompi.Status
		st.SetElements(c.typ, c.n)
		if st.Count(c.typ) != c.count || st.Elements(c.typ) != c.elements || st.Bytes() != c.bytes {
			t.Errorf("%s: count %d, elements %d, bytes %d; want %d, %d, %d", c.description, st.Count(c.typ), st.Elements(c.typ), st.Bytes(), c.count, c.elements, c.bytes)
		}
	}
}

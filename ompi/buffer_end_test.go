package ompi_test

import (
	"slices"
	"testing"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// TestTypedAtTheEnd: a buffer may begin where its slice ends, if its type goes backwards or there is nothing of it.
func TestTypedAtTheEnd(t *testing.T) {
	back, err := datatype.HIndexed([]int{2}, []int64{-16}, datatype.Int64)
	if err != nil {
		t.Fatal(err)
	}
	job(t, 1, func(w *ompi.Comm) error {
		var m must
		in, out := []int64{1, 2, 3, 4}, make([]int64, 4)
		m.ok(w.Isend(ompi.Slice([]int64{}), 0, 1).Free())
		r := w.Irecv(ompi.TypedAt(out, 4, 1, back), 0, 0)
		m.ok(w.Send(ompi.TypedAt(in, 4, 1, back), 0, 0))
		_, err := r.Wait()
		m.ok(err)
		m.that(slices.Equal(out, []int64{0, 0, 3, 4}), "got %v", out)
		_, err = w.Recv(ompi.TypedAt(out, 4, 0, datatype.Int64), 0, 1)
		m.ok(err)
		return m.err
	})
}

// TestDimsCreateTies: where the largest and the smallest differ alike, those between are close, too.
func TestDimsCreateTies(t *testing.T) {
	for n, want := range map[int][]int{20: {5, 2, 2, 1}, 168: {7, 4, 3, 2}, 44: {11, 2, 2, 1}, 16: {2, 2, 2, 2}} {
		dims := make([]int, 4)
		if err := ompi.DimsCreate(n, dims); err != nil || !slices.Equal(dims, want) {
			t.Errorf("%d: %v, %v; want %v", n, dims, err, want)
		}
	}
}

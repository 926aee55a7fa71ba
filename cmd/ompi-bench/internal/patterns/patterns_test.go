package patterns

import (
	"bytes"
	"strings"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/datatype"
)

// The loops and the datatype of every layout pick the same bytes in the same order, and nothing else changes. The largest are left to
// the check of every measurement.
func TestLoopsAgreeWithTypes(t *testing.T) {
	names := map[string]bool{}
	for _, l := range All() {
		if names[l.String()] {
			t.Errorf("%s is there twice", l)
		}
		names[l.String()] = true
		if l.Span > 4<<20 {
			continue
		}
		typ, err := l.Type()
		if err != nil {
			t.Error(err)
			continue
		}
		mem, byLoop, byType := make([]byte, l.Span), make([]byte, l.Bytes()), make([]byte, l.Bytes())
		Fill(mem)
		l.Pack(mem, byLoop)
		if lo, hi, err := typ.Span(1); err != nil || lo < 0 || hi > int64(len(l.At(mem))) {
			t.Errorf("%s: touches bytes %d to %d of %d, %v", l, lo, hi, len(l.At(mem)), err)
			continue
		}
		var c datatype.Convertor
		c.Prepare(typ, 1, unsafe.Pointer(&l.At(mem)[0]))
		if n := c.Pack(byType); n != l.Bytes() {
			t.Errorf("%s: packed %d bytes", l, n)
		}
		if !bytes.Equal(byLoop, byType) {
			t.Errorf("%s: loops and datatype differ", l)
		}
		got := make([]byte, l.Span)
		c.Prepare(typ, 1, unsafe.Pointer(&l.At(got)[0]))
		c.Unpack(byType)
		if err := l.Check(got); err != nil {
			t.Error(err)
		}
	}
	if len(names) < 40 {
		t.Errorf("only %d layouts", len(names))
	}
}

func TestCheckFindsAByteTooMany(t *testing.T) {
	l := nasLU()[1]
	got := make([]byte, l.Span)
	Fill(got)
	if err := l.Check(got); err == nil || !strings.Contains(err.Error(), "NAS_LU_y:480: byte 1 ") {
		t.Errorf("error %v", err)
	}
}

func TestLists(t *testing.T) {
	list := scattered(1000)
	for i := 1; i < len(list); i++ {
		if d := list[i] - list[i-1]; d < 1 || d > 8 {
			t.Fatalf("distance %d", d)
		}
	}
	seen := map[int]bool{}
	for _, v := range shuffle(list) {
		seen[v] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d different places after the shuffle", len(seen))
	}
}

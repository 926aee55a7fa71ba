package ompi

import (
	"bytes"
	"encoding/hex"
	"testing"
)

func TestCouncilGolden(t *testing.T) {
	m := councilMsg{saying: sayTry, flags: flagHave, number: 0x01020304, want: 0x1112131415161718,
		about: matter{scope: scopeGroup, a: 0x2122232425262728, b: 0x3132333435363738, c: 0x4142434445464748}}
	var b [councilSize]byte
	m.put(&b)
	const want = "01020201" + "04030201" + "2827262524232221" + "3837363534333231" + "4847464544434241" + "1817161514131211"
	if got := hex.EncodeToString(b[:]); got != want {
		t.Errorf("bytes %s, want %s", got, want)
	}
	if back, ok := parseCouncil(&b, councilSize); !ok || back != m {
		t.Errorf("parsed as %+v, %v", back, ok)
	}
	for at, v := range map[int]byte{0: 2, 1: 0, 2: 9, 3: 4} {
		bad := b
		bad[at] = v
		if _, ok := parseCouncil(&bad, councilSize); ok {
			t.Errorf("byte %d = %d was accepted", at, v)
		}
	}
	if _, ok := parseCouncil(&b, councilSize-1); ok {
		t.Error("a short message was accepted")
	}
}

func FuzzCouncil(f *testing.F) {
	f.Add(bytes.Repeat([]byte{1}, councilSize))
	f.Add([]byte("\x01\x02\x02\x01"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var b, again [councilSize]byte
		n := copy(b[:], in)
		m, ok := parseCouncil(&b, int64(n))
		if !ok {
			return
		}
		if m.put(&again); again != b {
			t.Errorf("%x became %x", b, again)
		}
	})
}

func TestContextSet(t *testing.T) {
	var s contextSet
	for k := range uint32(5) {
		if !s.take(k) || s.take(k) {
			t.Fatalf("take %d", k)
		}
	}
	s.take(7)
	if s.free(0) != 5 || s.free(6) != 6 || s.free(7) != 8 {
		t.Errorf("free: %d, %d, %d", s.free(0), s.free(6), s.free(7))
	}
	s.give(2)
	if s.free(0) != 2 || s.free(3) != 5 {
		t.Errorf("free: %d, %d", s.free(0), s.free(3))
	}
}

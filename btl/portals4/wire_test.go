package portals4

import (
	"bytes"
	"encoding/hex"
	"testing"

	"pgregory.net/rapid"

	"github.com/ompi-go/ompi-go/btl"
)

func header(b ...byte) (h [btl.HeaderMax]byte) {
	copy(h[:], b)
	return h
}

func TestWordsGolden(t *testing.T) {
	counting := header()
	for i := range counting {
		counting[i] = byte(i + 1)
	}
	for _, c := range []struct {
		name string
		h    [btl.HeaderMax]byte
		n    int
		want words
		rest int
	}{
		{"match", counting, 16, words{0x1041_1000_0000_0000, 0x0807060504030201, 0x100f0e0d0c0b0a09}, 0},
		{"none", header(), 0, words{0x1041_0000_0000_0000, 0, 0}, 0},
		{"fragment", header(5, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16), 24,
			words{0x2041_1800_0000_0005, 0x0807060504030201, 0x100f0e0d0c0b0a09}, 0},
		{"17", header(5), 17, words{0x2041_1100_0000_0005, 0, 0}, 0},
		{"24, full", counting, 24, words{0x1041_1800_0000_0000, 0x0807060504030201, 0x100f0e0d0c0b0a09}, 8},
		{"all", counting, 64, words{0x1041_4000_0000_0000, 0x0807060504030201, 0x100f0e0d0c0b0a09}, 48},
	} {
		w, rest := pack(0x41, &c.h, c.n)
		if w != c.want || len(rest) != c.rest {
			t.Errorf("%s: %#x and %d bytes, want %#x and %d", c.name, w, len(rest), c.want, c.rest)
		}
	}
	if w := metaWord(kindCredit, 0, 0); w != kindCredit<<60 {
		t.Errorf("CREDIT is %#x", w)
	}
}

// TestWords: every header comes as it went, however many of its bytes travel beside the payload.
func TestWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h, into [btl.HeaderMax]byte
		n := rapid.IntRange(0, btl.HeaderMax).Draw(t, "length")
		copy(h[:n], rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "header"))
		if rapid.Bool().Draw(t, "a small first word") {
			clear(h[4:min(8, max(n, 4))])
		}
		payload := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "payload")
		tag := btl.Tag(rapid.Byte().Draw(t, "tag"))
		w, rest := pack(tag, &h, n)
		into = header(bytes.Repeat([]byte{0xa5}, btl.HeaderMax)...)
		gotTag, hdr, got, ok := unpack(w, append(bytes.Clone(rest), payload...), &into)
		if !ok || gotTag != tag || !bytes.Equal(hdr, h[:n]) || !bytes.Equal(got, payload) {
			t.Fatalf("header %x came as %x, payload %x as %x, tag %d as %d, %v", h[:n], hdr, payload, got, tag, gotTag, ok)
		}
	})
}

func FuzzWords(f *testing.F) {
	f.Add(uint64(0x1041_1000_0000_0000), uint64(1), uint64(2), []byte("payload"))
	f.Add(uint64(0x2041_1800_0000_0005), uint64(1), uint64(2), []byte(nil))
	f.Add(uint64(0x1041_4000_0000_0000), uint64(1), uint64(2), []byte("too short"))
	f.Add(uint64(kindCredit)<<60, uint64(1), uint64(2), []byte(nil))
	f.Fuzz(func(t *testing.T, meta, match, data uint64, body []byte) {
		var h [btl.HeaderMax]byte
		w := words{meta, match, data}
		tag, hdr, payload, ok := unpack(w, body, &h)
		if !ok {
			return
		}
		if len(payload) > len(body) || len(hdr) > btl.HeaderMax {
			t.Fatalf("%d and %d bytes out of %d", len(hdr), len(payload), len(body))
		}
		// What is taken is what a sender sends, but for bytes that fill a short header up, and the choice of the form.
		back, rest := pack(tag, &h, len(hdr))
		if meta>>60 == kindPlain && back.meta>>60 == kindPlain && len(hdr) >= plainHeader && (back != w || !bytes.Equal(append(bytes.Clone(rest), payload...), body)) {
			t.Errorf("%#x with %x would be %#x with %x", w, body, back, rest)
		}
		if meta>>60 == kindWide && len(hdr) == wideHeader && back != w {
			t.Errorf("%#x would be %#x", w, back)
		}
	})
}

func TestCard(t *testing.T) {
	c := card{modules: 2, most: 64 << 10}
	b := c.append(nil)
	if got := hex.EncodeToString(b); got != "01020000010000000000" {
		t.Errorf("card %s", got)
	}
	if got, err := parseCard(b); err != nil || got != c {
		t.Errorf("parsed %+v, %v", got, err)
	}
	none, many, short, negative := card{0, 1 << 16}, card{9, 1 << 16}, card{1, 63}, card{1, -1}
	for _, bad := range [][]byte{nil, {2}, b[:9], append(bytes.Clone(b), 0), none.append(nil), many.append(nil), short.append(nil), negative.append(nil)} {
		if _, err := parseCard(bad); err == nil {
			t.Errorf("card %x was accepted", bad)
		}
	}
}

func FuzzCard(f *testing.F) {
	c := card{modules: 1, most: 1 << 16}
	f.Add(c.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := parseCard(b); err == nil && !bytes.Equal(c.append(nil), b) {
			t.Errorf("%x was taken for %+v", b, c)
		}
	})
}

package rdma

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/ompi-go/ompi-go/btl"
)

var someFrame = frame{kind: wordCompare, what: 3, index: 4, age: 5, rank: 6, seq: 7, slot: 8, turn: 9, back: 10, backAge: 11, a: 12, b: 13}

func TestFrame(t *testing.T) {
	var b [frameSize]byte
	someFrame.put(b[:])
	const golden = "0104030004000000050000000600000007000000080000000900000" +
		"00a0000000b000000000000000c000000000000000d00000000000000"
	if got := hex.EncodeToString(b[:]); got != golden {
		t.Errorf("a frame is\n%s, want\n%s", got, golden)
	}
	var h frame
	if err := h.parse(b[:]); err != nil || h != someFrame {
		t.Errorf("%+v, %v", h, err)
	}
	for i, v := range map[int]byte{0: 2, 1: 0} {
		c := b
		c[i] = v
		if h.parse(c[:]) == nil {
			t.Errorf("byte %d may be %d", i, v)
		}
	}
	c := b
	c[1] = byte(kinds)
	if h.parse(c[:]) == nil || h.parse(b[1:]) == nil || h.parse(nil) == nil {
		t.Error("a frame that is none was read")
	}
}

func FuzzFrame(f *testing.F) {
	var b [frameSize]byte
	someFrame.put(b[:])
	f.Add(b[:])
	f.Fuzz(func(t *testing.T, b []byte) {
		var h frame
		if h.parse(b) != nil {
			return
		}
		var again [frameSize]byte
		h.put(again[:])
		copy(again[36:40], b[36:40]) // not looked at
		if !bytes.Equal(again[:], b) {
			t.Errorf("%x became %x", b, again)
		}
	})
}

func someCard() card {
	c := card{ready: true, index: 1, age: 2, base: 3, size: 4}
	c.ways[1] = way{name: wayName("sm"), hasMem: true, hasCtl: true, mem: btl.MemHandle{A: 5, B: 6}, ctl: btl.MemHandle{A: 7, B: 8}}
	return c
}

func TestCard(t *testing.T) {
	c := someCard()
	b := c.append(nil)
	if len(b) != cardSize {
		t.Fatalf("a card has %d bytes, want %d", len(b), cardSize)
	}
	got, err := parseCard(b)
	if err != nil || got != c {
		t.Errorf("%+v, %v", got, err)
	}
	if w := got.way("sm"); w == nil || w.mem.A != 5 {
		t.Errorf("the way of sm is %v", w)
	}
	if w := got.way("tcp"); w != nil {
		t.Errorf("the way of tcp is %v", w)
	}
	b[0]++
	if _, err := parseCard(b); err == nil {
		t.Error("a card of another version was read")
	}
}

func FuzzCard(f *testing.F) {
	c := someCard()
	f.Add(c.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseCard(b)
		if err != nil {
			return
		}
		again, err := parseCard(c.append(nil))
		if err != nil || again != c {
			t.Errorf("%+v became %+v, %v", c, again, err)
		}
	})
}

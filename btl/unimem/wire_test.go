package unimem

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/ompi-go/ompi-go/unimem"
)

func TestFrameGolden(t *testing.T) {
	for _, c := range []struct {
		f    frame
		want unimem.Message
	}{
		{frame{kind: kindRTS, tag: 0x41, hdrLen: 16, n: 0x1000, a: 7}, unimem.Message{0x1000_0010_4102, 7, 0}},
		{frame{kind: kindCTS, n: 3, a: 7, b: 0x2000}, unimem.Message{0x3_0000_0003, 7, 0x2000}},
		{frame{kind: kindDone, n: 3}, unimem.Message{0x3_0000_0004, 0, 0}},
		{frame{kind: kindEager, tag: 0x40, hdrLen: 64, n: 64, a: 1 << 40}, unimem.Message{0x40_0040_4005, 1 << 40, 0}},
		{frame{kind: kindCredit, n: 5}, unimem.Message{0x5_0000_0006, 0, 0}},
	} {
		m := c.f.message()
		if m != c.want {
			t.Errorf("%+v is %#x, want %#x", c.f, m, c.want)
		}
		if got := parseFrame(&m); got != c.f {
			t.Errorf("%#x is %+v, want %+v", m, got, c.f)
		}
	}
	if w := inlineWord(0x40, 30, 0xffeeddccbbaa); w != 0xffeeddccbbaa_40f1 {
		t.Errorf("inline word %#x", w)
	}
	tag, n, head := parseInline(0xffeeddccbbaa_40f1)
	if tag != 0x40 || n != 30 || head != 0xffeeddccbbaa {
		t.Errorf("parsed: %#x, %d, %#x", tag, n, head)
	}
}

func exampleCard() card {
	return card{piece: 0x1000, peers: 2, slots: 256, memory: 32 << 20, eagerAt: 0x40, eagerSize: 4096, buffers: 8, bufferSize: 65536, beats: true}
}

func TestCard(t *testing.T) {
	c := exampleCard()
	b := c.append(nil)
	const golden = "0100100000000000000200000000010000000000020000000040000000000000000010000008000000" + "0000010001"
	if got := hex.EncodeToString(b); got != golden {
		t.Errorf("card\n%s, want\n%s", got, golden)
	}
	if got, err := parseCard(b, 2); err != nil || got != c {
		t.Errorf("parsed %+v, %v", got, err)
	}
	for name, change := range map[string]func(*card){
		"peers":        func(c *card) { c.peers = 3 },
		"slots":        func(c *card) { c.slots = 100 },
		"memory":       func(c *card) { c.memory = 1 << 63 },
		"eager beyond": func(c *card) { c.eagerAt = c.memory - 64 },
		"eager far":    func(c *card) { c.eagerAt = ^uint64(0) &^ 63 },
		"eager size":   func(c *card) { c.eagerSize = 0 },
		"unaligned":    func(c *card) { c.eagerAt = 1 },
		"no buffers":   func(c *card) { c.buffers = 0 },
		"many buffers": func(c *card) { c.buffers = 256 },
		"buffer size":  func(c *card) { c.bufferSize = 1 << 30 },
	} {
		bad := exampleCard()
		change(&bad)
		if _, err := parseCard(bad.append(nil), 2); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, bad := range [][]byte{nil, {2}, b[:len(b)-1], append(bytes.Clone(b), 0)} {
		if _, err := parseCard(bad, 2); err == nil {
			t.Errorf("card %x was accepted", bad)
		}
	}
}

func FuzzCard(f *testing.F) {
	c := exampleCard()
	f.Add(c.append(nil))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseCard(b, 2)
		if err != nil {
			return
		}
		if c.config().Check() != nil || c.eagerAt+2*uint64(c.buffers)*uint64(c.eagerSize) > c.memory || c.buffers < 1 {
			t.Errorf("accepted %+v", c)
		}
	})
}

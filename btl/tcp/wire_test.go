package tcp

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "\n", "", "\t", "").Replace(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFrameGolden(t *testing.T) {
	for _, c := range []struct {
		f    frame
		want string
	}{
		{frame{kind: frameActive, tag: 0x41, hdrLen: 16, from: 2, length: 0x01020304, seq: 0x0a0b0c0d, ack: 0x11223344}, "01 41 10 02 04030201 0d0c0b0a 44332211"},
		{frame{kind: frameAck, ack: 7}, "02 00 00 00 00000000 00000000 07000000"},
		{frame{kind: frameDown, tag: 3, seq: 9, ack: 1}, "03 03 00 00 00000000 09000000 01000000"},
		{frame{kind: frameBye, ack: 5}, "04 00 00 00 00000000 00000000 05000000"},
	} {
		var b [frameSize]byte
		c.f.put(b[:])
		if want := unhex(t, c.want); !bytes.Equal(b[:], want) {
			t.Errorf("%+v is % x, want % x", c.f, b, want)
		}
		var back frame
		if err := back.parse(b[:], 1<<30); err != nil || back != c.f {
			t.Errorf("%+v came back as %+v, %v", c.f, back, err)
		}
	}
}

func TestFrameRefused(t *testing.T) {
	for _, f := range []frame{
		{},
		{kind: 5},
		{kind: frameActive, hdrLen: 65},
		{kind: frameActive, length: 1001},
		{kind: frameActive, from: maxLinks + 1},
		{kind: frameAck, length: 1},
		{kind: frameBye, seq: 1},
		{kind: frameDown, hdrLen: 1},
	} {
		var b [frameSize]byte
		f.put(b[:])
		if err := new(frame).parse(b[:], 1000); err == nil {
			t.Errorf("%+v was accepted", f)
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(make([]byte, frameSize))
	f.Add(unhex(f, "01 41 10 02 04030201 0d0c0b0a 44332211"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < frameSize {
			return
		}
		var fr frame
		if fr.parse(b, 1<<20) != nil {
			return
		}
		if fr.length > 1<<20 || fr.hdrLen > 64 {
			t.Errorf("%+v is too long", fr)
		}
		var again [frameSize]byte
		fr.put(again[:])
		if !bytes.Equal(again[:], b[:frameSize]) {
			t.Errorf("% x became % x", b[:frameSize], again)
		}
	})
}

var goldenHello = hello{
	from: 1, to: 0x0203, link: 4, links: 5, vouch: true, maxFrame: 0x100040,
	job: uuid.MustParse("00112233-4455-6677-8899-aabbccddeeff"), nonce: [nonceSize]byte{0: 0xa0, 31: 0xbf},
}

// Computed with another implementation of HMAC-SHA256.
const goldenMac = "ee92d6dbf5eecef74d6c010e8e9276d5d2e7320c013cfaf9236d3de46969d80c"

const goldenHelloHex = `6f6d70692d676f00 0200 01 00 00000000
	01000000 03020000 0400 0580 40001000
	00112233445566778899aabbccddeeff
	a000000000000000000000000000000000000000000000000000000000000000`

func TestHandshakeGolden(t *testing.T) {
	b := goldenHello.append(nil, msgHello)
	want := unhex(t, goldenHelloHex)
	want[helloSize-1] = 0xbf
	if !bytes.Equal(b, want) {
		t.Errorf("hello is\n% x, want\n% x", b, want)
	}
	h, err := parseHello(b)
	if err != nil || h != goldenHello {
		t.Errorf("hello came back as %+v, %v", h, err)
	}
	p := preamble{version: 0x0102, kind: msgRefuse, code: refusedProof}
	if got, want := p.append(nil), unhex(t, "6f6d70692d676f00 0201 05 05 00000000"); !bytes.Equal(got, want) {
		t.Errorf("refuse is % x, want % x", got, want)
	}
	secret := [32]byte{1, 2, 3}
	proof := mac(&secret, roleInitiator, b, b)
	other := mac(&secret, roleAcceptor, b, b)
	if proof == other {
		t.Error("both roles prove the same")
	}
	if got, want := hex.EncodeToString(proof[:]), goldenMac; got != want {
		t.Errorf("the proof is %s, want %s", got, want)
	}
}

func TestPreambleRefused(t *testing.T) {
	good := (&preamble{version: 1, kind: msgAccept}).append(nil)
	for i, change := range []func(b []byte){
		func(b []byte) { b[0]++ },
		func(b []byte) { b[10] = 0 },
		func(b []byte) { b[10] = 7 },
		func(b []byte) { b[11] = 1 },
		func(b []byte) { b[15] = 1 },
		func(b []byte) { b[10] = byte(msgRefuse) },
	} {
		b := bytes.Clone(good)
		change(b)
		if _, err := parsePreamble(b); err == nil {
			t.Errorf("case %d was accepted", i)
		}
	}
}

func FuzzHandshake(f *testing.F) {
	f.Add(goldenHello.append(nil, msgHello))
	f.Add((&preamble{version: 9, kind: msgRefuse, code: 2}).append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parsePreamble(b)
		if err != nil {
			return
		}
		if got := p.append(nil); !bytes.Equal(got, b[:preambleSize]) {
			t.Errorf("% x became % x", b[:preambleSize], got)
		}
		_ = p.code.String()
		h, err := parseHello(b)
		if err != nil || p.version != version || p.code != 0 {
			return
		}
		if got := h.append(nil, p.kind); !bytes.Equal(got, b[:helloSize]) {
			t.Errorf("% x became % x", b[:helloSize], got)
		}
	})
}

package udp

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/google/uuid"

	"github.com/ompi-go/ompi-go/btl"
)

// golden compares bytes with what they have been since this version of the format.
func golden(t *testing.T, what string, b []byte, want string) {
	t.Helper()
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("%s is\n%s, was\n%s", what, got, want)
	}
}

var goldenPacket = packet{kind: kindData, flags: flagEcho, id: 0x1112131415161718, number: 0x21, ack: 0x31, sack: 0x8000000000000041, from: 5, window: 0x61626364, stamp: 0x71727374, echo: 0x81828384}

func TestPacketGolden(t *testing.T) {
	b := make([]byte, headSize, headSize+4)
	goldenPacket.put(b)
	b = append(b, 1, 2, 3, 4)
	golden(t, "a packet", b, "a70101010000000018171615141312112100000000000000310000000000000041000000000000800500000064636261747372718483828101020304")
	golden(t, "its sum", []byte{byte(sumOf(0x01020304, b)), byte(sumOf(0x01020304, b) >> 8), byte(sumOf(0x01020304, b) >> 16), byte(sumOf(0x01020304, b) >> 24)}, goldenSum)
	var p packet
	if err := p.parse(b); err != nil || p != goldenPacket {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestFrameGolden(t *testing.T) {
	b := make([]byte, frameSize)
	f := frame{kind: frameActive, tag: 0x41, hdrLen: 16, length: 0x01020304}
	f.put(b)
	golden(t, "a frame", b, "0141100004030201")
	f = frame{kind: frameBye}
	f.put(b)
	golden(t, "a BYE", b, "0200000000000000")
}

func goldenGreeting() greeting {
	g := greeting{version: hsVersion, kind: hsProof, from: 1, to: 2, maxFrame: 1 << 18, datagram: 1472, slots: 256, window: 1 << 20, job: uuid.UUID{0xa0, 15: 0xaf}}
	g.ini.id, g.acc.id = 0x0102030405060708, 0x1112131415161718
	g.ini.nonce[0], g.acc.nonce[15] = 0xee, 0xff
	return g
}

func TestGreetingGolden(t *testing.T) {
	secret := [32]byte{1, 2, 3}
	g := goldenGreeting()
	b := g.append(nil, &secret)
	if len(b) != hsSize {
		t.Fatalf("%d bytes", len(b))
	}
	golden(t, "a greeting", b[:hsBody], goldenProof)
	golden(t, "its HMAC", b[hsBody:], goldenMAC)
	if !authentic(b, &secret) || authentic(b, &[32]byte{1, 2}) {
		t.Error("the HMAC says nothing about the secret")
	}
	var back greeting
	if err := back.parse(b); err != nil || back != g {
		t.Errorf("%+v, %v", back, err)
	}
	for i := range b {
		b[i] ^= 4
		if authentic(b, &secret) {
			t.Errorf("byte %d can be changed", i)
		}
		b[i] ^= 4
	}
	one, two := keys(&secret, &g.ini, &g.acc)
	if one == two || one != goldenKey {
		t.Errorf("keys %#x and %#x", one, two)
	}
}

// TestSums: a sum notices every flipped bit, and is another in every connection.
func TestSums(t *testing.T) {
	b := make([]byte, headSize, headSize+4)
	goldenPacket.put(b)
	b = append(b, 1, 2, 3, 4)
	sum := sumOf(9, b)
	b[4], b[5], b[6], b[7] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
	if !intact(9, b) || intact(10, b) {
		t.Error("the key makes no difference")
	}
	for i := range 8 * len(b) {
		b[i/8] ^= 1 << (i % 8)
		if intact(9, b) {
			t.Errorf("bit %d can be flipped", i)
		}
		b[i/8] ^= 1 << (i % 8)
	}
}

func TestPacketsRefused(t *testing.T) {
	make := func(p packet, body int) []byte {
		b := make([]byte, headSize+body)
		p.put(b)
		return b
	}
	for name, b := range map[string][]byte{
		"short":          make(goldenPacket, 1)[:headSize-1],
		"empty data":     make(goldenPacket, 0),
		"unknown flags":  make(packet{kind: kindData, flags: 2}, 1),
		"stray echo":     make(packet{kind: kindData, echo: 1}, 1),
		"no kind":        make(packet{}, 1),
		"unknown kind":   make(packet{kind: 9}, 1),
		"odd bits":       make(packet{kind: kindAck}, 7),
		"ping with body": make(packet{kind: kindPing}, 8),
		"other protocol": bytes.Repeat([]byte{1}, 100),
	} {
		var p packet
		if p.parse(b) == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func FuzzPacket(f *testing.F) {
	b := make([]byte, headSize, headSize+4)
	goldenPacket.put(b)
	f.Add(append(b, 1, 2, 3, 4))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p packet
		if p.parse(b) != nil {
			return
		}
		again := make([]byte, headSize)
		p.put(again)
		copy(again[4:8], b[4:8])
		if !bytes.Equal(again, b[:headSize]) {
			t.Errorf("%x became %x", b[:headSize], again)
		}
		_ = intact(1, b)
		// A flow stands whatever the packet says.
		s := newSimulation(t, 1, faults{}, 1472, 16, 1<<20)
		e := s.ends[0]
		for range 5 {
			e.write(100, true)
		}
		e.flow.step(1)
		e.want = append(e.want, b[headSize:]...)
		if e.flow.input(&p, b[headSize:], 2) == nil {
			e.check()
		}
	})
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte{1, 0x41, 4, 0, 3, 0, 0, 0, 9, 9, 9, 9}, uint32(100))
	f.Add([]byte{2, 0, 0, 0, 0, 0, 0, 0}, uint32(100))
	f.Fuzz(func(t *testing.T, b []byte, most uint32) {
		var fr frame
		if fr.parse(b, most) != nil {
			return
		}
		var again [frameSize]byte
		fr.put(again[:])
		if !bytes.Equal(again[:], b[:frameSize]) || fr.length > most || int(fr.hdrLen)+frameSize > len(b) || fr.hdrLen > btl.HeaderMax {
			t.Errorf("%x was taken as %+v", b, fr)
		}
	})
}

func FuzzGreeting(f *testing.F) {
	secret := [32]byte{1}
	g := goldenGreeting()
	f.Add(g.append(nil, &secret))
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = authentic(b, &secret)
		var g greeting
		if g.parse(b) != nil || g.version != hsVersion {
			return
		}
		if again := g.append(nil, &secret); !bytes.Equal(again[:hsBody], b[:hsBody]) {
			t.Errorf("%x became %x", b, again)
		}
	})
}

func FuzzFaults(f *testing.F) {
	f.Add("loss=5%,dup=1%,reorder=2%,corrupt=0.1%,delay=1ms")
	f.Fuzz(func(t *testing.T, s string) {
		x, err := parseFaults(s)
		for _, v := range []float64{x.loss, x.dup, x.reorder, x.corrupt} {
			if err == nil && !(v >= 0 && v <= 1) {
				t.Errorf("%q gives %+v", s, x)
			}
		}
	})
}

func TestFaults(t *testing.T) {
	f, err := parseFaults("loss=5%, dup=0.01,reorder=2%,corrupt=0.1%,delay=1ms")
	if want := (faults{0.05, 0.01, 0.02, 0.001, 1e6}); err != nil || f != want {
		t.Errorf("%+v, %v", f, err)
	}
	for _, bad := range []string{"loss", "loss=", "loss=101%", "loss=-1", "loss=NaN", "delay=5", "delay=-1s", "rain=5%"} {
		if _, err := parseFaults(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

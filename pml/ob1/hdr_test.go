package ob1

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/btl"
)

// TestGoldenHeaders pins every frame's bytes.
func TestGoldenHeaders(t *testing.T) {
	frame := func(put ...func(*btl.Frag)) *btl.Frag {
		f := &btl.Frag{}
		for _, p := range put {
			p(f)
		}
		return f
	}
	matchOf := func(frame, flags uint8) func(*btl.Frag) {
		return func(f *btl.Frag) {
			h0, h1 := matchWords(frame, flags, 0x0201, 0x06050403, 0x0a090807, 0x0e0d0c0b)
			putMatch(f, h0, h1)
		}
	}
	long := func(f *btl.Frag) { putRndv(f, 0x1122334455667788, 0x99aabbccddeeff00) }
	for _, c := range []struct {
		name string
		f    *btl.Frag
		want string
	}{
		{"MATCH", frame(matchOf(typeMatch, 0)), "01 00 0102 03040506 0708090a 0b0c0d0e"},
		{"RNDV", frame(matchOf(typeRndv, flagSync), long), "02 01 0102 03040506 0708090a 0b0c0d0e 8877665544332211 00ffeeddccbbaa99"},
		{"RGET", frame(matchOf(typeRget, 0), long, func(f *btl.Frag) { putRget(f, btl.MemHandle{A: 0x0807060504030201, B: 0x100f0e0d0c0b0a09}) }),
			"03 00 0102 03040506 0708090a 0b0c0d0e 8877665544332211 00ffeeddccbbaa99 0102030405060708 090a0b0c0d0e0f10"},
		{"ACK", frame(func(f *btl.Frag) {
			putAck(f, ack{flags: flagNoGet, sendID: 1<<32 | 2, recvID: 3<<32 | 4, offset: 5, length: 6})
		}),
			"04 01 000000000000 0200000001000000 0400000003000000 0500000000000000 0600000000000000"},
		{"FRAG", frame(func(f *btl.Frag) { putFrag(f, 3<<32|4, 1<<40) }), "05 00 000000000000 0400000003000000 0000000000010000"},
		{"FIN", frame(func(f *btl.Frag) { putFin(f, 1<<32|2, 77) }), "06 00 000000000000 0200000001000000 4d00000000000000"},
		{"PUT", frame(func(f *btl.Frag) {
			putPut(f, &put{flagMore, 1<<32 | 2, 3<<32 | 4, 5, 6, btl.MemHandle{A: 0x0807060504030201, B: 0x100f0e0d0c0b0a09}})
		}),
			"08 02 000000000000 0200000001000000 0400000003000000 0500000000000000 0600000000000000 0102030405060708 090a0b0c0d0e0f10"},
		{"DONE", frame(func(f *btl.Frag) { putDone(f, done{flagSum, 0x04030201, 3<<32 | 4, 5, 6}) }),
			"09 02 0000 01020304 0400000003000000 0500000000000000 0600000000000000"},
	} {
		want := strings.ReplaceAll(c.want, " ", "")
		if got := hex.EncodeToString(c.f.Header()); got != want {
			t.Errorf("%s: %s, want %s", c.name, got, want)
		}
	}
}

// TestHeaderRoundTrip: what is put is what is parsed, extremes included.
func TestHeaderRoundTrip(t *testing.T) {
	for _, seq := range []uint16{0, 1, 65535} {
		for _, tag := range []int32{0, 1<<31 - 1} {
			var f btl.Frag
			h0, h1 := matchWords(typeRget, flagSync, seq, 1<<16-1, 1<<31-1, tag)
			putMatch(&f, h0, h1)
			putRndv(&f, 1<<62, 1<<63|uint64(seq))
			putRget(&f, btl.MemHandle{A: ^uint64(0), B: 1})
			if m := parseMatch(f.Header()); m != (match{flags: flagSync, seq: seq, ctx: 1<<16 - 1, source: 1<<31 - 1, tag: tag}) {
				t.Errorf("match: %+v", m)
			}
			if r := parseRndv(f.Header()); r != (rndv{flags: flagSync, length: 1 << 62, sendID: 1<<63 | uint64(seq), handle: btl.MemHandle{A: ^uint64(0), B: 1}}) {
				t.Errorf("rndv: %+v", r)
			}
		}
	}
	var f btl.Frag
	want := ack{flags: flagNoGet, sendID: 1, recvID: 2, offset: 3, length: 4}
	if putAck(&f, want); parseAck(f.Header()) != want {
		t.Errorf("ack: %+v", parseAck(f.Header()))
	}
	putFrag(&f, 9, 10)
	if id, off := parseFrag(f.Header()); id != 9 || off != 10 {
		t.Errorf("frag: %d, %d", id, off)
	}
	putFin(&f, 11, 12)
	if id, n := parseFin(f.Header()); id != 11 || n != 12 {
		t.Errorf("fin: %d, %d", id, n)
	}
	for _, n := range []int64{0, 1<<63 - 1, -1} {
		p := put{flagMore | flagNoPut, ^uint64(0), 1, n, ^n, btl.MemHandle{A: 1, B: ^uint64(0)}}
		if putPut(&f, &p); parsePut(f.Header()) != p {
			t.Errorf("put: %+v", parsePut(f.Header()))
		}
		d := done{flagFailed, ^uint32(0), ^uint64(0), n, ^n}
		if putDone(&f, d); parseDone(f.Header()) != d {
			t.Errorf("done: %+v", parseDone(f.Header()))
		}
	}
}

// TestIDs: names of requests are never used again, and never 0.
func TestIDs(t *testing.T) {
	var ids idTable
	s := &sendReq{}
	a := ids.add(s, nil)
	b := ids.add(nil, &recvReq{})
	if a == 0 || a == b || ids.send(a) != s || ids.recv(a) != nil || ids.send(b) != nil || ids.live != 2 {
		t.Errorf("names %#x and %#x, %d live", a, b, ids.live)
	}
	ids.remove(a)
	ids.remove(a) // a peer may say so twice
	if ids.send(a) != nil || ids.live != 1 {
		t.Error("a name outlives its request")
	}
	if c := ids.add(s, nil); c == a || c>>32 != a>>32 || ids.send(a) != nil || ids.send(c) != s {
		t.Errorf("the slot of %#x is used again as %#x", a, c)
	}
	ids.slots[0].gen = ^uint32(0)
	ids.remove(uint64(ids.slots[0].gen))
	if c := ids.add(s, nil); c == 0 {
		t.Error("a name is 0 when its generation wraps")
	}
	for _, bad := range []uint64{0, 1 << 32, 5 << 32, ^uint64(0), 2<<32 | 1} {
		if ids.find(bad) != nil && bad != b {
			t.Errorf("%#x names something", bad)
		}
	}
}

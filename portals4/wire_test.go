package portals4

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/ompi-go/ompi-go/btl"
)

// TestWireGolden: the bytes are those of the diagrams.
func TestWireGolden(t *testing.T) {
	r := request{op: opSwap, flavour: 3, ack: 1, flags: hasHandle | hasAck | hasOffset | hasHdr | hasOperand, pt: 0xcd, atomic: CSwap, typ: Uint64, number: 0x1234,
		bits: 0x1122334455667788, handle: 0xaabbccdd, acked: 0x01020304, offset: 5, hdrData: 6, operand: []byte{9, 8, 7}}
	w0, w1 := r.words()
	b := binary.LittleEndian.AppendUint64(nil, w0)
	b = binary.LittleEndian.AppendUint64(b, w1)
	b = append(b, r.appendTail(make([]byte, 0, headMax))...)
	const want = "744fcd0b07003412" + "8877665544332211" + "ddccbbaa" + "04030201" + "0500000000000000" + "0600000000000000" + "09080700000000000000000000000000"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("request %s\nwant    %s", got, want)
	}
	p := response{kind: respReadable, fail: 0, list: OverflowList, handle: 0xaabbccdd, mlength: 7, offset: 8, token: 9, mem: btl.MemHandle{A: 10, B: 11}}
	w0, w1 = p.words()
	b = binary.LittleEndian.AppendUint64(nil, w0)
	b = binary.LittleEndian.AppendUint64(b, w1)
	b = append(b, p.appendTail(make([]byte, 0, headMax))...)
	const wantP = "03000100ddccbbaa" + "0700000000000000" + "0800000000000000" + "0900000000000000" + "0a00000000000000" + "0b00000000000000"
	if got := hex.EncodeToString(b); got != wantP {
		t.Errorf("response %s\nwant     %s", got, wantP)
	}
}

// FuzzWire: what is parsed and written again is the same, and nothing makes the parsers fail but by an error.
func FuzzWire(f *testing.F) {
	f.Add(make([]byte, 16), []byte{})
	f.Add(bytes.Repeat([]byte{0x40, 0x1f, 4, 0}, 16), []byte("data"))
	f.Fuzz(func(t *testing.T, hdr, payload []byte) {
		w0, w1, tail, data, ok := split(hdr, payload)
		if !ok {
			return
		}
		var r request
		if r.parse(w0, w1, tail, data) == nil {
			v0, v1 := r.words()
			if v0 != w0&^(0xff<<40)|v0&(0xff<<40) || v1 != w1 {
				t.Fatalf("%#x %#x became %#x %#x", w0, w1, v0, v1)
			}
			again := r.appendTail(make([]byte, 0, headMax))
			if whole := append(append([]byte(nil), again...), r.data...); !bytes.Equal(whole, append(append([]byte(nil), tail...), data...)) {
				t.Fatalf("%x %x became %x", tail, data, whole)
			}
		}
		var p response
		if p.parse(w0, w1, tail, data) == nil && p.kind == respData && uint64(len(p.data)) != p.mlength {
			t.Fatal("a length that is not the data's")
		}
	})
}

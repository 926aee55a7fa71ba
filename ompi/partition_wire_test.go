package ompi

import (
	"bytes"
	"encoding/hex"
	"testing"
)

func TestOfferWire(t *testing.T) {
	o := offer{tag: 0x01020304, parts: 0x050607, base: 0x090a0b, bytes: 0x0c0d}
	b := appendOffer(nil, o)
	if got := hex.EncodeToString(b); got != "50727431"+"04030201"+"07060500"+"0b0a0900"+"0d0c000000000000" {
		t.Errorf("golden bytes differ: %s", got)
	}
	if back, err := parseOffer(b); err != nil || back != o {
		t.Errorf("%+v, %v", back, err)
	}
	for what, o := range map[string]offer{
		"a tag below 0": {tag: -1}, "too many": {parts: maxPartitions + 1}, "tags beyond the last": {parts: 2, bytes: 1 << 20, base: partitionTags - 1},
		"too much": {parts: 1, bytes: 1 << 62}, "less than nothing": {parts: 1, bytes: -1},
	} {
		if _, err := parseOffer(appendOffer(nil, o)); err == nil {
			t.Errorf("%s passes", what)
		}
	}
	if _, err := parseOffer(b[:offerSize-1]); err == nil {
		t.Error("a short one passes")
	}
}

func FuzzPartitionWire(f *testing.F) {
	f.Add(appendOffer(nil, offer{parts: 3, bytes: 2}), []byte{1, 0, 0, 0, 2, 0, 0, 0, 1, 2, 3, 4})
	f.Add(appendOffer(nil, offer{parts: 3}), []byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, head, msg []byte) {
		o, err := parseOffer(head)
		if err != nil {
			return
		}
		if !bytes.Equal(appendOffer(nil, o), head) {
			t.Fatalf("%+v has two forms", o)
		}
		for len(msg) > 0 {
			r, data, rest, ok := o.nextRun(msg)
			if !ok {
				return
			}
			if r.first < 0 || r.count < 1 || r.first+r.count > o.parts || int64(len(data)) != int64(r.count)*o.bytes || len(rest) >= len(msg) {
				t.Fatalf("%+v of %+v", r, o)
			}
			msg = rest
		}
	})
}

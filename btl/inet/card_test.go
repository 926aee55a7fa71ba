package inet

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCardGolden(t *testing.T) {
	c := Card{Loop: "boot net", Host: "h1", Addrs: []CardAddr{
		{netip.MustParseAddrPort("10.1.2.3:258"), 24},
		{netip.MustParseAddrPort("[fd00::2]:65535"), 64},
	}}
	b := c.Append(nil)
	want := unhex(t, "01 08"+hex.EncodeToString([]byte("boot net"))+"02"+hex.EncodeToString([]byte("h1"))+
		"02 04 18 0201 0a010203 06 40 ffff fd000000000000000000000000000002")
	if !bytes.Equal(b, want) {
		t.Errorf("card is\n% x, want\n% x", b, want)
	}
	back, err := ParseCard(b)
	if err != nil || !reflect.DeepEqual(back, c) {
		t.Errorf("card came back as %+v, %v", back, err)
	}
	for n := range b {
		if _, err := ParseCard(b[:n]); err == nil {
			t.Errorf("the first %d bytes were accepted", n)
		}
	}
	if _, err := ParseCard(append(b, 0)); err == nil {
		t.Error("a byte too many was accepted")
	}
	b[0] = 2
	if _, err := ParseCard(b); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("version 2: %v", err)
	}
}

func FuzzCard(f *testing.F) {
	c := Card{Loop: "l", Host: "h", Addrs: []CardAddr{{netip.MustParseAddrPort("127.0.0.1:5"), 8}, {netip.MustParseAddrPort("[::1]:5"), 128}}}
	f.Add(c.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseCard(b)
		if err != nil {
			return
		}
		if again := c.Append(nil); !bytes.Equal(again, b) {
			t.Errorf("% x became % x", b, again)
		}
	})
}

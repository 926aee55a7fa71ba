package pt2pt

import (
	"bytes"
	"testing"

	"github.com/ompi-go/ompi-go/osc/am"
)

// sealed is a packet as it travels.
func sealed(flags uint8, fences uint16, commands ...am.Command) []byte {
	m := &module{size: 512, fences: fences}
	k := m.newPacket()
	for i := range commands {
		k.control(&commands[i])
	}
	k.flags = flags
	k.seal()
	return k.buf[:k.n]
}

func TestPacket(t *testing.T) {
	b := sealed(inFence|ordered, 0x201, am.Command{Kind: am.Flush, ID: 7})
	if want := []byte{1, 3, 1, 2, 56, 0, 0, 0}; !bytes.Equal(b[:packetHeader], want) {
		t.Errorf("header % x, want % x", b[:packetHeader], want)
	}
	flags, fences, commands, ok := parsePacket(b)
	if !ok || flags != inFence|ordered || fences != 0x201 || !bytes.Equal(commands, b[packetHeader:]) {
		t.Errorf("it was read as %d, %d, % x, %v", flags, fences, commands, ok)
	}
	for name, wrong := range map[string]func(b []byte) []byte{
		"version": func(b []byte) []byte { b[0]++; return b },
		"flags":   func(b []byte) []byte { b[1] = allFlags + 1; return b },
		"length":  func(b []byte) []byte { b[4]++; return b },
		"cut":     func(b []byte) []byte { return b[:len(b)-1] },
		"nothing": func(b []byte) []byte { return b[:packetHeader-1] },
	} {
		if _, _, _, ok := parsePacket(wrong(bytes.Clone(b))); ok {
			t.Errorf("a packet with a wrong %s was read", name)
		}
	}
}

// FuzzPacket: what is read as a packet is one, and its commands end or are refused.
func FuzzPacket(f *testing.F) {
	f.Add(sealed(0, 0))
	f.Add(sealed(ordered, 3, am.Command{Kind: am.Lock, Off: 1}, am.Command{Kind: am.Unlock, Flags: flagAck, ID: 9}))
	f.Add(sealed(inFence|ordered, 1, am.Command{Kind: am.Get, N: 64, Off: 8}))
	f.Fuzz(func(t *testing.T, b []byte) {
		flags, fences, commands, ok := parsePacket(b)
		if !ok {
			return
		}
		k := packet{m: &module{fences: fences}, buf: make([]byte, packetHeader), n: len(b), flags: flags}
		if k.seal(); !bytes.Equal(k.buf, b[:packetHeader]) || len(commands) != len(b)-packetHeader {
			t.Errorf("% x became % x", b, k.buf)
		}
		for len(commands) > 0 {
			var c am.Command
			n, err := c.Parse(commands)
			if err != nil {
				return
			}
			if n < am.HeaderSize || c.ReplySize() < 0 {
				t.Fatalf("a command of %d bytes with a reply of %d", n, c.ReplySize())
			}
			commands = commands[n:]
		}
	})
}

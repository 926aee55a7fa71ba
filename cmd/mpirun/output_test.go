package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestPump(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"a\nb\n", "[12] a\n[12] b\n"},
		{"\n\na", "[12] \n[12] \n[12] a\n"},
		{"no end", "[12] no end\n"},
		{strings.Repeat("x", 100000) + "\ny\n", "[12] " + strings.Repeat("x", 100000) + "\n[12] y\n"},
	} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "last with EOF": iotest.DataErrReader,
		} {
			var out bytes.Buffer
			p := &pumpState{in: wrap(strings.NewReader(c.in))}
			(&tagger{w: &out}).pump(12, p)
			if out.String() != c.want || !p.ended.Load() {
				t.Errorf("%s: %.40q gives %.40q, want %.40q", name, c.in, out.String(), c.want)
			}
		}
	}
}

// TestPumpBounds: a line without an end is cut, not kept for ever; nothing of it is lost.
func TestPumpBounds(t *testing.T) {
	var out bytes.Buffer
	(&tagger{w: &out}).pump(0, &pumpState{in: io.LimitReader(endless{}, 3*maxHeld)})
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) < 2 || strings.Count(out.String(), "x") != 3*maxHeld {
		t.Errorf("%d lines with %d bytes", len(lines), strings.Count(out.String(), "x"))
	}
	for _, line := range lines {
		if len(line) > maxHeld+64<<10 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

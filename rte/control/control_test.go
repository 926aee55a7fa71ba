package control

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func TestGolden(t *testing.T) {
	for want, m := range map[string]Message{
		"0101000002000000" + hex.EncodeToString([]byte(`{}`)):                                       {Kind: Hello},
		"0103000017000000" + hex.EncodeToString([]byte(`{"code":7,"text":"why"}`)):                  {Kind: Abort, Code: 7, Text: "why"},
		"010400001c000000" + hex.EncodeToString([]byte(`{"id":5,"text":"a 1\nb 2\n"}`)):             {Kind: Metrics, ID: 5, Text: "a 1\nb 2\n"},
		"010500001c000000" + hex.EncodeToString([]byte(`{"key":"k","text":"no room"}`)):             {Kind: Note, Key: "k", Text: "no room"},
		"0110000028000000" + hex.EncodeToString([]byte(`{"rank":3,"text":"killed \u003c9\u003e"}`)): {Kind: Dead, Rank: 3, Text: "killed <9>"},
	} {
		b, err := Append(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(b); got != want {
			t.Errorf("%+v\n got %s\nwant %s", m, got, want)
		}
		back, rest, err := Parse(append(b, 'x'))
		if err != nil || back != m || string(rest) != "x" {
			t.Errorf("%+v came back as %+v, rest %q, %v", m, back, rest, err)
		}
		for n := range b {
			if _, _, err := Parse(b[:n]); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%d of %d bytes: %v", n, len(b), err)
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	if _, _, err := Parse([]byte("\x02\x01\x00\x00\x02\x00\x00\x00{}")); !errors.Is(err, ErrVersion) {
		t.Errorf("version 2: %v", err)
	}
	for name, b := range map[string]string{
		"huge":     "\x01\x01\x00\x00\xff\xff\xff\xff{}",
		"not JSON": "\x01\x01\x00\x00\x02\x00\x00\x00xx",
	} {
		if _, _, err := Parse([]byte(b)); err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b, err := Append([]byte("x"), Message{Kind: Metrics, Text: strings.Repeat("x", MaxPayload)}); err == nil || string(b) != "x" {
		t.Errorf("a message of %d bytes and more can be sent: %v", MaxPayload, err)
	}
}

func TestConn(t *testing.T) {
	a, b := net.Pipe()
	ca, cb := NewConn(a, time.Minute), NewConn(b, time.Minute)
	want := []Message{{Kind: Hello}, {Kind: Metrics, ID: 1, Text: strings.Repeat("metric 1\n", 50000)}, {Kind: Abort, Code: -1}}
	go func() {
		for _, m := range want {
			if err := ca.Send(m); err != nil {
				t.Errorf("Send: %v", err)
			}
		}
		ca.Close()
	}()
	for _, m := range want {
		if got, err := cb.Receive(); err != nil || got != m {
			t.Errorf("received kind %d, %v, want kind %d", got.Kind, err, m.Kind)
		}
	}
	if _, err := cb.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("end: %v", err)
	}
	for range 2 {
		if cb.Send(Message{Kind: Hello}) == nil {
			t.Error("sending to a closed end works")
		}
	}
}

func TestSendLosesPatience(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	c := NewConn(a, time.Millisecond)
	if err := c.Send(Message{Kind: Hello}); err == nil {
		t.Error("a message that nobody reads was sent")
	}
}

// FuzzReceive checks that the stream reader and Parse agree on whatever comes.
func FuzzReceive(f *testing.F) {
	for _, m := range []Message{{Kind: Hello}, {Kind: Dead, Rank: 1, Text: "x"}} {
		b, err := Append(nil, m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append(b, b...))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		c := NewConn(struct {
			io.Reader
			io.WriteCloser
		}{Reader: bytes.NewReader(stream)}, 0)
		for rest := stream; ; {
			m1, err1 := c.Receive()
			m2, after, err2 := Parse(rest)
			if (err1 == nil) != (err2 == nil) || m1 != m2 {
				t.Fatalf("Receive %+v, %v; Parse %+v, %v", m1, err1, m2, err2)
			}
			if err1 != nil {
				return
			}
			rest = after
			b, err := Append(nil, m1)
			if err != nil {
				t.Fatal(err)
			}
			if again, _, err := Parse(b); err != nil || again != m1 {
				t.Fatalf("%+v became %+v, %v", m1, again, err)
			}
		}
	})
}

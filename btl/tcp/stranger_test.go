package tcp

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ompi-go/ompi-go/btl/btltest"
)

// readAll polls until the rank closes the connection and returns what it said.
func readAll(t testing.TB, w *btltest.World, c net.Conn) []byte {
	t.Helper()
	type result struct {
		b   []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		b, err := io.ReadAll(c)
		done <- result{b, err}
	}()
	var r result
	w.Until(t, "the connection to be closed", func() bool {
		select {
		case r = <-done:
			return true
		default:
			return false
		}
	})
	return r.b // a reset after the answer is no matter
}

// greetingOf is what a caller of the job that knows everything but the secret would say.
func greetingOf(m *module) hello {
	return hello{from: 1, to: 0, links: 1, maxFrame: 1 << 20, job: m.job.ID(), nonce: [nonceSize]byte{1}}
}

func TestStrangers(t *testing.T) {
	for _, c := range []struct {
		name string
		say  func(h hello) []byte
		code refusal
		said string
	}{
		{"another protocol", func(hello) []byte { return []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n") }, refusedMessage, "some other protocol"},
		{"zeros", func(hello) []byte { return make([]byte, 1000) }, refusedMessage, "some other protocol"},
		{"another version", func(h hello) []byte { b := h.append(nil, msgHello); b[8] = 3; return b }, refusedVersion, "version 3"},
		{"another job", func(h hello) []byte { h.job = uuid.New(); return h.append(nil, msgHello) }, refusedJob, "belongs to job"},
		{"another rank", func(h hello) []byte { h.to = 1; return h.append(nil, msgHello) }, refusedRank, "wants rank 1"},
		{"a rank that is not", func(h hello) []byte { h.from = 1 << 31; return h.append(nil, msgHello) }, refusedRank, "it is rank"},
		{"a link too many", func(h hello) []byte { h.link, h.links = 3, 4; return h.append(nil, msgHello) }, refusedLink, "wants link 3"},
		{"an immense frame", func(h hello) []byte { h.maxFrame = 1 << 31; return h.append(nil, msgHello) }, refusedMessage, "2147483648 bytes"},
		{"not a greeting", func(h hello) []byte { return (&preamble{version: version, kind: msgReady}).append(nil) }, refusedMessage, "message 6"},
		{"no secret", func(h hello) []byte {
			b := (&preamble{version: version, kind: msgProof}).append(h.append(nil, msgHello))
			return append(b, make([]byte, macSize)...)
		}, refusedProof, "does not know the job's secret"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, sinks := newWorld(t, 2, nil, nil)
			r := w.Ranks[0]
			conn := dial(t, r)
			if _, err := conn.Write(c.say(greetingOf(moduleOf(r)))); err != nil {
				t.Fatal(err)
			}
			answer := readAll(t, w, conn)
			if len(answer) >= preambleSize {
				p, err := parsePreamble(answer[len(answer)-preambleSize:])
				if err != nil || p.kind != msgRefuse || p.code != c.code {
					t.Errorf("the answer is %+v, %v; want refusal %v", p, err, c.code)
				}
			}
			if s := r.Said()["btl_tcp_stranger"]; !strings.Contains(s, c.said) || !strings.Contains(s, conn.LocalAddr().String()) {
				t.Errorf("the user is told %q, want %q and the address", s, c.said)
			}
			if m := moduleOf(r); m.stats.Refused != 1 || m.strangers != 0 || len(m.conns) != 0 {
				t.Errorf("%d refused, %d strangers, %d connections left", m.stats.Refused, m.strangers, len(m.conns))
			}
			send(t, w, 1, 0, 0, 10) // and the peers are served
			w.Until(t, "the message", func() bool { return sinks[0].N == 1 })
		})
	}
}

func TestSilentStrangers(t *testing.T) {
	w, sinks := newWorld(t, 2, map[string]string{"btl_tcp_connect_timeout": "20ms"}, nil)
	r := w.Ranks[0]
	var conns []net.Conn
	for i := range maxStrangers + 20 { // more than are let in at once
		c := dial(t, r)
		conns = append(conns, c)
		if i%2 == 0 {
			h := greetingOf(moduleOf(r))
			fmt.Fprintf(c, "%s", h.append(nil, msgHello)[:i%helloSize])
		}
	}
	w.Until(t, "the strangers to come in", func() bool { return moduleOf(r).strangers > 0 })
	if n := moduleOf(r).strangers; n > maxStrangers {
		t.Errorf("%d strangers were let in, at most %d should be", n, maxStrangers)
	}
	w.Until(t, "all strangers to be sent away", func() bool { return moduleOf(r).stats.Refused == uint64(len(conns)) })
	if s := r.Said()["btl_tcp_stranger"]; !strings.Contains(s, "btl_tcp_connect_timeout") {
		t.Errorf("the user is told %q", s)
	}
	send(t, w, 1, 0, 0, 10)
	w.Until(t, "the message", func() bool { return sinks[0].N == 1 })
}

// TestWrongSecret lets a rank call another that keeps a different secret: the caller must not believe it.
func TestWrongSecret(t *testing.T) {
	w, _ := newWorld(t, 2, nil, nil)
	moduleOf(w.Ranks[1]).secret[5]++
	err := sendError(t, w, 0, 1)
	if !strings.Contains(err.Error(), "does not know the job's secret") || !strings.Contains(err.Error(), address(w.Ranks[1])) {
		t.Errorf("Send: %v", err)
	}
	w.Until(t, "the failure", func() bool { return len(w.Ranks[0].Failures()) == 1 })
	if f := w.Ranks[0].Failures()[0]; f.Rank != 1 || f.Dead {
		t.Errorf("%+v", f)
	}
}

// FuzzStranger sends a listening rank whatever there is.
func FuzzStranger(f *testing.F) {
	w, _ := newWorld(f, 2, map[string]string{"btl_tcp_connect_timeout": "1h"}, nil)
	m := moduleOf(w.Ranks[0])
	h := greetingOf(m)
	f.Add(h.append(nil, msgHello))
	f.Add((&preamble{version: version, kind: msgProof}).append(h.append(nil, msgHello)))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := net.Dial("tcp", address(w.Ranks[0]))
		if err != nil {
			t.Skip(err)
		}
		_ = c.SetDeadline(time.Now().Add(btltest.Patience))
		_, _ = c.Write(b)
		w.Until(t, "the caller to be noticed", func() bool { return len(m.conns) > 0 || m.stats.Refused > 0 })
		c.Close()
		w.Until(t, "the caller to be gone", func() bool { return len(m.conns) == 0 })
		m.stats.Refused = 0
	})
}

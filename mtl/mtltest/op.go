package mtltest

import (
	"bytes"
	"slices"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mtl"
)

// Op is a request of the test and its outcome.
type Op struct {
	mtl.Request
	rank *Rank
	over int
	st   core.Status
	err  error
}

// Done implements mtl.Completer.
func (o *Op) Done(_ *mtl.Request, st core.Status, err error) {
	o.over++
	o.st, o.err = st, err
}

// done reports whether it is over.
func (o *Op) done() (ok bool) {
	o.rank.Do(func() { ok = o.over > 0 })
	return ok
}

// send begins a send on ch.
func (r *Rank) send(ch *core.Channel, m *memory, dest, tag int, sync bool) *Op {
	o := &Op{rank: r, Request: mtl.Request{Ch: ch, Buf: m.buf, Peer: dest, Tag: tag, Sync: sync}}
	o.Owner = o
	r.Do(func() { r.Module.Send(&o.Request) })
	return o
}

// recv begins a receive.
func (r *Rank) recv(ch *core.Channel, m *memory, source, tag int) *Op {
	o := &Op{rank: r, Request: mtl.Request{Ch: ch, Buf: m.buf, Peer: source, Tag: tag}}
	o.Owner = o
	r.Do(func() { r.Module.Recv(&o.Request) })
	return o
}

// wait polls until all are over, once each.
func (w *World) wait(t testing.TB, what string, ops ...*Op) {
	t.Helper()
	for i, o := range ops {
		w.Until(t, what, o.done)
		if o.over != 1 {
			t.Fatalf("%s: operation %d was told %d times that it is over", what, i, o.over)
		}
	}
}

// got checks a finished receive: who sent it, and the message.
func (o *Op) got(t testing.TB, m *memory, source, tag, n, id int) {
	t.Helper()
	switch {
	case o.err != nil:
		t.Fatalf("receive: %v", o.err)
	case o.st.Source != source || o.st.Tag != tag || o.st.Bytes() != int64(n):
		t.Fatalf("the status says source %d, tag %d, %d bytes; want %d, %d, %d", o.st.Source, o.st.Tag, o.st.Bytes(), source, tag, n)
	case !m.holds(n, id):
		t.Fatalf("the buffer does not hold message %d of %d bytes", id, n)
	case !m.intact():
		t.Fatal("memory beside the buffer was written")
	}
}

// memory is a user's buffer between two guard zones.
type memory struct {
	all  []byte
	n    int
	buf  core.Buffer
	gaps bool // a vector: every other byte is the user's own
}

const guard = 64

// period is that of a message's bytes: a prime, so that no fragment looks like another.
const period = 4093

// pattern has the bytes of all messages: those of message id begin at id%256, and repeat.
func pattern() []byte {
	b := make([]byte, period+256)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

var bytesOfAll = pattern() // never changed

// part gives the bytes of message id from i on: as many as there are in one piece.
func part(id, i int) []byte {
	at := id % 256
	return bytesOfAll[at+i%period : at+period]
}

// newMemory makes room for n bytes of payload, contiguous or every second byte, and sets it to message id, or to 0xEE when id < 0.
func newMemory(t testing.TB, n, id int, gaps bool) *memory {
	t.Helper()
	m := &memory{n: n, gaps: gaps}
	span := n
	if gaps {
		span = 2 * n
	}
	m.all = bytes.Repeat([]byte{0xEE}, 2*guard+span)
	at := unsafe.Pointer(&m.all[guard])
	m.buf = core.MakeBuffer(at, int64(n), datatype.Byte)
	if gaps {
		v, err := datatype.Vector(n, 1, 2, datatype.Byte)
		if err == nil {
			err = v.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
		m.buf = core.MakeBuffer(at, 1, v)
	}
	if id >= 0 {
		m.walk(n, id, func(mem, want []byte) bool { copy(mem, want); return true }, func(b *byte, want byte) bool { *b = want; return true })
	}
	return m
}

// walk goes through the first n bytes of payload and what message id has there: by pieces, or, with gaps, byte by byte.
func (m *memory) walk(n, id int, pieces func(mem, want []byte) bool, single func(b *byte, want byte) bool) bool {
	for i := 0; i < n; {
		want := part(id, i)
		want = want[:min(len(want), n-i)]
		if !m.gaps {
			if !pieces(m.all[guard+i:guard+i+len(want)], want) {
				return false
			}
		} else {
			for k, b := range want {
				if !single(&m.all[guard+2*(i+k)], b) {
					return false
				}
			}
		}
		i += len(want)
	}
	return true
}

// holds reports whether the first n bytes are those of message id.
func (m *memory) holds(n, id int) bool {
	return m.walk(n, id, bytes.Equal, func(b *byte, want byte) bool { return *b == want })
}

// intact reports whether nothing was written outside of the payload.
func (m *memory) intact() bool {
	touched := func(b byte) bool { return b != 0xEE }
	if slices.ContainsFunc(m.all[:guard], touched) || slices.ContainsFunc(m.all[len(m.all)-guard:], touched) {
		return false
	}
	for i := guard + 1; m.gaps && i < guard+2*m.n; i += 2 {
		if touched(m.all[i]) {
			return false
		}
	}
	return true
}

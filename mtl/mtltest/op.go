package mtltest

import (
	"bytes"
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

// fill gives the byte of message id at i.
func fill(id, i int) byte { return byte(id*31 + i*7 + i>>8) }

// newMemory makes room for n bytes of payload, contiguous or every second byte, and sets it to message id, or to 0xEE when id < 0.
func newMemory(t testing.TB, n, id int, gaps bool) *memory {
	t.Helper()
	m := &memory{n: n, gaps: gaps, all: bytes.Repeat([]byte{0xEE}, 2*guard+2*n)}
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
	for i := 0; id >= 0 && i < n; i++ {
		*m.at(i) = fill(id, i)
	}
	return m
}

func (m *memory) at(i int) *byte {
	if m.gaps {
		i *= 2
	}
	return &m.all[guard+i]
}

// holds reports whether the first n bytes are those of message id.
func (m *memory) holds(n, id int) bool {
	for i := range n {
		if *m.at(i) != fill(id, i) {
			return false
		}
	}
	return true
}

// intact reports whether nothing was written outside of the payload.
func (m *memory) intact() bool {
	for i, b := range m.all {
		k := i - guard
		inside := k >= 0 && (!m.gaps && k < m.n || m.gaps && k < 2*m.n && k%2 == 0)
		if !inside && b != 0xEE {
			return false
		}
	}
	return true
}

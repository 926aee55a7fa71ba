package ompi_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// TestBsend: a buffered send completes whatever the receiver does, as long as there is room (MPI-3.1 §3.6).
func TestBsend(t *testing.T) {
	const n = 100_000 // a rendezvous
	job(t, 2, func(w *ompi.Comm) error {
		var m must
		i := w.Instance()
		if w.Rank() == 1 {
			m.ok(w.Barrier()) // all has been sent
			in := make([]byte, n)
			for k, size := range []int{n, 10, 0, n / 2, 300} {
				st, err := w.Recv(ompi.Slice(in), 0, k)
				m.that(err == nil && st.Bytes() == int64(size) && !slices.ContainsFunc(in[:size], func(b byte) bool { return b != byte(k+1) }), "message %d: %+v, %v", k, st, err)
			}
			return m.err
		}
		_, err := i.DetachBuffer()
		m.that(errors.Is(err, ompi.ErrBuffer), "DetachBuffer without a buffer: %v", err)
		mem := make([]byte, 2*n)
		m.ok(i.AttachBuffer(mem))
		m.that(errors.Is(i.AttachBuffer(mem), ompi.ErrBuffer), "a second buffer was attached")
		out := make([]byte, n)
		bsend := func(k, size int) error {
			for j := range out {
				out[j] = byte(k + 1)
			}
			err := w.Bsend(ompi.Slice(out[:size]), 1, k)
			clear(out) // it is ours again
			return err
		}
		m.ok(bsend(0, n))
		m.ok(bsend(1, 10))
		m.ok(bsend(2, 0))
		m.ok(bsend(3, n/2))
		err = bsend(9, n/2+1)
		m.that(errors.Is(err, ompi.ErrBuffer), "Bsend without room: %v", err)
		v, err := datatype.Vector(100, 3, 7, datatype.Byte)
		m.ok(err)
		gaps := slices.Repeat([]byte{5}, 700)
		m.ok(w.Bsend(ompi.Typed(gaps, 1, v), 1, 4))
		m.ok(w.Barrier())
		m.ok(i.FlushBuffer())
		m.ok(bsendSelf(w, n))
		got, err := i.DetachBuffer()
		m.that(err == nil && len(got) == len(mem) && &got[0] == &mem[0], "DetachBuffer: %d bytes, %v", len(got), err)
		m.that(errors.Is(bsend(9, 1), ompi.ErrBuffer), "Bsend without a buffer")
		return m.err
	})
}

// bsendSelf uses the room again once messages have left, also by persistent sends.
func bsendSelf(w *ompi.Comm, n int) error {
	var m must
	self := w.Instance().Self()
	out, in := make([]byte, n), make([]byte, n)
	r := self.BsendInit(ompi.Slice(out), 0, 1)
	for round := range 10 {
		out[n-1] = byte(round)
		m.ok(r.Start())
		_, err := r.Wait()
		m.ok(err)
		out[n-1] = 0xff
		_, err = self.Recv(ompi.Slice(in), 0, 1)
		m.that(err == nil && in[n-1] == byte(round), "round %d: %v", round, err)
		m.ok(w.Instance().FlushBuffer())
	}
	m.ok(r.Free())
	return m.err
}

// TestDetachWaits: the buffer comes back only when its messages have left.
func TestDetachWaits(t *testing.T) {
	job(t, 2, func(w *ompi.Comm) error {
		var m must
		const n = 1 << 20
		if w.Rank() == 1 {
			time.Sleep(5 * time.Millisecond)
			in := make([]byte, n)
			_, err := w.Recv(ompi.Slice(in), 0, 1)
			m.that(err == nil && !slices.ContainsFunc(in, func(b byte) bool { return b != 3 }), "the message was overwritten, %v", err)
			return m.err
		}
		m.ok(w.Instance().AttachBuffer(make([]byte, n)))
		m.ok(w.Bsend(ompi.Slice(slices.Repeat([]byte{3}, n)), 1, 1))
		mem, err := w.Instance().DetachBuffer()
		clear(mem)
		m.ok(err)
		return m.err
	})
}

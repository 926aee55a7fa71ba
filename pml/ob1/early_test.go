package ob1

import (
	"strings"
	"testing"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/pml"
)

// TestEarlyLimits: what a peer sends for communicators that are not made here, or ahead of what it has not sent, is bounded; beyond
// the bound it counts as failed, with a message that says why.
func TestEarlyLimits(t *testing.T) {
	const few = 10
	for _, c := range []struct {
		name string
		opt  Options
		send func(r *rank, i int)
		want string
	}{
		{"strays by number", Options{EarlyMessages: few}, func(r *rank, i int) {
			r.inject(1, typeMatch, matchHeader(typeMatch, 0, uint16(i), 40, 1, 5), nil)
		}, "pml_ob1_early_messages is 10"},
		{"strays of many communicators", Options{EarlyMessages: few}, func(r *rank, i int) {
			r.inject(1, typeRndv, matchHeader(typeRndv, 0, 0, uint32(40+i), 1, 5, func(f *btl.Frag) { putRndv(f, 100, 7) }), make([]byte, 10))
		}, "10 messages with 100 bytes"},
		{"strays by bytes", Options{EarlyBytes: few * 100}, func(r *rank, i int) {
			r.inject(1, typeMatch, matchHeader(typeMatch, 0, uint16(i), 40, 1, 5), make([]byte, 100))
		}, "pml_ob1_early_bytes is 1000"},
		{"out of sequence by number", Options{EarlyMessages: few}, func(r *rank, i int) {
			r.inject(1, typeMatch, matchHeader(typeMatch, 0, uint16(1+i), 0, 1, 5), nil)
		}, "ahead of messages that have not come"},
		{"out of sequence by bytes", Options{EarlyBytes: few * 100}, func(r *rank, i int) {
			r.inject(1, typeMatch, matchHeader(typeMatch, 0, uint16(100-i), 0, 1, 5), make([]byte, 100))
		}, "pml_ob1_early_bytes is 1000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.opt.Depth = 4
			w := newWorld(t, 3, btltest.NewScript(), c.opt, false)
			r := w.ranks[0]
			for i := range few {
				c.send(r, i)
			}
			if f := r.Failures(); len(f) != 0 {
				t.Fatalf("within the bound: %v", f)
			}
			for i := range few {
				c.send(r, few+i)
				r.die(1) // as the instance does when told
			}
			if f := r.Failures(); len(f) != 1 || f[0].Rank != 1 || !f[0].Dead || !strings.Contains(f[0].Cause.Error(), c.want) {
				t.Errorf("failures %v, want one with %q", f, c.want)
			}
			if n := r.o.nFree.msgs; n != few || r.o.stats.Refused != few {
				t.Errorf("%d messages are kept, %d were refused", n, r.o.stats.Refused)
			}
			// Another peer has its own account.
			r.inject(2, typeMatch, matchHeader(typeMatch, 0, 0, 40, 2, 5), make([]byte, 100))
			if f := r.Failures(); len(f) != 1 {
				t.Errorf("another peer: %v", f)
			}
			r.checkBalance(t)
		})
	}
}

// TestEarlyAccount: messages whose turn has come are off the account, so that a peer in order never reaches the bound, however much
// it sends.
func TestEarlyAccount(t *testing.T) {
	s := btltest.NewScript()
	w := newWorld(t, 2, s, Options{Depth: 4, EarlyMessages: 20, EarlyBytes: 2000}, false)
	a, b := w.ranks[0], w.ranks[1]
	for k := uint32(1); k <= 30; k++ {
		a.addComm(t, k)
		for range 10 { // too soon
			a.o.Isend(a.channel(k, false), newMemory(t, 100, 3, false).buf, 1, 3, pml.Standard)
			a.o.Isend(a.channel(0, false), newMemory(t, 100, 4, false).buf, 1, 4, pml.Standard)
		}
		for f := s.Frames(); len(f) > 0; f = s.Frames() { // the last first: out of sequence, too
			s.Deliver(f[len(f)-1])
		}
		b.addComm(t, k)
		for range 10 {
			for ctx, tag := range map[uint32]int{k: 3, 0: 4} {
				m := newMemory(t, 100, -1, false)
				if q := b.o.Irecv(b.channel(ctx, false), m.buf, 0, tag); !q.Done() || q.Status.Err != nil || !m.holds(100, tag) {
					t.Fatalf("communicator %d: %+v", ctx, q.Status)
				}
			}
		}
	}
	// A communicator is freed while something is out of sequence.
	a.o.Isend(a.channel(5, false), core.Buffer{}, 1, 3, pml.Standard)
	a.o.Isend(a.channel(5, false), newMemory(t, 100, 3, false).buf, 1, 3, pml.Standard)
	s.Drop(s.Frames()[0], nil)
	s.DeliverAll()
	if e := b.o.early[0]; e.messages != 1 || e.bytes != 100 {
		t.Errorf("account %+v with one message held", e)
	}
	b.o.DelComm(b.comms[5])
	if f := b.Failures(); len(f) != 0 || b.o.early[0] != (early{}) || b.o.nFree.msgs != 0 {
		t.Errorf("failures %v, account %+v, %d messages out of the pool", f, b.o.early[0], b.o.nFree.msgs)
	}
}

// TestTwice: a message that comes a second time, before or after its turn, is refused and holds up nothing.
func TestTwice(t *testing.T) {
	w := newWorld(t, 2, btltest.NewScript(), Options{Depth: 4}, false)
	r := w.ranks[0]
	send := func(ctx uint32, seq uint16) {
		r.inject(1, typeMatch, matchHeader(typeMatch, 0, seq, ctx, 1, 5), []byte{byte(seq)})
	}
	for _, seq := range []uint16{2, 2, 1, 2, 1, 0, 0, 1, 2, 3} {
		send(0, seq)
	}
	for _, seq := range []uint16{0, 0, 2, 1, 2, 3} { // of a communicator that is made later
		send(2, seq)
	}
	if r.o.stats.Refused != 6 {
		t.Errorf("%d refused before the communicator is made", r.o.stats.Refused)
	}
	r.addComm(t, 1)
	if r.o.stats.Refused != 8 || r.o.early[1] != (early{}) {
		t.Errorf("%d refused, account %+v", r.o.stats.Refused, r.o.early[1])
	}
	for ctx := range uint32(2) {
		if n := r.o.chans[2*ctx].unexp.n; n != 4 || r.o.chans[2*ctx].ranks[1].held != nil {
			t.Errorf("communicator %d: %d messages wait", ctx, n)
		}
	}
	r.checkBalance(t)
}

package cm

import (
	"bytes"
	"testing"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mtl"
	"github.com/ompi-go/ompi-go/pml"
)

// TestBlocking: every mode and size, between ranks that block.
func TestBlocking(t *testing.T) {
	w := newWorld(t, 2)
	a, b := w.ranks[0], w.ranks[1]
	for _, n := range []int{0, 8, eager, eager + 1, 100_000} {
		for _, mode := range []pml.Mode{pml.Standard, pml.Synchronous, pml.Ready} {
			out, in := bytes.Repeat([]byte{byte(n)}, n), make([]byte, n+3)
			var st core.Status
			var sent, got error
			w.at(t, "a message", func() {
				over := make(chan struct{})
				go func() {
					st, got = b.o.Recv(b.p, bytesOf(in), mtl.AnySource, 5)
					close(over)
				}()
				sent = a.o.Send(a.p, bytesOf(out), 1, 5, mode)
				<-over
			})
			if sent != nil || got != nil || st.Source != 0 || st.Tag != 5 || st.Bytes() != int64(n) || !bytes.Equal(in[:n], out) {
				t.Fatalf("%d bytes, mode %d: %v, %v, status %+v", n, mode, sent, got, st)
			}
		}
	}
	if !a.o.Quiet() || a.o.Pending() != "" {
		t.Errorf("left: %s", a.o.Pending())
	}
}

func TestPersistent(t *testing.T) {
	w := newWorld(t, 2)
	a, b := w.ranks[0], w.ranks[1]
	for _, n := range []int{8, 5000} {
		out, in := make([]byte, n), make([]byte, n)
		s, r := a.o.SendInit(a.p, bytesOf(out), 1, 3, pml.Standard), b.o.RecvInit(b.p, bytesOf(in), 0, 3)
		hs, hr := s.Handle(), r.Handle()
		for i := range 5 {
			out[n-1] = byte(i + 1)
			start := func(x *rank, q *core.Request) {
				x.Do(func() {
					if err := q.Owner.Start(q); err != nil {
						t.Fatal(err)
					}
				})
			}
			if i%2 == 0 {
				start(b, r)
				start(a, s)
			} else {
				start(a, s)
				start(b, r)
			}
			w.until(t, "a persistent message", s, r)
			st, ok := hr.Take()
			if _, sok := hs.Take(); !ok || !sok || st.Err != nil || st.Bytes() != int64(n) || in[n-1] != byte(i+1) {
				t.Fatalf("round %d of %d bytes: %+v, %d", i, n, st, in[n-1])
			}
		}
		hs.Abandon()
		hr.Abandon()
	}
}

func TestCancel(t *testing.T) {
	w := newWorld(t, 2)
	a, b := w.ranks[0], w.ranks[1]
	in := make([]byte, 8)
	r := b.o.Irecv(b.p, bytesOf(in), 0, 1)
	h := r.Handle()
	cancel := func() {
		b.Do(func() {
			if err := r.Owner.Cancel(r); err != nil {
				t.Error(err)
			}
		})
	}
	cancel()
	if st, ok := h.Take(); !ok || !st.Cancelled || st.Err != nil {
		t.Errorf("a receive was not cancelled: %+v", st)
	}
	// One that has matched a message that is under way ends as it would have.
	big := make([]byte, 3*eager)
	s := a.o.Isend(a.p, bytesOf(big), 1, 1, pml.Standard)
	w.Settle(t)
	r = b.o.Irecv(b.p, bytesOf(make([]byte, 3*eager)), 0, 1)
	h = r.Handle()
	cancel()
	w.until(t, "the message", r, s)
	if st, ok := h.Take(); !ok || st.Cancelled || st.Bytes() != 3*eager {
		t.Errorf("a receive that has matched: %+v", st)
	}
	// A send and an inactive request are not.
	s = a.o.Isend(a.p, bytesOf(big), 1, 2, pml.Standard)
	p := b.o.RecvInit(b.p, bytesOf(in), 0, 1)
	a.Do(func() { _ = s.Owner.Cancel(s) })
	b.Do(func() { _ = p.Owner.Cancel(p) })
	if s.Done() || p.Done() {
		t.Error("a send or an inactive request was cancelled")
	}
}

// TestProbes: probes that block end when their message comes, and a matched one takes it.
func TestProbes(t *testing.T) {
	w := newWorld(t, 2)
	a, b := w.ranks[0], w.ranks[1]
	for _, n := range []int{8, 3 * eager} {
		out := bytes.Repeat([]byte{7}, n)
		var st core.Status
		var err error
		w.at(t, "Probe", func() {
			over := make(chan struct{})
			go func() {
				st, err = b.o.Probe(b.p, mtl.AnySource, mtl.AnyTag)
				close(over)
			}()
			for parked := false; !parked; {
				b.Do(func() { parked = len(b.o.probes) == 1 })
			}
			a.o.Isend(a.p, bytesOf(out), 1, 9, pml.Standard)
			<-over
		})
		if err != nil || st.Source != 0 || st.Tag != 9 || st.Bytes() != int64(n) {
			t.Fatalf("Probe: %+v, %v", st, err)
		}
		if st, ok, err := b.o.Iprobe(b.p, 0, 9); !ok || err != nil || st.Bytes() != int64(n) {
			t.Fatalf("Iprobe: %+v, %v, %v", st, ok, err)
		}
		var m pml.Message
		w.at(t, "Mprobe", func() { m, err = b.o.Mprobe(b.p, 0, mtl.AnyTag) })
		if err != nil || m.Status().Bytes() != int64(n) {
			t.Fatalf("Mprobe: %v", err)
		}
		if m, err := b.o.Improbe(b.p, 0, mtl.AnyTag); m != nil || err != nil {
			t.Fatalf("Improbe finds what was taken: %v, %v", m, err)
		}
		in := make([]byte, n)
		r := b.o.Imrecv(m, bytesOf(in))
		h := r.Handle()
		w.until(t, "Imrecv", r)
		if st, ok := h.Take(); !ok || st.Err != nil || st.Source != 0 || st.Tag != 9 || !bytes.Equal(in, out) {
			t.Fatalf("Imrecv: %+v", st)
		}
	}
	if len(b.o.probes) != 0 {
		t.Error("probes are left")
	}
}

// TestSettle: at the end of a communicator, receives for which nothing was sent end, others do not.
func TestSettle(t *testing.T) {
	w := newWorld(t, 2)
	a, b := w.ranks[0], w.ranks[1]
	in := make([]byte, 3*eager)
	good := b.o.Irecv(b.p, bytesOf(in), 0, 1)
	idle := b.o.Irecv(b.p, bytesOf(make([]byte, 8)), 0, 2)
	other := b.o.Irecv(&b.World.Inner, bytesOf(make([]byte, 8)), 0, 2)
	s := a.o.Isend(a.p, bytesOf(bytes.Repeat([]byte{1}, 3*eager)), 1, 1, pml.Standard)
	if sent := a.o.SentOn(a.World); len(sent) != 2 {
		t.Errorf("SentOn gives %d numbers", len(sent))
	}
	w.at(t, "Settle", func() { b.o.Settle(b.World, b.o.SentOn(b.World)) })
	if !good.Done() || good.Status.Err != nil || in[3*eager-1] != 1 {
		t.Errorf("a message that was sent: %+v", good.Status)
	}
	class(t, "a receive of what nobody has sent", idle.Status.Err, core.ErrComm, core.Undefined)
	if other.Done() {
		t.Error("a receive of the library's own has ended")
	}
	w.until(t, "the send", s)
	b.Do(func() { b.o.takeBack(other.Owner.(*request)) })
}

// TestAllocations: messages cost no heap allocations, probes neither.
func TestAllocations(t *testing.T) {
	w := newWorld(t, 1)
	a := w.ranks[0]
	for _, n := range []int{8, 2 * eager} {
		out, in := bytesOf(make([]byte, n)), bytesOf(make([]byte, n))
		one := func() {
			s := a.o.Isend(a.p, out, 0, 1, pml.Standard).Handle()
			if _, err := a.o.Probe(a.p, 0, 1); err != nil {
				t.Fatal(err)
			}
			if _, err := a.o.Recv(a.p, in, mtl.AnySource, 1); err != nil {
				t.Fatal(err)
			}
			s.Wait()
			s.Take()
			r := a.o.Irecv(a.p, in, 0, 2).Handle()
			if err := a.o.Send(a.p, out, 0, 2, pml.Standard); err != nil {
				t.Fatal(err)
			}
			r.Wait()
			r.Take()
			s = a.o.Isend(a.p, out, 0, 3, pml.Synchronous).Handle()
			m, err := a.o.Mprobe(a.p, 0, 3)
			if err != nil {
				t.Fatal(err)
			}
			r = a.o.Imrecv(m, in).Handle()
			r.Wait()
			r.Take()
			s.Wait()
			s.Take()
		}
		for range 50 {
			one()
		}
		if x := testing.AllocsPerRun(100, one); x != 0 {
			t.Errorf("messages of %d bytes cost %v allocations", n, x)
		}
	}
}

func TestMetrics(t *testing.T) {
	w := newWorld(t, 1)
	a := w.ranks[0]
	for _, n := range []int{8, 16, 2 * eager} {
		s := a.o.Isend(a.p, bytesOf(make([]byte, n)), 0, 1, pml.Standard)
		if _, err := a.o.Recv(a.p, bytesOf(make([]byte, n)), 0, 1); err != nil {
			t.Fatal(err)
		}
		w.until(t, "the send", s)
	}
	if want := (stats{2, 24, 1, 2 * eager, 3, 24 + 2*eager}); a.o.stats != want {
		t.Errorf("counted %+v, want %+v", a.o.stats, want)
	}
}

package ob1

import (
	"testing"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/pml"
)

func putHeader(p put) []byte   { return header(func(f *btl.Frag) { putPut(f, &p) }) }
func doneHeader(d done) []byte { return header(func(f *btl.Frag) { putDone(f, d) }) }

// TestRefusedPut: PUT and DONE that make no sense change nothing and are counted; so are requests for what was asked for before.
func TestRefusedPut(t *testing.T) {
	s := btltest.NewScript()
	s.Facts.RndvEager, s.Facts.MaxSend = 100, 1000
	s.Facts.PipeSend, s.Facts.PipeFrag = 200, 300
	s.Puts, s.Slow = true, true
	w := newWorld(t, 3, s, Options{Depth: 4, RecvDepth: 1, Protocol: "pipeline"}, false)
	r, other := w.ranks[0], w.ranks[1]
	// Rank 0 sends and receives; rank 1 has asked for a piece of the one, and been asked for one of the other.
	const size = 1000
	out, in := newMemory(t, size, 1, false), newMemory(t, size, -1, false)
	sent := r.send(out, 1, 1, pml.Standard)
	s.Deliver(s.Frames()[0])
	s.DeliverAll()
	peerIn := newMemory(t, size, -1, false)
	peerRecv := other.recv(peerIn, 0, 1)
	s.DeliverAll() // ACK, PUT [300, 600), FRAGs
	got := r.recv(in, 1, 2)
	peerSent := other.send(newMemory(t, size, 2, false), 0, 2, pml.Standard)
	s.DeliverAll()
	sid, rid := uint64(1), uint64(1<<32|1)
	if r.o.ids.send(sid) == nil || r.o.ids.recv(rid) == nil || s.Transfers() != 2 {
		t.Fatalf("the requests have other names, or %d transfers", s.Transfers())
	}
	theirs := r.o.ids.send(sid).recvID
	ok := put{flags: flagMore, sendID: sid, recvID: theirs, offset: 700, length: 100, handle: btl.MemHandle{A: 1, B: 99}}
	bad := func(change func(*put)) []byte {
		p := ok
		change(&p)
		return putHeader(p)
	}
	answer := done{recvID: rid, offset: 300, length: 300}
	wrong := func(change func(*done)) []byte {
		d := answer
		change(&d)
		return doneHeader(d)
	}
	for _, c := range []struct {
		name    string
		peer    int
		frame   int
		hdr     []byte
		answers int // frames sent
	}{
		{"a short PUT", 1, typePut, make([]byte, putSize-1), 0},
		{"a long PUT", 1, typePut, make([]byte, putSize+1), 0},
		{"a PUT for nothing", 1, typePut, bad(func(p *put) { p.sendID++ }), 1},
		{"a PUT for a receive", 1, typePut, bad(func(p *put) { p.sendID = rid }), 1},
		{"a PUT from another", 2, typePut, bad(func(*put) {}), 0},
		{"a PUT with another receive", 1, typePut, bad(func(p *put) { p.recvID++ }), 0},
		{"a PUT below", 1, typePut, bad(func(p *put) { p.offset = -1 }), 0},
		{"a PUT of what went with the first frame", 1, typePut, bad(func(p *put) { p.offset = 99 }), 0},
		{"a PUT of what is being written", 1, typePut, bad(func(p *put) { p.offset = 599 }), 0},
		{"a PUT of what went in fragments", 1, typePut, bad(func(p *put) { p.offset = 250 }), 0},
		{"a PUT beyond", 1, typePut, bad(func(p *put) { p.offset = 1001 }), 0},
		{"a PUT far beyond", 1, typePut, bad(func(p *put) { p.offset = 1 << 62 }), 0},
		{"a PUT across the end", 1, typePut, bad(func(p *put) { p.offset = 901 }), 0},
		{"a PUT of nothing", 1, typePut, bad(func(p *put) { p.length = 0 }), 0},
		{"a PUT of negative length", 1, typePut, bad(func(p *put) { p.length = -1 }), 0},
		{"a PUT of too much", 1, typePut, bad(func(p *put) { p.length = 1<<63 - 1 }), 0},
		{"a last PUT before what was asked for", 1, typePut, bad(func(p *put) { p.flags, p.offset, p.length = 0, 150, 10 }), 0},
		{"an ACK of what went in fragments", 1, typeAck, header(func(f *btl.Frag) {
			putAck(f, ack{flags: flagMore, sendID: sid, recvID: theirs, offset: 100, length: 10})
		}), 0},
		{"an ACK that ends a stream", 1, typeAck, header(func(f *btl.Frag) { putAck(f, ack{sendID: sid, recvID: theirs, offset: 100}) }), 0},
		{"a FIN for a stream", 1, typeFin, header(func(f *btl.Frag) { putFin(f, sid, size) }), 0},
		{"a short DONE", 1, typeDone, make([]byte, doneSize-1), 0},
		{"a DONE for nothing", 1, typeDone, wrong(func(d *done) { d.recvID++ }), 0},
		{"a DONE for a send", 1, typeDone, wrong(func(d *done) { d.recvID = sid }), 0},
		{"a DONE from another", 2, typeDone, wrong(func(*done) {}), 0},
		{"a DONE of another range", 1, typeDone, wrong(func(d *done) { d.offset++ }), 0},
		{"a DONE of less", 1, typeDone, wrong(func(d *done) { d.length-- }), 0},
		{"a DONE with a sum", 1, typeDone, wrong(func(d *done) { d.flags = flagSum }), 0},
	} {
		before := r.o.stats.Refused
		r.inject(c.peer, c.frame, c.hdr, nil)
		if r.o.stats.Refused != before+1 {
			t.Errorf("%s was not refused", c.name)
		}
		if n := len(s.Frames()); n != c.answers {
			t.Errorf("%s: %d frames were sent", c.name, n)
		}
		for _, f := range s.Frames() {
			if f.Tag != tagOf(typeDone) || f.To != 1 {
				t.Errorf("%s: answered by %v", c.name, f)
			}
			s.Drop(f, nil)
		}
		if sent.Done() || got.Done() || r.o.ids.live != 2 || s.Transfers() != 2 {
			t.Fatalf("%s has changed something", c.name)
		}
	}
	// The real frames still do.
	for s.Transfers() > 0 {
		s.EndTransfer(0, nil)
		s.DeliverAll()
	}
	if !sent.Done() || !peerSent.Done() || !got.Done() || !peerRecv.Done() || !in.holds(size, 2) || !peerIn.holds(size, 1) || !in.intact() {
		t.Errorf("after refused frames the messages are damaged: %+v", got.Status)
	}
	r.checkBalance(t)
	other.checkBalance(t)
}

// TestFragmentsIntoRead: while the buffer is being read into, no peer can end the receive by fragments.
func TestFragmentsIntoRead(t *testing.T) {
	s := btltest.NewScript()
	s.Gets, s.Slow = true, true
	w := newWorld(t, 2, s, Options{Depth: 4}, false)
	r := w.ranks[0]
	const size = 5000
	in := newMemory(t, size, -1, false)
	got := r.recv(in, 1, 1)
	w.ranks[1].send(newMemory(t, size, 1, false), 0, 1, pml.Standard)
	s.DeliverAll()
	if s.Transfers() != 1 {
		t.Fatal("nothing is read")
	}
	r.inject(1, typeFrag, header(func(f *btl.Frag) { putFrag(f, 1, 0) }), make([]byte, size))
	if got.Done() || r.o.stats.Refused != 1 {
		t.Fatal("the receive is over while its buffer is written")
	}
	s.EndTransfer(0, nil)
	s.DeliverAll()
	if !got.Done() || !in.holds(size, 1) {
		t.Error("the message did not come")
	}
	r.checkBalance(t)
}

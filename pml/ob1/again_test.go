package ob1

import (
	"errors"
	"testing"

	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/pml"
)

// TestCreditOfBrokenPlacing: a message of which a BTL has placed a part comes again as an announcement, which costs less. Both ends
// account for that one alone.
func TestCreditOfBrokenPlacing(t *testing.T) {
	for _, whole := range []bool{false, true} { // the second copy finds the first broken off, or still on its way
		for _, breaks := range []bool{false, true} {
			w := newPathWorld(t, later)
			for _, r := range w.ranks {
				r.o.credit.open(4096, 8192, 2)
			}
			const size = 280 // eager over the first path alone
			in := newMemory(t, size, -1, false)
			got := w.ranks[1].recv(in, 0, 1)
			sent := w.ranks[0].send(newMemory(t, size, 1, false), 1, 1, pml.Standard)
			broken := errors.New("broken off")
			end := w.both[0].Begin(w.both[0].Frames()[0], broken)
			if end == nil || w.ranks[0].o.peers[1].left != 4096-costOf(size) {
				t.Fatal("the message is not being placed")
			}
			finish := func() {
				if breaks {
					end(broken)
				} else {
					end(nil)
				}
			}
			if whole {
				w.settle()
				finish()
			} else {
				finish()
			}
			w.settle()
			if !got.Done() || !sent.Done() || got.Status.Err != nil || sent.Status.Err != nil || !in.holds(size, 1) {
				t.Errorf("received %+v, sent %+v", got.Status, sent.Status)
			}
			due := costOf(size)
			if breaks {
				due = smallCost
			}
			if n := w.ranks[1].o.credit.accounts[0].due; n != due || w.ranks[0].o.peers[1].left != 4096-due {
				t.Errorf("breaks %v: %d are due, of %d; the sender has %d left", breaks, n, due, w.ranks[0].o.peers[1].left)
			}
			w.checkConserved(t, "broken placing")
			for _, r := range w.ranks {
				r.checkBalance(t)
			}
		}
	}
}

// TestCreditOfTruncation: nothing is wanted of a message that was sent again; which copy has matched is told all the same.
func TestCreditOfTruncation(t *testing.T) {
	for _, came := range []bool{false, true} {
		w := newPathWorld(t, later)
		for _, r := range w.ranks {
			r.o.credit.open(4096, 8192, 2)
		}
		const size = 280
		sent := w.ranks[0].send(newMemory(t, size, 1, false), 1, 1, pml.Standard)
		f, lost := w.both[0].Frames()[0], errors.New("lost")
		if came {
			w.both[0].Doubt(f, lost)
		} else {
			w.both[0].Drop(f, lost)
		}
		got := w.ranks[1].recv(newMemory(t, 0, -1, false), 0, 1)
		w.settle()
		if !got.Done() || !sent.Done() || sent.Status.Err != nil {
			t.Errorf("received %+v, sent %+v", got.Status, sent.Status)
		}
		w.checkConserved(t, "truncated")
	}
}

// TestCheaperFeeds: credit that is left over, since a message went again without its data, is for those that are kept back.
func TestCheaperFeeds(t *testing.T) {
	w := newPathWorld(t, later)
	for _, r := range w.ranks {
		r.o.credit.open(costOf(280)+smallCost-1, 8192, 2)
	}
	first := w.ranks[0].send(newMemory(t, 280, 1, false), 1, 1, pml.Standard)
	second := w.ranks[0].send(newMemory(t, 8, 2, false), 1, 2, pml.Standard)
	p := w.ranks[0].o.peers[1]
	if len(p.starving) != 1 {
		t.Fatal("the second message is not kept back")
	}
	got := w.ranks[1].recv(newMemory(t, 280, -1, false), 0, 1)
	w.both[0].Drop(w.both[0].Frames()[0], errors.New("lost"))
	w.both[1].DeliverAll() // RNDV
	w.both[0].DeliverAll() // ACK
	if len(p.starving) != 0 {
		t.Errorf("the second message is kept back with %d credit", p.left)
	}
	other := w.ranks[1].recv(newMemory(t, 8, -1, false), 0, 2)
	w.settle()
	if !first.Done() || !second.Done() || !got.Done() || !other.Done() {
		t.Error("not everything came")
	}
	w.checkConserved(t, "fed")
}

// TestOldReclaim: what a BTL gives back of a communicator that has been freed does not come to the next of its number.
func TestOldReclaim(t *testing.T) {
	w := newPathWorld(t, later)
	for _, r := range w.ranks {
		r.addComm(t, 2)
	}
	send := func(size int) {
		w.ranks[0].o.Isend(w.ranks[0].channel(2, false), newMemory(t, size, 1, false).buf, 1, 7, pml.Standard)
	}
	send(8)
	send(100)
	inline, eager := w.both[0].Frames()[0], w.both[0].Frames()[1]
	in := newMemory(t, 100, -1, false)
	for range 2 {
		w.ranks[1].o.Irecv(w.ranks[1].channel(2, false), in.buf, 0, 7)
	}
	if !inline.Inline {
		t.Fatal("the first is not inline")
	}
	w.both[0].Copy(inline) // they come, and their sender does not hear of it
	w.both[0].Copy(eager)
	for _, r := range w.ranks {
		r.o.DelComm(r.comms[2])
		r.addComm(t, 2)
	}
	lost := errors.New("lost")
	w.both[0].Reclaim(inline, false)
	w.both[0].Drop(eager, lost)
	if n := len(w.both[0].Frames()) + len(w.both[1].Frames()); n != 0 {
		t.Errorf("%d frames were sent again", n)
	}
	for _, r := range w.ranks {
		r.checkBalance(t)
	}
}

// TestOvertakenDone: a PUT comes twice, and the answer to the second, when the send is over, before that to the first.
func TestOvertakenDone(t *testing.T) {
	w := newPathWorld(t, func(a, b *btltest.Script) {
		later(a, b)
		a.Puts, b.Puts = true, true
	})
	const size = 1000
	in := newMemory(t, size, -1, false)
	got := w.ranks[1].recv(in, 0, 1)
	sent := w.ranks[0].send(newMemory(t, size, 1, false), 1, 1, pml.Standard)
	s := w.both[0]
	s.Deliver(s.Frames()[0])
	put := s.Frames()[0]
	if put.Tag != tagOf(typePut) {
		t.Fatalf("%v is no PUT", put)
	}
	s.Copy(put)
	if !sent.Done() {
		t.Fatal("the send is not over")
	}
	s.Deliver(put)
	f := s.Frames()
	if len(f) != 2 {
		t.Fatalf("%d answers", len(f))
	}
	s.Deliver(f[1])
	if got.Done() {
		t.Fatal("it has been received without an answer that it is there")
	}
	w.ranks[1].inject(0, typeDone, doneHeader(done{recvID: w.ranks[1].o.ids.slots[0].recv.id, offset: 1, length: size}), nil)
	if got.Done() || w.ranks[1].o.stats.Refused != 1 {
		t.Fatal("a DONE beyond the message counts")
	}
	s.Deliver(f[0])
	if !got.Done() || got.Status.Err != nil || !in.holds(size, 1) {
		t.Errorf("received: %v %+v", got.Done(), got.Status)
	}
	for _, r := range w.ranks {
		r.checkBalance(t)
	}
}

// TestManyParts: a receiver may ask for many parts while others wait that could not be written, but not for many tiny ones.
func TestManyParts(t *testing.T) {
	s := &sendReq{total: 1 << 30, want: -1}
	for i := range int64(3 * maxSpans) {
		if !s.ask(flagMore, i*leastSpan, leastSpan) {
			t.Fatalf("part %d is refused", i)
		}
		s.todo = append(s.todo, span{i * leastSpan, (i + 1) * leastSpan})
	}
	if s.ask(flagMore, 3*maxSpans*leastSpan, leastSpan-1) {
		t.Error("a tiny part is taken")
	}
}

package ob1

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/pml"
)

// inject hands r a frame as if it had come from peer.
func (r *rank) inject(peer, frame int, hdr, payload []byte) {
	r.Do(func() {
		h := r.Dispatch.Handlers[tagOf(frame)]
		if p, ok := h.(btl.Placer); ok && len(payload) > 0 {
			if place := p.Place(peer, hdr, len(payload)); place != nil {
				copy(place, payload)
				p.Placed(peer, hdr, len(payload), nil)
				return
			}
		}
		h.Receive(peer, hdr, payload)
	})
}

func header(put func(*btl.Frag)) []byte {
	var f btl.Frag
	put(&f)
	return append([]byte(nil), f.Header()...)
}

func matchHeader(frame, flags uint8, seq uint16, ctx uint32, source, tag int32, more ...func(*btl.Frag)) []byte {
	return header(func(f *btl.Frag) {
		h0, h1 := matchWords(frame, flags, seq, ctx, uint32(source), tag)
		putMatch(f, h0, h1)
		for _, p := range more {
			p(f)
		}
	})
}

// TestRefused: frames that make no sense change nothing and are counted.
func TestRefused(t *testing.T) {
	w := newWorld(t, 3, btltest.NewScript(), Options{Depth: 4}, false)
	r := w.ranks[0]
	got := newMemory(t, 9000, -1, false)
	recv := r.recv(got, 1, 5)
	// A long receive and a long send under way with rank 1.
	sent := newMemory(t, 9000, 5, false)
	w.ranks[1].send(sent, 0, 5, pml.Standard)
	w.script.Deliver(w.script.Frames()[0])
	long := r.send(newMemory(t, 9000, 6, false), 1, 6, pml.Standard)
	rid, sid := uint64(0<<32|1), uint64(1<<32|1)
	if r.o.ids.recv(rid) == nil || r.o.ids.send(sid) == nil {
		t.Fatal("the requests have other names")
	}
	rndvOf := func(n int64) func(*btl.Frag) { return func(f *btl.Frag) { putRndv(f, n, 77) } }
	frag := func(id uint64, off int64) []byte { return header(func(f *btl.Frag) { putFrag(f, id, off) }) }
	ackOf := func(a ack) []byte { return header(func(f *btl.Frag) { putAck(f, a) }) }
	fin := func(id uint64, n int64) []byte { return header(func(f *btl.Frag) { putFin(f, id, n) }) }
	for _, c := range []struct {
		name    string
		peer    int
		frame   int
		hdr     []byte
		payload int
	}{
		{"a short MATCH", 1, typeMatch, make([]byte, matchSize-1), 0},
		{"an empty MATCH", 1, typeMatch, nil, 0},
		{"a long MATCH", 1, typeMatch, make([]byte, matchSize+1), 0},
		{"a short RNDV", 1, typeRndv, make([]byte, rndvSize-1), 0},
		{"a short RGET", 1, typeRget, make([]byte, rndvSize), 0},
		{"a short ACK", 1, typeAck, make([]byte, ackSize-1), 0},
		{"a short FRAG", 1, typeFrag, make([]byte, fragSize-1), 8},
		{"a short FIN", 1, typeFin, make([]byte, finSize-1), 0},
		{"a MATCH in another's name", 2, typeMatch, matchHeader(typeMatch, 0, 1, 0, 1, 5), 8},
		{"a MATCH from no rank", 1, typeMatch, matchHeader(typeMatch, 0, 1, 0, 3, 5), 8},
		{"a MATCH from a negative rank", 1, typeMatch, matchHeader(typeMatch, 0, 1, 0, -1, 5), 8},
		{"a MATCH with a negative tag", 1, typeMatch, matchHeader(typeMatch, 0, 1, 0, 1, -2), 8},
		{"a MATCH with a context beyond all", 1, typeMatch, matchHeader(typeMatch, 0, 1, 1<<16, 1, 5), 8},
		{"a stray from a negative rank", 1, typeMatch, matchHeader(typeMatch, 0, 1, 90, -7, 5), 8},
		{"a RNDV with more data than length", 1, typeRndv, matchHeader(typeRndv, 0, 1, 0, 1, 5, rndvOf(7)), 8},
		{"a RNDV of negative length", 1, typeRndv, matchHeader(typeRndv, 0, 1, 0, 1, 5, rndvOf(-1)), 0},
		{"a FRAG for nothing", 1, typeFrag, frag(rid+1, 5000), 100},
		{"a FRAG for a send", 1, typeFrag, frag(sid, 5000), 100},
		{"a FRAG from another", 2, typeFrag, frag(rid, 5000), 100},
		{"a FRAG below", 1, typeFrag, frag(rid, -1), 100},
		{"a FRAG beyond", 1, typeFrag, frag(rid, 9001), 0},
		{"a FRAG across the end", 1, typeFrag, frag(rid, 8950), 100},
		{"a FRAG longer than what is missing", 1, typeFrag, frag(rid, 0), 8999},
		{"an ACK for nothing", 1, typeAck, ackOf(ack{sendID: sid + 1, length: 10}), 0},
		{"an ACK for a receive", 1, typeAck, ackOf(ack{sendID: rid, length: 10}), 0},
		{"an ACK from another", 2, typeAck, ackOf(ack{sendID: sid, length: 10}), 0},
		{"an ACK below", 1, typeAck, ackOf(ack{sendID: sid, offset: -1, length: 10}), 0},
		{"an ACK beyond", 1, typeAck, ackOf(ack{sendID: sid, offset: 9001}), 0},
		{"an ACK across the end", 1, typeAck, ackOf(ack{sendID: sid, offset: 8000, length: 1001}), 0},
		{"an ACK of negative length", 1, typeAck, ackOf(ack{sendID: sid, length: -1}), 0},
		{"a FIN for a send that offers no memory", 1, typeFin, fin(sid, 9000), 0},
		{"a FIN for nothing", 1, typeFin, fin(^uint64(0), 1), 0},
	} {
		before := r.o.stats.Refused
		r.inject(c.peer, c.frame, c.hdr, make([]byte, c.payload))
		if r.o.stats.Refused != before+1 {
			t.Errorf("%s was not refused", c.name)
		}
		if recv.Done() || long.Done() || r.o.ids.live != 2 {
			t.Fatalf("%s has ended a request", c.name)
		}
	}
	// The peers' real frames still do.
	w.ranks[1].recv(newMemory(t, 9000, -1, false), 0, 6)
	w.script.DeliverAll()
	if !recv.Done() || recv.Status.Err != nil || !got.holds(9000, 5) || !got.intact() || !long.Done() {
		t.Errorf("after refused frames the messages are damaged: %+v", recv.Status)
	}
	r.checkBalance(t)
}

// TestEarlyAnswer: an answer to a send whose first fragment still waits for room is refused; it cannot be true.
func TestEarlyAnswer(t *testing.T) {
	s := btltest.NewScript()
	s.Gets = true
	w := newWorld(t, 2, s, Options{Depth: 4}, false)
	r := w.ranks[0]
	s.Refuse(1)
	q := r.send(newMemory(t, 9000, 1, false), 1, 1, pml.Standard)
	id := uint64(1)
	r.inject(1, typeFin, header(func(f *btl.Frag) { putFin(f, id, 9000) }), nil)
	r.inject(1, typeAck, header(func(f *btl.Frag) { putAck(f, ack{sendID: id}) }), nil)
	r.inject(1, typeAck, header(func(f *btl.Frag) { putAck(f, ack{sendID: id, length: 9000}) }), nil)
	if r.o.stats.Refused != 3 || q.Done() {
		t.Errorf("%d answers refused; done: %v", r.o.stats.Refused, q.Done())
	}
	m := newMemory(t, 9000, -1, false)
	w.ranks[1].recv(m, 0, 1)
	r.Poll()
	s.DeliverAll()
	if !q.Done() || !m.holds(9000, 1) {
		t.Error("the message did not come")
	}
	r.checkBalance(t)
}

// FuzzFrames: whatever frames a peer sends, and whatever is going on, nothing panics, no byte outside of a buffer is written, and
// when the peer is dead everything ends. Input is a program: see hostile.step.
func FuzzFrames(f *testing.F) {
	for seed := range 16 {
		b := make([]byte, 200)
		x := uint64(seed)*0x9e3779b97f4a7c15 + 1
		for i := range b {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			b[i] = byte(x)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		s := btltest.NewScript()
		s.Facts = btl.Limits{Eager: 200, RndvEager: 40, MaxSend: 150, Latency: 1, Bandwidth: 1, Exclusivity: 1}
		s.Facts.PipeSend, s.Facts.PipeFrag, s.Facts.MinShared = 50, 100, 300
		bit := func(k int) bool { return len(program) > k/8 && program[k/8]>>(k%8)&1 != 0 }
		s.Gets, s.Puts, s.Slow = bit(0), bit(8), bit(9)
		wish := func(k int) (name string) {
			for i := range 3 {
				if bit(k + i) {
					name = protocolNames[protoRget+protocol(i)]
				}
			}
			return name
		}
		opts, archs := []Options{{Depth: 2, RecvDepth: 2, Checksum: bit(2), Protocol: wish(10)}, {Depth: 2, RecvDepth: 2, Checksum: bit(3), Protocol: wish(13)}}, make([]datatype.Arch, 2)
		if bit(6) {
			opts[0].Unexpected, opts[1].Unexpected = 4<<10, 4<<10
		}
		for i := range archs {
			if bit(4 + i) {
				archs[i] = datatype.ArchBig
			}
		}
		h := &hostile{t: t, w: newMixedWorld(t, s, bit(1), opts, archs), in: program}
		for steps := 0; len(h.in) > 0 && steps < 300; steps++ {
			h.step()
		}
		h.end()
	})
}

// hostile runs a fuzzed program on rank 0, which talks to itself in no way and to rank 1, who is real and hostile at once.
type hostile struct {
	t    *testing.T
	w    *world
	in   []byte
	mems []*memory
	reqs []*core.Request
}

func (h *hostile) next() int {
	if len(h.in) == 0 {
		return 0
	}
	b := h.in[0]
	h.in = h.in[1:]
	return int(b)
}

func (h *hostile) size() int { return []int{0, 8, 60, 100, 185, 300, 700, 1500}[h.next()%8] }

func (h *hostile) step() {
	r := h.w.ranks[0]
	add := func(m *memory, q *core.Request) { h.mems, h.reqs = append(h.mems, m), append(h.reqs, q) }
	switch k := h.next() % 20; k {
	case 0, 1:
		m := newMemory(h.t, h.size(), -1, k == 1)
		add(m, r.recv(m, 1-h.next()%2*2, h.next()%4-2+h.next()%2*2))
	case 2, 3:
		n := h.size()
		m := newMemory(h.t, n, 7, false)
		add(m, r.send(m, 1, h.next()%4, []pml.Mode{pml.Standard, pml.Synchronous}[k-2]))
	case 4: // the real rank 1 sends
		m := newMemory(h.t, h.size(), 9, false)
		h.w.ranks[1].send(m, 0, h.next()%4, pml.Standard)
	case 5:
		m := newMemory(h.t, h.size(), -1, false)
		h.w.ranks[1].recv(m, 0, h.next()%4)
	case 6, 7:
		if f := h.w.script.Frames(); len(f) > 0 {
			h.w.script.Deliver(f[h.next()%len(f)])
		}
	case 8:
		h.w.script.Refuse(h.next() % 4)
	case 9:
		if len(h.w.held) > 0 {
			h.w.complete(h.next() % len(h.w.held))
		}
	case 10:
		r.Poll()
	case 12:
		if n := h.w.script.Transfers(); n > 0 {
			h.w.script.EndTransfer(h.next()%n, h.outcome())
		}
	case 13:
		h.w.script.RefuseTransfers(h.next() % 4)
	case 14:
		h.w.script.FailPuts(h.outcome())
	case 15:
		h.w.script.FailRegister(h.outcome(), h.next()%3)
	case 11:
		if len(h.reqs) > 0 {
			q := h.reqs[h.next()%len(h.reqs)]
			r.Do(func() {
				if !q.Done() {
					_ = q.Owner.Cancel(q)
				}
			})
		}
	default:
		h.frame(r)
	}
}

func (h *hostile) outcome() error {
	return []error{nil, nil, nil, btl.ErrNotSupported, errors.New("gone")}[h.next()%5]
}

// frame injects a frame that is right in most fields, so that it gets far.
func (h *hostile) frame(r *rank) {
	id := func() uint64 { return uint64(h.next()%4)<<32 | uint64(1+h.next()%3) }
	num := func() int64 {
		return []int64{0, 1, 8, 100, 300, 700, 1500, -1, 1 << 62, -1 << 63}[h.next()%10]
	}
	kind := [...]int{typeMatch, typeRndv, typeRget, typeAck, typeFrag, typeFin, typePut, typeDone, typeCredit, typeStarve}[h.next()%10]
	more := h.next()%4 == 0 && kind < len(plainSize) && plainSize[kind] > 0 // extended
	var hdr []byte
	switch kind {
	case typeAck:
		hdr = header(func(f *btl.Frag) {
			putAck(f, ack{flags: uint8(h.next()), sendID: id(), recvID: id(), offset: num(), length: num()})
		})
	case typeFrag:
		hdr = header(func(f *btl.Frag) { putFrag(f, id(), num()) })
	case typeCredit:
		hdr = header(func(f *btl.Frag) { putCredit(f, uint32(h.next()%4), num()+int64(h.next())*256) })
	case typeStarve:
		hdr = header(func(f *btl.Frag) { putStarve(f, uint32(h.next()%4), uint32(h.next()%3), num()+int64(h.next())*256) })
	case typeFin:
		hdr = header(func(f *btl.Frag) { putFin(f, id(), num()) })
	case typePut:
		hdr = header(func(f *btl.Frag) {
			putPut(f, &put{flags: uint8(h.next()), sendID: id(), recvID: id(), offset: num(), length: num(), handle: btl.MemHandle{A: 1, B: uint64(h.next() % 4)}})
		})
	case typeDone:
		hdr = header(func(f *btl.Frag) {
			putDone(f, done{flags: uint8(h.next() % 4), sum: uint32(h.next() % 2), recvID: id(), offset: num(), length: num()})
		})
	default:
		seq := uint16(h.next() % 8)
		if h.next()%2 == 0 {
			seq = r.o.chans[0].ranks[1].expected
		}
		hdr = matchHeader(uint8(kind), uint8(h.next()), seq, uint32(h.next()%5), int32(h.next()%4), int32(h.next()%5-1), func(f *btl.Frag) {
			if kind != typeMatch {
				putRndv(f, num(), id())
			}
			if kind == typeRget {
				putRget(f, btl.MemHandle{A: 1, B: uint64(h.next() % 4)})
			}
		})
	}
	if more {
		hdr[0] |= extended
		kind |= extended
		hdr = append(hdr, byte(h.next()%4), byte(h.next()%3), 0, 0, byte(h.next()), 0, 0, 0)
	}
	switch n := h.next(); {
	case n < 8 && len(hdr) > n:
		hdr = hdr[:n]
	case n < 24:
		binary.LittleEndian.PutUint32(hdr[n%(len(hdr)-4):], uint32(h.next())<<24|uint32(h.next()))
	}
	r.inject(1, kind, hdr, make([]byte, h.size()))
}

// end: the peer dies and the BTL lets go of what it holds; nothing may be left, and nothing written where it should not.
func (h *hostile) end() {
	r := h.w.ranks[0]
	h.w.script.Refuse(0)
	r.die(1)
	for len(h.w.held) > 0 {
		h.w.complete(0)
	}
	for h.w.script.Transfers() > 0 {
		h.w.script.EndTransfer(0, h.outcome())
	}
	for len(h.w.held) > 0 {
		h.w.complete(0)
	}
	r.Poll()
	for i, q := range h.reqs {
		if !q.Done() {
			h.t.Errorf("request %d is pending after the only peer's death", i)
		}
		if !h.mems[i].intact() {
			h.t.Errorf("request %d: memory around its buffer was written", i)
		}
	}
	r.checkBalance(h.t)
}

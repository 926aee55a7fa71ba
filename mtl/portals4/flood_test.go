package portals4

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/mtl"
	"github.com/ompi-go/ompi-go/mtl/mtltest"
)

// floodMsg begins a message of a flood: who sends it, to whom, and its number among those.
type floodMsg struct{ from, to, number uint32 }

// stream is what one rank sends to another, one message at a time.
type stream struct {
	mtl.Request
	rank  *mtltest.Rank
	to, n int
	sent  int
	busy  bool
	buf   []byte
	size  int
	err   error
}

// Done implements mtl.Completer.
func (s *stream) Done(_ *mtl.Request, _ core.Status, err error) {
	s.busy = false
	if err != nil {
		s.err = err
	}
}

// next sends the next message if the last is out; the token is not held.
func (s *stream) next() bool {
	if s.busy || s.sent == s.n || s.err != nil {
		return false
	}
	binary.LittleEndian.PutUint32(s.buf, uint32(s.rank.Job.Rank()))
	binary.LittleEndian.PutUint32(s.buf[4:], uint32(s.to))
	binary.LittleEndian.PutUint32(s.buf[8:], uint32(s.sent))
	buf := core.MakeBuffer(unsafe.Pointer(&s.buf[0]), int64(s.size), datatype.Byte)
	s.sent++
	s.rank.Do(func() {
		if s.sent%2 == 0 && s.rank.Module.TrySend(&s.rank.World.P2P, buf, s.to, 5) {
			return
		}
		s.busy = true
		s.Request = mtl.Request{Owner: s, Ch: &s.rank.World.P2P, Buf: buf, Peer: s.to, Tag: 5}
		s.rank.Module.Send(&s.Request)
	})
	return true
}

// sink receives messages on a rank, one at a time, and checks their order.
type sink struct {
	mtl.Request
	t    *testing.T
	rank *mtltest.Rank
	buf  []byte
	seen []uint32 // next number, by sender
	got  int
	busy bool
}

// Done implements mtl.Completer.
func (s *sink) Done(_ *mtl.Request, st core.Status, err error) {
	s.busy = false
	if err != nil {
		s.t.Errorf("rank %d: receive: %v", s.rank.Job.Rank(), err)
		return
	}
	m := floodMsg{binary.LittleEndian.Uint32(s.buf), binary.LittleEndian.Uint32(s.buf[4:]), binary.LittleEndian.Uint32(s.buf[8:])}
	if int(m.from) != st.Source || int(m.to) != s.rank.Job.Rank() || m.number != s.seen[st.Source] {
		s.t.Fatalf("rank %d: message %+v from %d, wanted number %d", s.rank.Job.Rank(), m, st.Source, s.seen[st.Source])
	}
	s.seen[st.Source]++
	s.got++
}

func (s *sink) next(source int) {
	s.busy = true
	s.Request = mtl.Request{Owner: s, Ch: &s.rank.World.P2P, Buf: core.MakeBuffer(unsafe.Pointer(&s.buf[0]), int64(len(s.buf)), datatype.Byte), Peer: source, Tag: mtl.AnyTag}
	s.rank.Do(func() { s.rank.Module.Recv(&s.Request) })
}

// flood has some ranks send n messages of a size to each of some others, which receive nothing until no message can come any more.
func flood(t *testing.T, params map[string]string, senders, receivers, n, size int) *mtltest.World {
	t.Helper()
	w := mtltest.NewWorld(t, mtltest.Config{Component: component{}, Params: params}, senders+receivers)
	var streams []*stream
	for i := range senders {
		for k := range receivers {
			streams = append(streams, &stream{rank: w.Ranks[receivers+i], to: k, n: n, size: size, buf: make([]byte, size)})
		}
	}
	start := memory(w)
	push := func() (moved bool) {
		for _, s := range streams {
			for range 50 {
				if !s.next() {
					break
				}
				moved = true
			}
		}
		return moved
	}
	for still := 0; still < 20; still++ {
		if push() {
			still = 0
		}
		w.Poll()
	}
	m0 := w.Ranks[0].Module.(*module)
	if got, limit := unexpected(w), max(m0.opt.MaxHeaders, leastHeads*len(w.Ranks))*receivers; got > limit {
		t.Errorf("%d messages wait, the bound is %d", got, limit)
	}
	if now := memory(w); now > start+senders*receivers*2*size+(senders*m0.opt.SendSlots*4096) {
		t.Errorf("memory has grown from %d to %d", start, now)
	}
	var sinks []*sink
	for k := range receivers {
		sinks = append(sinks, &sink{t: t, rank: w.Ranks[k], buf: make([]byte, size), seen: make([]uint32, len(w.Ranks))})
	}
	w.Until(t, "all messages", func() bool {
		push()
		done := true
		for k, s := range sinks {
			for range 200 {
				if s.busy || s.got == senders*n {
					break
				}
				// First all of one sender, whose last messages are far behind those of others, then as they come.
				from := receivers + k%senders
				if int(s.seen[from]) == n {
					from = mtl.AnySource
				}
				s.next(from)
			}
			done = done && s.got == senders*n
		}
		return done
	})
	for _, s := range streams {
		if s.err != nil {
			t.Errorf("a send: %v", s.err)
		}
	}
	w.Until(t, "quiet", func() bool {
		for _, r := range w.Ranks {
			quiet := false
			r.Do(func() { quiet = r.Module.Quiet() })
			if !quiet {
				return false
			}
		}
		return true
	})
	return w
}

// memory is what the modules hold for messages.
func memory(w *mtltest.World) (n int) {
	for _, r := range w.Ranks {
		r.Do(func() {
			m := r.Module.(*module)
			n += len(m.blocks.mem)
			for _, b := range m.pools {
				for ; b != nil; b = b.next {
					n += len(b.mem)
				}
			}
			for _, s := range m.sends {
				if s.buf != nil {
					n += len(s.buf.mem)
				}
			}
		})
	}
	return n
}

// unexpected is how many messages have come and were not received.
func unexpected(w *mtltest.World) int {
	n := 0
	for _, r := range w.Ranks {
		r.Do(func() {
			m := r.Module.(*module)
			s := &m.stats
			n += int(s.short + s.long + s.rndv - s.refusals - s.expected - s.unexpected)
		})
	}
	return n
}

// scaled is a number of messages, less where tests are slow.
func scaled(n int) int {
	if raceEnabled || testing.Short() {
		return n / 20
	}
	return n
}

// TestFlood: 32 senders and far more messages at one rank than it has memory for.
func TestFlood(t *testing.T) {
	for _, mode := range []string{"credit", "recovery"} {
		t.Run(mode, func(t *testing.T) {
			w := flood(t, map[string]string{"mtl_portals4_flow_control": mode, "mtl_portals4_short_recv_num": "4", "mtl_portals4_short_recv_size": "64k",
				"mtl_portals4_credit_share": "4k", "mtl_portals4_max_unexpected_headers": "8192"}, 32, 1, scaled(10000), 40)
			m := w.Ranks[0].Module.(*module)
			t.Logf("%+v", m.stats)
			if mode == "credit" && m.stats.recoveries != 0 {
				t.Errorf("%d recoveries in spite of credit", m.stats.recoveries)
			}
			if mode == "recovery" && m.stats.recoveries == 0 {
				t.Error("no recovery: the flood was too small")
			}
		})
	}
}

// TestOverflowOfSeveral: several receivers overflow at once.
func TestOverflowOfSeveral(t *testing.T) {
	for _, headers := range []string{"64", "4096"} {
		w := flood(t, map[string]string{"mtl_portals4_flow_control": "recovery", "mtl_portals4_short_recv_num": "2", "mtl_portals4_short_recv_size": "8k",
			"mtl_portals4_max_unexpected_headers": headers, "mtl_portals4_send_event_queue_size": "64"}, 5, 3, scaled(4000), 200)
		t.Logf("headers %s: %+v", headers, w.Ranks[0].Module.(*module).stats)
		if w.Ranks[0].Module.(*module).stats.recoveries == 0 {
			t.Error("no recovery")
		}
	}
}

package udp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/ompi-go/ompi-go/btl"
)

// simulation is two flows and a network between them, in time that passes when it is told to.
type simulation struct {
	t    interface{ Fatalf(string, ...any) }
	rng  *rand.Rand
	f    faults
	now  int64
	ends [2]*simEnd
	air  []simDatagram
	loss func(from int, p *packet) bool // nil: by chance alone
	log  []string
}

type simDatagram struct {
	at int64
	to int
	b  []byte
}

// simEnd is one end: a host.
type simEnd struct {
	s      *simulation
	me     int
	flow   *flow
	stats  Stats
	want   []byte // all that the other end has written
	got    []byte
	lent   map[*byte]bool
	frags  map[*btl.Frag]int // completions
	full   bool              // transmit refuses
	silent bool              // it hears nothing
}

const simKey = 77

func newSimulation(t interface{ Fatalf(string, ...any) }, seed uint64, f faults, datagram, slots, window int) *simulation {
	s := &simulation{t: t, rng: rand.New(rand.NewPCG(seed, 1)), f: f, now: 1}
	for i := range s.ends {
		e := &simEnd{s: s, me: i, lent: map[*byte]bool{}, frags: map[*btl.Frag]int{}}
		e.flow = newFlow(e, flowLimits{datagram: datagram, peerSlots: slots, minRTO: 2000, ackDelay: 500}, slots, slots, window, s.now, &e.stats)
		s.ends[i] = e
	}
	return s
}

func (e *simEnd) transmit(kind kind, number uint64, buf []byte, data unsafe.Pointer, n int) bool {
	if e.full {
		return false
	}
	s := e.s
	b := make([]byte, headSize, headSize+len(buf)+n+8)
	if kind == kindAck {
		buf = make([]byte, 8*e.flow.heldWords())
		for i := range len(buf) / 8 {
			binary.LittleEndian.PutUint64(buf[8*i:], e.flow.held64(i+1))
		}
	}
	p := packet{id: 1, window: uint32(1 << 20)}
	e.flow.head(&p, kind, number, s.now)
	p.put(b)
	b = append(b, buf...)
	b = append(b, unsafe.Slice((*byte)(data), n)...)
	if len(b) > e.flow.datagram {
		s.t.Fatalf("a datagram of %d bytes, at most %d are allowed", len(b), e.flow.datagram)
	}
	binary.LittleEndian.PutUint32(b[4:], sumOf(simKey, b))
	s.log = append(s.log, fmt.Sprintf("%d %d: kind %d number %d ack %d sack %x body %d", s.now, e.me, kind, number, p.ack, p.sack, len(b)-headSize))
	if s.loss != nil && s.loss(e.me, &p) || s.rng.Float64() < s.f.loss {
		return true
	}
	copies := 1
	if s.rng.Float64() < s.f.dup {
		copies = 2
	}
	for range copies {
		d := simDatagram{at: s.now + s.f.delay.Microseconds() + 20, to: 1 - e.me, b: slices.Clone(b)}
		if s.rng.Float64() < s.f.reorder {
			d.at += s.rng.Int64N(3000)
		}
		if s.rng.Float64() < s.f.corrupt {
			d.b[s.rng.IntN(len(d.b))] ^= 1 << s.rng.IntN(8)
		}
		at, _ := slices.BinarySearchFunc(s.air, d.at, func(x simDatagram, t int64) int {
			if x.at <= t {
				return -1
			}
			return 1
		})
		s.air = slices.Insert(s.air, at, d)
	}
	return true
}

func (e *simEnd) deliver(body []byte) {
	if len(e.got)+len(body) > len(e.want) || !bytes.Equal(body, e.want[len(e.got):len(e.got)+len(body)]) {
		e.s.t.Fatalf("end %d: at byte %d came %d bytes that were not sent there", e.me, len(e.got), len(body))
	}
	e.got = append(e.got, body...)
}

func (e *simEnd) came(f *btl.Frag) { e.frags[f]++ }

func (e *simEnd) buffer(n int) []byte {
	b := make([]byte, n, max(n, 1))
	e.lent[unsafe.SliceData(b)] = true
	return b
}

func (e *simEnd) release(b []byte) {
	p := unsafe.SliceData(b)
	if !e.lent[p] {
		e.s.t.Fatalf("a buffer was given back that was not lent, or twice")
	}
	delete(e.lent, p)
}

// write has an end send a body of n bytes, copied or with a part of a fragment.
func (e *simEnd) write(n int, frag bool) bool {
	if e.flow.free() == 0 {
		return false
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(e.s.rng.Uint32())
	}
	e.s.ends[1-e.me].want = append(e.s.ends[1-e.me].want, b...)
	p := e.flow.write(n)
	if frag && n > 1 {
		f := &btl.Frag{Sent: 1}
		e.frags[f] = 0
		p.buf = append(p.buf, b[0])
		p.data, p.n, p.frag = unsafe.Pointer(&b[1]), n-1, f
	} else {
		p.buf = append(p.buf, b...)
	}
	p.open = false
	return true
}

// tick lets time pass to the next event, and reports whether there is one.
func (s *simulation) tick() bool {
	next := int64(0)
	if len(s.air) > 0 {
		next = s.air[0].at
	}
	for _, e := range s.ends {
		if d := e.flow.deadline(); d != 0 && (next == 0 || d < next) {
			next = d
		}
	}
	if next == 0 {
		return false
	}
	s.now = max(s.now, next)
	for len(s.air) > 0 && s.air[0].at <= s.now {
		d := s.air[0]
		s.air = s.air[1:]
		e := s.ends[d.to]
		var p packet
		if e.silent || p.parse(d.b) != nil || !intact(simKey, d.b) {
			e.stats.BadSums++
			continue
		}
		if err := e.flow.input(&p, d.b[headSize:], s.now); err != nil {
			s.t.Fatalf("end %d: %v", d.to, err)
		}
	}
	for _, e := range s.ends {
		e.flow.step(s.now)
		e.check()
	}
	return true
}

// check holds the counts of a flow against the ring.
func (e *simEnd) check() {
	f := e.flow
	inflight, span, lost := 0, 0, 0
	for n := f.una; n < f.sent; n++ {
		o := f.outAt(n)
		span += costOf(o.size())
		switch o.state {
		case outFlying:
			inflight += o.size()
		case outLost:
			lost++
		case outQueued:
			e.s.t.Fatalf("packet %d was sent and is queued", n)
		}
	}
	held := 0
	for i := range f.in {
		if f.in[i].buf != nil {
			held++
		}
	}
	if f.una > f.sent || f.sent > f.next || f.next-f.una > uint64(len(f.out)) || inflight != f.inflight || span != f.span || lost != f.lost || held != f.held {
		e.s.t.Fatalf("end %d: una %d sent %d next %d, in flight %d is %d, span %d is %d, lost %d is %d, held %d is %d", e.me, f.una, f.sent, f.next, f.inflight, inflight, f.span,
			span, f.lost, lost, f.held, held)
	}
	if f.una < f.sent && f.ptoAt == 0 {
		e.s.t.Fatalf("end %d: packets are under way and nothing is waited for", e.me)
	}
}

// settle lets time pass until everything has come, and checks that nothing is left.
func (s *simulation) settle() {
	for i := 0; ; i++ {
		if i > 1_000_000 {
			s.t.Fatalf("it does not end: %+v", s.ends[0].flow)
		}
		if !s.tick() {
			break
		}
	}
	for _, e := range s.ends {
		if len(e.got) != len(e.want) || e.flow.una != e.flow.next || !e.flow.idle() {
			s.t.Fatalf("end %d got %d of %d bytes; una %d next %d", e.me, len(e.got), len(e.want), e.flow.una, e.flow.next)
		}
		for _, n := range e.frags {
			if n != 1 {
				s.t.Fatalf("a fragment was given back %d times", n)
			}
		}
		if len(e.lent) != 0 {
			s.t.Fatalf("%d buffers are not given back", len(e.lent))
		}
	}
}

// TestFlowModel sends over networks that lose, double, reorder, damage and delay: what comes is what was sent, in order, once.
func TestFlowModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := func(name string) float64 {
			return rapid.SampledFrom([]float64{0, 0, 0.01, 0.05, 0.3}).Draw(t, name)
		}
		f := faults{loss: share("loss"), dup: share("dup"), reorder: share("reorder"), corrupt: share("corrupt")}
		datagram := rapid.SampledFrom([]int{512, 1472, 9000}).Draw(t, "datagram")
		slots := rapid.SampledFrom([]int{16, 64, 256}).Draw(t, "slots")
		window := rapid.SampledFrom([]int{4096, 1 << 16, 1 << 20}).Draw(t, "window")
		s := newSimulation(t, rapid.Uint64().Draw(t, "seed"), f, datagram, slots, window)
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			e := s.ends[rapid.IntRange(0, 1).Draw(t, "end")]
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1:
				e.write(rapid.IntRange(1, datagram-headSize).Draw(t, "bytes"), rapid.Bool().Draw(t, "frag"))
				e.flow.step(s.now)
			case 2:
				for range 20 {
					e.write(rapid.IntRange(1, datagram-headSize).Draw(t, "bytes"), false)
				}
				e.flow.step(s.now)
			case 3:
				e.full = true
				s.tick()
				e.full = false
			case 4:
				e.flow.ping(s.now)
			default:
				s.tick()
			}
			e.check()
		}
		s.settle()
	})
}

// TestFlowEnd: an end in the middle gives everything back once.
func TestFlowEnd(t *testing.T) {
	s := newSimulation(t, 1, faults{loss: 0.3, reorder: 0.3}, 1472, 64, 1<<20)
	for _, e := range s.ends {
		for e.write(1000, true) {
		}
		e.flow.step(s.now)
	}
	for range 20 {
		s.tick()
	}
	for _, e := range s.ends {
		e.flow.end(func(f *btl.Frag) { e.frags[f]++ })
		for _, n := range e.frags {
			if n != 1 {
				t.Errorf("a fragment was given back %d times", n)
			}
		}
		if len(e.lent) != 0 || !e.flow.idle() {
			t.Errorf("%d buffers are not given back", len(e.lent))
		}
	}
}

// drop loses the first transmission of the data packets of end 0 with these numbers.
func drop(s *simulation, numbers ...uint64) {
	s.loss = func(from int, p *packet) bool {
		if from != 0 || p.kind != kindData {
			return false
		}
		if i := slices.Index(numbers, p.number); i >= 0 {
			numbers = slices.Delete(numbers, i, i+1)
			return true
		}
		return false
	}
}

// TestFlowRepairs: a loss among others is repaired by what comes of them, within a round trip and without a probe; one at the end by a probe.
func TestFlowRepairs(t *testing.T) {
	for _, c := range []struct {
		name           string
		lost           []uint64
		probes, resent uint64
		within         int64
	}{
		{"none", nil, 0, 0, 500},
		{"first", []uint64{0}, 0, 1, 500},
		{"middle", []uint64{4}, 0, 1, 500},
		{"several", []uint64{2, 3, 5}, 0, 3, 500},
		{"last", []uint64{9}, 1, 1, 60_000},
		{"the second time too", []uint64{2, 2}, 1, 2, 60_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSimulation(t, 1, faults{}, 1472, 64, 1<<20)
			drop(s, c.lost...)
			for range 10 {
				s.ends[0].write(1400, true)
			}
			s.ends[0].flow.step(s.now)
			for len(s.ends[1].got) < len(s.ends[1].want) && s.tick() {
			}
			took := s.now
			s.settle()
			if st := &s.ends[0].stats; st.Probes != c.probes || st.Retransmitted != c.resent || took > c.within {
				t.Errorf("%d probes, %d packets sent again, %d us; expected %d, %d, within %d\n%s", st.Probes, st.Retransmitted, took, c.probes, c.resent, c.within, s.log)
			}
		})
	}
}

// TestFlowUnderLoss: with 5 % lost in each direction it goes on sensibly, without waiting for probes all the time.
func TestFlowUnderLoss(t *testing.T) {
	s := newSimulation(t, 3, faults{loss: 0.05}, 1472, 256, 1<<20)
	const total = 5000
	sent := 0
	for i := 0; len(s.ends[1].got) < len(s.ends[1].want) || sent < total; i++ {
		for sent < total && s.ends[0].write(1400, false) {
			sent++
		}
		s.ends[0].flow.step(s.now)
		if !s.tick() || i > 1_000_000 {
			t.Fatal("it does not end")
		}
	}
	st := &s.ends[0].stats
	if st.Retransmitted > total/8 || st.Probes > total/100 {
		t.Errorf("of %d packets %d were sent again, %d of them because nothing came", total, st.Retransmitted, st.Probes)
	}
	// A round trip is 40 us; with windows of some 10 packets that are several hundred thousand us at most.
	if s.now > 1_000_000 {
		t.Errorf("it took %d us", s.now)
	}
	s.settle()
}

// TestFlowSilence: who is asked without an answer is known to be silent, and probes become rare.
func TestFlowSilence(t *testing.T) {
	s := newSimulation(t, 1, faults{}, 1472, 64, 1<<20)
	e := s.ends[0]
	s.ends[1].silent = true
	e.write(100, false)
	e.flow.step(s.now)
	for s.now < 5_000_000 && s.tick() {
	}
	if silence := e.flow.silence(s.now); silence < 4_000_000 {
		t.Errorf("silent for %d us of %d", silence, s.now)
	}
	if e.stats.Probes > 25 {
		t.Errorf("%d probes in 5 s", e.stats.Probes)
	}
	s.ends[1].silent = false
	s.settle()
	if e.flow.silence(s.now) != 0 {
		t.Error("it has answered, and counts as silent")
	}
}

// TestFlowViolations: a peer cannot acknowledge what was not sent, and what lies beyond the window is not kept.
func TestFlowViolations(t *testing.T) {
	s := newSimulation(t, 1, faults{}, 1472, 16, 1<<20)
	f := s.ends[0].flow
	if err := f.input(&packet{kind: kindAck, ack: 1}, nil, 1); err == nil {
		t.Error("an acknowledgement of what was never sent was taken")
	}
	if err := f.input(&packet{kind: kindData, number: 16}, []byte{1}, 1); err != nil || f.stats.Overrun != 1 || f.held != 0 {
		t.Errorf("a packet beyond what is held: %v, %d held", err, f.held)
	}
	if err := f.input(&packet{kind: kindData, number: 1 << 63}, []byte{1}, 1); err != nil || f.held != 0 {
		t.Errorf("a packet far beyond what is held: %v, %d held", err, f.held)
	}
	if err := f.input(&packet{kind: kindAck, sack: ^uint64(0)}, bytes.Repeat([]byte{255}, 64), 1); err != nil {
		t.Errorf("selective bits of what was never sent: %v", err)
	}
	s.ends[0].check()
}

package btltest

import (
	"errors"
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/progress"
)

// Run is the conformance suite: what every BTL must do, and what it must do if it offers inline messages, placing, or Get.
func Run(t *testing.T, cfg Config) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Config)
	}{
		{"Facts", testFacts},
		{"Sizes", testSizes},
		{"Inline", testInline},
		{"Packed", testPacked},
		{"Tags", testTags},
		{"Placer", testPlacer},
		{"BackPressure", testBackPressure},
		{"Flood", testFlood},
		{"Recursion", testRecursion},
		{"Get", testGet},
		{"Put", testPut},
		{"Atomics", testAtomics},
		{"Mapper", testMapper},
		{"Flush", testFlush},
		{"CloseInFlight", testCloseInFlight},
		{"Wake", testWake},
		{"Allocations", testAllocations},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, cfg) })
	}
}

// pair is a world with a sender and a receiver, which may be the same.
type pair struct {
	*World
	from, to *Rank
	ep       btl.Endpoint
	limits   btl.Limits
	comp     *Completions
	sent     int // fragments taken that will be completed
}

func newPair(t *testing.T, cfg Config) *pair {
	t.Helper()
	n := 2
	if cfg.Self {
		n = 1
	}
	p := &pair{World: NewWorld(t, cfg, n), comp: &Completions{}}
	p.from, p.to = p.Ranks[0], p.Ranks[n-1]
	p.ep, p.limits = p.from.Endpoints[n-1], p.from.Module.Limits()
	if p.ep == nil {
		t.Fatalf("rank %d cannot be reached: %v", n-1, p.from.Reasons[n-1])
	}
	return p
}

// send offers f until it is taken, with all ranks polling.
func (p *pair) send(t testing.TB, f *btl.Frag) {
	t.Helper()
	p.Until(t, "room to send", func() bool { return p.offer(t, f) })
}

// offer offers f once.
func (p *pair) offer(t testing.TB, f *btl.Frag) bool {
	t.Helper()
	p.from.Engine.Lock()
	defer p.from.Engine.Unlock()
	done, err := p.ep.Send(f)
	switch {
	case errors.Is(err, btl.ErrAgain):
		return false
	case err != nil:
		t.Fatalf("Send: %v", err)
	case !done:
		p.sent++
	}
	return true
}

// settle polls until the sink has n messages and every fragment is completed, and checks both.
func (p *pair) settle(t testing.TB, s *Sink, n int) {
	t.Helper()
	p.Until(t, fmt.Sprintf("%d messages, %d completions", n, p.sent), func() bool { return s.N >= n && p.comp.Done >= p.sent })
	s.Check(t, n)
	p.checkCompletions(t)
}

func (p *pair) checkCompletions(t testing.TB) {
	t.Helper()
	if p.comp.Done != p.sent || len(p.comp.Errs) > 0 {
		t.Errorf("%d of %d fragments completed, with errors %v", p.comp.Done, p.sent, p.comp.Errs)
	}
	for _, r := range p.Ranks {
		if f := r.Failures(); len(f) > 0 {
			t.Errorf("rank %d: endpoint failed: %+v", r.Job.Rank(), f)
		}
	}
}

const tag = btl.TagPML

func testFacts(t *testing.T, cfg Config) {
	p := newPair(t, cfg)
	l := p.limits
	if p.from.Module.Name() != cfg.Component.Name() {
		t.Errorf("the module is called %q, its component %q", p.from.Module.Name(), cfg.Component.Name())
	}
	if l.Eager < 2*btl.HeaderMax || l.MaxSend < 2*btl.HeaderMax || l.RndvEager < 0 || l.MinGet < 0 || l.Latency < 0 || l.Bandwidth <= 0 {
		t.Errorf("limits make no sense: %+v", l)
	}
	for _, r := range p.Ranks {
		for i, ep := range r.Endpoints {
			if (ep == nil) == (r.Reasons[i] == nil) {
				t.Errorf("rank %d to %d: endpoint %v, reason %v", r.Job.Rank(), i, ep, r.Reasons[i])
			}
		}
	}
	if _, ok := p.ep.(btl.Getter); ok {
		if _, ok := p.from.Module.(btl.Registrar); !ok {
			t.Log("Get without registration")
		}
	}
}

// sizes are payload sizes around every limit, header excluded.
func (p *pair) sizes(hdrLen int) []int {
	out := []int{0, 1, 7, 8, 63, 64, 65, 1000, 2047, 2048, 2049, 4095, 4096, 4097, 16384, 30720 - 100, 30720}
	for _, limit := range []int64{p.limits.Eager, p.limits.MaxSend, p.limits.RndvEager} {
		for _, d := range []int64{-1, 0, 1} {
			out = append(out, int(min(limit, p.limits.MaxSend)-int64(hdrLen)+d))
		}
	}
	keep := out[:0]
	for _, n := range out {
		if n >= 0 && int64(n+hdrLen) <= max(p.limits.Eager, p.limits.MaxSend) {
			keep = append(keep, n)
		}
	}
	return keep
}

func testSizes(t *testing.T, cfg Config) {
	p := newPair(t, cfg)
	s := NewSink(p.from.Job.Rank())
	p.to.Dispatch.Handlers[tag] = s
	id := 0
	for _, hdrLen := range []int{16, 33, btl.HeaderMax} {
		for _, n := range p.sizes(hdrLen) {
			p.send(t, NewFrag(p.comp, tag, uint64(id), hdrLen, n))
			id++
		}
	}
	p.settle(t, s, id)
}

func testInline(t *testing.T, cfg Config) {
	p := newPair(t, cfg)
	in, ok := p.ep.(btl.InlineSender)
	if !ok {
		t.Skip("no inline messages")
	}
	s := NewSink(p.from.Job.Rank())
	p.to.Dispatch.Handlers[tag] = s
	most := in.MaxInline()
	buf := make([]byte, most+1)
	id := 0
	for range 20 {
		for _, n := range []int{0, 1, 7, 8, 9, 31, 40, 41, 64, 100, most - 1, most} {
			if n < 0 || n > most {
				continue
			}
			pattern(buf[:n], uint64(id))
			p.Until(t, "room for an inline message", func() bool { return p.inline(t, in, uint64(id), buf[:n]) })
			clear(buf) // it must have been copied
			id++
		}
	}
	p.settle(t, s, id)
	p.from.Do(func() {
		if in.SendInline(tag, 0, 0, unsafe.Pointer(&buf[0]), most+1) {
			t.Error("a message longer than MaxInline was taken")
		}
	})
}

func (p *pair) inline(t testing.TB, in btl.InlineSender, id uint64, b []byte) bool {
	t.Helper()
	p.from.Engine.Lock()
	defer p.from.Engine.Unlock()
	return in.SendInline(tag, id, uint64(len(b)), unsafe.Pointer(unsafe.SliceData(b)), len(b))
}

func testPacked(t *testing.T, cfg Config) {
	p := newPair(t, cfg)
	s := NewSink(p.from.Job.Rank())
	p.to.Dispatch.Handlers[tag] = s
	id := 0
	for _, lead := range []int{0, 5, 24} {
		for _, n := range p.sizes(32) {
			f := NewPackedFrag(t, p.comp, tag, uint64(id), 32, n, lead)
			p.send(t, f)
			// The cursor is the sender's again: it may be anywhere while the fragment waits.
			p.from.Do(func() { f.Conv.SetPosition(0) })
			id++
		}
	}
	p.settle(t, s, id)
}

func testTags(t *testing.T, cfg Config) {
	p := newPair(t, cfg)
	sinks := map[btl.Tag]*Sink{}
	tags := []btl.Tag{0, 1, btl.TagPML, btl.TagPML + 31, 0x80, 255}
	for _, tag := range tags {
		sinks[tag] = NewSink(p.from.Job.Rank())
		p.to.Dispatch.Handlers[tag] = sinks[tag]
	}
	const each = 10
	for i := range each {
		for _, tag := range tags {
			p.send(t, NewFrag(p.comp, tag, uint64(i), 20, 10*i))
		}
	}
	for _, tag := range tags {
		p.settle(t, sinks[tag], each)
	}
}

func testPlacer(t *testing.T, cfg Config) {
	p := newPair(t, cfg)
	s := &PlacingSink{Sink: *NewSink(p.from.Job.Rank()), Min: 1}
	p.to.Dispatch.Handlers[tag] = s
	id := 0
	for round := range 3 {
		s.Min = []int{1, 5000, 1 << 30}[round]
		for _, n := range p.sizes(16) {
			p.send(t, NewFrag(p.comp, tag, uint64(id), 16, n))
			id++
		}
	}
	p.settle(t, &s.Sink, id)
	if s.Placing != 0 {
		t.Errorf("%d payloads were never reported to be in place", s.Placing)
	}
}

// connect sends a first message, so that what follows meets an open connection.
func (p *pair) connect(t testing.TB) {
	t.Helper()
	old := p.to.Dispatch.Handlers[tag]
	s := NewSink(-1)
	p.to.Dispatch.Handlers[tag] = s
	p.send(t, NewFrag(p.comp, tag, 0, 16, 0))
	p.settle(t, s, 1)
	p.to.Dispatch.Handlers[tag] = old
}

func testBackPressure(t *testing.T, cfg Config) {
	for _, n := range []int{8, 16 << 10} {
		p := newPair(t, cfg)
		p.connect(t)
		s := NewSink(p.from.Job.Rank())
		p.to.Dispatch.Handlers[tag] = s
		id, refused := 0, 0
		for limit := min(1_000_000, 256<<20/n); id < limit && refused < 100; {
			f := NewFrag(p.comp, tag, uint64(id), 16, n)
			if p.offer(t, f) {
				id++
			} else {
				refused++
			}
			if !cfg.Self {
				p.from.Poll()
			}
		}
		if refused == 0 {
			t.Errorf("%d messages of %d bytes were taken, though nobody received", id, n)
		}
		for range 100 { // and on, now that there is room
			p.send(t, NewFrag(p.comp, tag, uint64(id), 16, n))
			id++
		}
		p.settle(t, s, id)
	}
}

func testFlood(t *testing.T, cfg Config) {
	n := 3
	if cfg.Self {
		n = 1
	}
	w := NewWorld(t, cfg, n)
	const each = 400
	type stream struct {
		pair
		id   int
		next *btl.Frag
	}
	var streams []*stream
	sinks := make([]*Sink, 0, n*n)
	for _, to := range w.Ranks {
		h := &bySender{}
		for range n {
			s := NewSink(-1)
			sinks, h.sinks = append(sinks, s), append(h.sinks, s)
		}
		to.Dispatch.Handlers[tag] = h
	}
	for i, from := range w.Ranks {
		for j, ep := range from.Endpoints {
			if ep == nil {
				continue
			}
			sinks[j*n+i].From = i
			streams = append(streams, &stream{pair: pair{World: w, from: from, ep: ep, limits: from.Module.Limits(), comp: &Completions{}}})
		}
	}
	size := func(id int) int {
		return []int{0, 8, 100, 3000, 9000, 40000, int(w.Ranks[0].Module.Limits().MaxSend) - 64}[id*id%7]
	}
	w.Until(t, "all messages to be sent", func() bool {
		all := true
		for _, s := range streams {
			for range 3 {
				if s.id == each {
					break
				}
				if s.next == nil {
					s.next = NewFrag(s.comp, tag, uint64(s.id), 24, min(size(s.id), int(s.limits.MaxSend)-64))
				}
				if !s.offer(t, s.next) {
					break
				}
				s.next = nil
				s.id++
			}
			all = all && s.id == each
		}
		return all
	})
	for _, s := range streams {
		w.Until(t, "completions", func() bool { return s.comp.Done >= s.sent })
		s.checkCompletions(t)
	}
	for k, s := range sinks {
		if w.Ranks[k%n].Endpoints[k/n] != nil {
			w.Until(t, "all messages to arrive", func() bool { return s.N >= each })
			s.Check(t, each)
		}
	}
}

// bySender gives each sender a sink of its own.
type bySender struct{ sinks []*Sink }

func (h *bySender) Receive(peer int, hdr, payload []byte) { h.sinks[peer].Receive(peer, hdr, payload) }

// testRecursion answers from inside a handler, as protocols do.
func testRecursion(t *testing.T, cfg Config) {
	p := newPair(t, cfg)
	const rounds = 200
	e := &echo{p: p, t: t, rounds: rounds, comp: p.comp}
	for _, r := range p.Ranks {
		r.Dispatch.Handlers[tag] = &echoRank{e, r}
	}
	p.send(t, NewFrag(p.comp, tag, 0, 16, 100))
	p.Until(t, "the last answer", func() bool {
		e.flush()
		return e.n == rounds
	})
}

type echo struct {
	p         *pair
	t         *testing.T
	n, rounds int
	depth     int
	comp      *Completions
	held      []held
}

type held struct {
	r *Rank
	f *btl.Frag
}

type echoRank struct {
	e *echo
	r *Rank
}

func (h *echoRank) Receive(peer int, _, _ []byte) {
	e := h.e
	if e.depth++; e.depth > 1 {
		e.t.Error("a handler was entered while it was running")
	}
	if e.n++; e.n < e.rounds {
		f := NewFrag(e.comp, tag, uint64(e.n), 16, 100*(e.n%50))
		if _, err := h.r.Endpoints[peer].Send(f); err != nil {
			e.held = append(e.held, held{h.r, f})
			if !errors.Is(err, btl.ErrAgain) {
				e.t.Errorf("Send: %v", err)
			}
		}
	}
	e.depth--
}

func (e *echo) flush() {
	work := e.held
	e.held = nil
	for _, h := range work {
		h.r.Do(func() {
			peer := len(e.p.Ranks) - 1 - h.r.Job.Rank()
			if _, err := h.r.Endpoints[peer].Send(h.f); err != nil {
				e.held = append(e.held, h)
			}
		})
	}
}

func testFlush(t *testing.T, cfg Config) {
	p := newPair(t, cfg)
	s := NewSink(p.from.Job.Rank())
	p.to.Dispatch.Handlers[tag] = s
	const n = 200
	for i := range n {
		p.send(t, NewFrag(p.comp, tag, uint64(i), 16, i*50))
	}
	p.CloseRank(t, p.from.Job.Rank(), true)
	if cfg.Self {
		s.Check(t, n)
		p.checkCompletions(t)
		return
	}
	p.Until(t, "messages sent before Flush", func() bool { return s.N >= n })
	for range 1000 {
		p.Poll() // now the end of the connection is seen; it is no failure
	}
	s.Check(t, n)
	p.checkCompletions(t)
}

func testCloseInFlight(t *testing.T, cfg Config) {
	p := newPair(t, cfg)
	s := NewSink(p.from.Job.Rank())
	p.to.Dispatch.Handlers[tag] = s
	p.connect(t)
	n := int(p.limits.MaxSend) - 64
	refused := 0
	for i := 0; refused < 10 && i < 1000; i++ {
		if !p.offer(t, NewFrag(p.comp, tag, uint64(i), 16, n)) {
			refused++
		}
	}
	p.CloseRank(t, p.from.Job.Rank(), false)
	if p.comp.Done != p.sent {
		t.Errorf("after Close %d of %d fragments are given back", p.comp.Done, p.sent)
	}
	for _, err := range s.Errs {
		t.Error(err)
	}
}

func testWake(t *testing.T, cfg Config) {
	if cfg.Self {
		t.Skip("a rank cannot wake itself")
	}
	cfg.SleepAfter = time.Millisecond
	p := newPair(t, cfg)
	p.connect(t)
	h := &waker{e: p.to.Engine}
	p.to.Dispatch.Handlers[tag] = h
	for i := range 3 {
		h.c.Reset()
		base := p.to.sleeps()
		woken := make(chan struct{})
		go func() {
			p.to.Engine.Wait(&h.c)
			close(woken)
		}()
		for deadline := time.Now().Add(Patience); p.to.sleeps() == base; {
			if time.Now().After(deadline) {
				t.Fatal("the receiver's engine does not go to sleep")
			}
			p.from.Poll()
			time.Sleep(time.Millisecond)
		}
		f := NewFrag(p.comp, tag, uint64(i), 16, 8)
		for !p.offer(t, f) {
			p.from.Poll()
		}
		deadline := time.After(Patience)
		for waiting := true; waiting; {
			select {
			case <-woken:
				waiting = false
			case <-deadline:
				t.Fatal("the message did not wake the receiver")
			case <-time.After(time.Millisecond):
				p.from.Poll()
			}
		}
	}
}

func (r *Rank) sleeps() uint64 {
	r.Engine.Lock()
	defer r.Engine.Unlock()
	return r.Engine.Stats().Sleeps
}

type waker struct {
	e *progress.Engine
	c progress.Completion
}

func (w *waker) Receive(int, []byte, []byte) { w.e.Complete(&w.c) }

// counter is a handler that costs nothing.
type counter struct{ n int }

func (c *counter) Receive(int, []byte, []byte)   { c.n++ }
func (c *counter) FragDone(_ *btl.Frag, _ error) { c.n++ }

func testAllocations(t *testing.T, cfg Config) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	p := newPair(t, cfg)
	p.connect(t)
	h := &counter{}
	p.to.Dispatch.Handlers[tag] = h
	big := min(int(p.limits.MaxSend)-64, 100<<10)
	for _, f := range []*btl.Frag{NewFrag(h, tag, 1, 16, 8), NewFrag(h, tag, 2, 64, big), NewPackedFrag(t, h, tag, 3, 16, 1000, 3)} {
		once := func() {
			want := h.n + 1
			if f.Conv != nil {
				f.Conv.SetPosition(3)
			}
			for {
				p.from.Engine.Lock()
				done, err := p.ep.Send(f)
				p.from.Engine.Unlock()
				if err == nil {
					if !done {
						want++
					}
					break
				}
				p.Poll()
			}
			for h.n < want {
				p.Poll()
			}
		}
		once()
		if a := testing.AllocsPerRun(50, once); a != 0 {
			t.Errorf("Send of %d bytes: %v allocations a message", f.Len, a)
		}
	}
	in, ok := p.ep.(btl.InlineSender)
	if !ok {
		return
	}
	data := make([]byte, 8)
	if a := testing.AllocsPerRun(50, func() {
		want := h.n + 1
		for !p.inline(t, in, 1, data) {
			p.Poll()
		}
		for h.n < want {
			p.Poll()
		}
	}); a != 0 {
		t.Errorf("SendInline: %v allocations a message", a)
	}
}

package portals4

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/portals4"
)

func limitsOf(longest uint64) portals4.Limits { return portals4.Limits{MaxMsgSize: longest} }

// flooder is a sender of the flood.
type flooder struct {
	*btltest.Rank
	comp *btltest.Completions
	next *btl.Frag
	id   int
	sent int // fragments that will be completed
}

// push sends what can be sent.
func (f *flooder) push(t *testing.T, most int) (taken int) {
	t.Helper()
	f.Do(func() {
		for f.id < most {
			if f.next == nil {
				f.next = btltest.NewFrag(f.comp, tag, uint64(f.id), 16+f.id%40, []int{8, 300, 5000, 40000}[f.id%4])
			}
			done, err := f.Endpoints[0].Send(f.next)
			if errors.Is(err, btl.ErrAgain) {
				return
			}
			if err != nil {
				t.Fatalf("Send: %v", err)
			}
			if !done {
				f.sent++
			}
			f.next = nil
			f.id++
			taken++
		}
	})
	return taken
}

type bySender struct{ sinks []*btltest.Sink }

func (h *bySender) Receive(peer int, hdr, payload []byte) { h.sinks[peer].Receive(peer, hdr, payload) }

// TestFlood: eight senders, and a receiver that does not look for long. Its memory stays what it promised, nothing is lost and nothing
// comes twice.
func TestFlood(t *testing.T) {
	const senders, each = 8, 300
	for _, nal := range []string{"local", "tcp"} {
		t.Run(nal, func(t *testing.T) {
			w := btltest.NewWorld(t, config(nal, map[string]string{"btl_portals4_recv_memory": "1m"}), senders+1)
			h := &bySender{}
			for i := range w.Ranks {
				h.sinks = append(h.sinks, btltest.NewSink(i))
			}
			w.Ranks[0].Dispatch.Handlers[tag] = h
			var all []*flooder
			for _, r := range w.Ranks[1:] {
				all = append(all, &flooder{Rank: r, comp: &btltest.Completions{}})
			}
			// Everybody gets credit, and then the receiver looks away.
			for _, f := range all {
				w.Until(t, "the first message", func() bool { return f.push(t, 1) > 0 || f.id == 1 })
			}
			for idle := 0; idle < 1000; idle++ {
				for _, f := range all {
					if f.push(t, each)+f.Poll() > 0 {
						idle = 0
					}
				}
			}
			m := w.Ranks[0].Module.(*module)
			if n := int64(len(m.recv.linked)+len(m.recv.idle)) * m.opt.RecvSize; n > 2*m.promised+int64(m.opt.RecvNum+2)*m.opt.RecvSize || m.promised > 2<<20 {
				t.Errorf("%d bytes of blocks, %d promised", n, m.promised)
			}
			for _, f := range all {
				if f.id == each {
					t.Errorf("rank %d sent all %d messages, though nobody received", f.Job.Rank(), each)
				}
			}
			w.Until(t, "all messages", func() bool {
				over := true
				for i, f := range all {
					f.push(t, each)
					over = over && h.sinks[i+1].N >= each && f.comp.Done >= f.sent
				}
				return over
			})
			for i, f := range all {
				h.sinks[i+1].Check(t, each)
				if f.comp.Done != f.sent || len(f.comp.Errs) > 0 {
					t.Errorf("rank %d: %d of %d completed, %v", i+1, f.comp.Done, f.sent, f.comp.Errs)
				}
			}
			for _, r := range w.Ranks {
				if f := r.Failures(); len(f) > 0 {
					t.Errorf("rank %d: %+v", r.Job.Rank(), f)
				}
			}
			if n := int64(len(m.recv.linked)+len(m.recv.idle)) * m.opt.RecvSize; n > 2*m.promised+2*int64(m.opt.RecvNum+2)*m.opt.RecvSize {
				t.Errorf("after it %d bytes of blocks, %d promised", n, m.promised)
			}
		})
	}
}

// duo is two ranks: the second is ours to misuse, the first is looked at.
type duo struct {
	*btltest.World
	from *link
	got  []string
	md   *portals4.MDHandle
}

func (d *duo) Receive(_ int, _, payload []byte) { d.got = append(d.got, string(payload)) }

func newDuo(t *testing.T, params map[string]string) *duo {
	t.Helper()
	d := &duo{World: btltest.NewWorld(t, config("local", params), 2)}
	m := d.Ranks[1].Module.(*module)
	d.from = m.link(0)
	d.Ranks[0].Dispatch.Handlers[tag] = d
	d.Ranks[1].Do(func() {
		var err error
		if d.md, err = m.ni.MDBind(&portals4.MD{Anywhere: true, Options: portals4.MDEventSendDisable}); err != nil {
			t.Fatal(err)
		}
	})
	return d
}

type raw struct {
	w    words
	body int
}

// TestHostile: what no peer of ours would send fails the peer, and harms nobody.
func TestHostile(t *testing.T) {
	ask, plain := raw{w: words{meta: kindAsk << 60, match: cardVersion}}, metaWord(kindPlain, tag, 16)
	h := btl.Tag(0x99)
	for name, msgs := range map[string][]raw{
		"without credit":        {{words{meta: plain}, 8}},
		"ASK twice":             {ask, ask},
		"ASK with bytes":        {{ask.w, 1}},
		"ASK of a version":      {{words{meta: kindAsk << 60, match: 77}, 0}},
		"CREDIT unasked":        {{words{kindCredit << 60, 1000, 10}, 0}},
		"no kind":               {ask, {words{}, 0}},
		"unknown kind":          {ask, {words{meta: 15 << 60}, 0}},
		"no handler":            {ask, {words{meta: metaWord(kindPlain, h, 16)}, 0}},
		"header too long":       {ask, {words{meta: metaWord(kindPlain, tag, 65)}, 100}},
		"header cut off":        {ask, {words{meta: metaWord(kindPlain, tag, 64)}, 47}},
		"narrow WIDE":           {ask, {words{meta: metaWord(kindWide, tag, 16)}, 0}},
		"wide WIDE":             {ask, {words{meta: metaWord(kindWide, tag, 25)}, 9}},
		"bits that are zero":    {ask, {words{meta: plain | 1<<57}, 0}},
		"bits of WIDE":          {ask, {words{meta: plain | 1}, 0}},
		"a very long message":   {ask, {words{meta: plain}, 1 << 20}},
		"longer than the least": {ask, {words{meta: plain}, 256<<10 + 1}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			d := newDuo(t, nil)
			d.Ranks[1].Do(func() {
				for _, r := range msgs {
					if err := d.from.put(d.md, r.w, make([]byte, r.body), nil); err != nil {
						t.Fatal(err)
					}
				}
				d.from.asked = name != "ASK twice" && name != "CREDIT unasked"
			})
			d.Until(t, name, func() bool { return len(d.Ranks[0].Failures()) == 1 })
			if f := d.Ranks[0].Failures()[0]; f.Rank != 1 || !f.Dead || !strings.Contains(f.Cause.Error(), "no sense") {
				t.Errorf("%+v", f)
			}
			if len(d.got) != 0 {
				t.Errorf("delivered %d messages", len(d.got))
			}
			d.Ranks[0].Do(func() {
				if _, err := d.Ranks[0].Endpoints[1].Send(btltest.NewFrag(nil, tag, 0, 16, 0)); err == nil || errors.Is(err, btl.ErrAgain) {
					t.Errorf("a later Send: %v", err)
				}
			})
		})
	}
}

// TestTooMuchCredit: a receiver that promises the world is not believed.
func TestTooMuchCredit(t *testing.T) {
	for _, w := range []words{{kindCredit << 60, 1 << 41, 1}, {kindCredit << 60, 1, 1 << 41}, {kindCredit<<60 | 1, 1, 1}} {
		d := newDuo(t, nil)
		d.Ranks[0].Do(func() { d.Ranks[0].Module.(*module).link(1).asked = true })
		d.Ranks[1].Do(func() {
			if err := d.from.put(d.md, w, nil, nil); err != nil {
				t.Fatal(err)
			}
		})
		d.Until(t, fmt.Sprint(w), func() bool { return len(d.Ranks[0].Failures()) == 1 })
	}
}

// TestFailureGivesBack: what a failure interrupts is given back, once, and nothing is taken after that.
func TestFailureGivesBack(t *testing.T) {
	d := newDuo(t, map[string]string{"btl_portals4_copy_limit": "0"})
	d.connect(t)
	mem, dst := make([]byte, 30000), make([]byte, 30000)
	var h btl.MemHandle
	d.Ranks[0].Do(func() { h, _ = d.Ranks[0].Module.(btl.Registrar).Register(unsafe.Pointer(&mem[0]), int64(len(mem))) })
	comp, ends := &btltest.Completions{}, &ended{}
	taken := 0
	d.Ranks[1].Do(func() {
		ep := d.Ranks[1].Endpoints[0]
		done, err := ep.Send(btltest.NewFrag(comp, tag, 1, 16, 30000))
		if err != nil {
			t.Fatal(err)
		}
		if !done {
			taken++
		}
		if _, err := ep.(btl.Getter).Get(&btl.Transfer{Owner: ends, Local: unsafe.Pointer(&dst[0]), N: 30000, Remote: h}); err != nil {
			t.Fatal(err)
		}
		if _, err := ep.(btl.Atomics).FetchOp(&btl.Transfer{Owner: ends, Local: unsafe.Pointer(&dst[0]), N: 8, Remote: h}, btl.AtomicAdd, 1); err != nil {
			t.Fatal(err)
		}
		d.from.fail(errors.New("it is gone"))
		d.from.fail(errors.New("again"))
	})
	for range 200 {
		d.Poll()
	}
	if comp.Done != taken || len(comp.Errs) != taken || len(ends.errs) != 2 || ends.errs[0] == nil || ends.errs[1] == nil || len(d.Ranks[1].Failures()) != 1 {
		t.Errorf("completions %d of %d %v, transfers %v, failures %v", comp.Done, taken, comp.Errs, ends.errs, d.Ranks[1].Failures())
	}
	m := d.Ranks[1].Module.(*module)
	if m.slots.used != 0 || m.pending.used != 0 {
		t.Errorf("%d slots and %d operations are in use", m.slots.used, m.pending.used)
	}
}

type ended struct{ errs []error }

// TransferDone implements btl.Transferrer.
func (e *ended) TransferDone(_ *btl.Transfer, err error) { e.errs = append(e.errs, err) }

// connect gets rank 1 credit.
func (d *duo) connect(t *testing.T) {
	t.Helper()
	d.Until(t, "credit", func() bool {
		d.Ranks[1].Engine.Lock()
		defer d.Ranks[1].Engine.Unlock()
		return d.from.mayTake(1)
	})
}

// TestDeregisterInFlight: memory whose registration ends while peers read it stays what it was to those, and is nobody's after.
func TestDeregisterInFlight(t *testing.T) {
	d := newDuo(t, nil)
	reg := d.Ranks[0].Module.(btl.Registrar)
	get := d.Ranks[1].Endpoints[0].(btl.Getter)
	for range 20 {
		mem := bytes.Repeat([]byte{7}, 2<<20)
		dst := make([]byte, len(mem))
		var h btl.MemHandle
		d.Ranks[0].Do(func() { h, _ = reg.Register(unsafe.Pointer(&mem[0]), int64(len(mem))) })
		ends := &ended{}
		x := &btl.Transfer{Owner: ends, Local: unsafe.Pointer(&dst[0]), N: int64(len(dst)), Remote: h}
		d.Ranks[1].Do(func() {
			if _, err := get.Get(x); err != nil {
				t.Fatal(err)
			}
		})
		d.Ranks[0].Poll()
		d.Ranks[0].Do(func() { reg.Deregister(h) })
		d.Until(t, "the end of the transfer", func() bool { return len(ends.errs) == 1 })
		if ends.errs[0] == nil && !bytes.Equal(dst, mem) {
			t.Fatal("wrong bytes")
		}
	}
	m := d.Ranks[0].Module.(*module)
	d.Until(t, "registrations to end", func() bool { return len(m.memory.dying) == 0 })
}

// TestFlowControl: when flow control strikes, or events are lost, those who have credit count as failed: what they sent may be gone.
func TestFlowControl(t *testing.T) {
	d := newDuo(t, nil)
	d.connect(t)
	m := d.Ranks[0].Module.(*module)
	d.Ranks[0].Do(func() { m.handle(&portals4.Event{Type: portals4.EventPTDisabled, PT: m.amIndex}) })
	if f := d.Ranks[0].Failures(); len(f) != 1 || f[0].Rank != 1 || !f[0].Dead || !strings.Contains(f[0].Cause.Error(), "flow control") {
		t.Errorf("failures %+v", f)
	}
}

// TestUnreachable: what the interface reports ends what is under way, in the next pass, and the slots are free again.
func TestUnreachable(t *testing.T) {
	d := newDuo(t, map[string]string{"btl_portals4_copy_limit": "0"})
	d.connect(t)
	mem := make([]byte, 100)
	comp, ends := &btltest.Completions{}, &ended{}
	m := d.Ranks[1].Module.(*module)
	sent := 0
	d.Ranks[1].Do(func() {
		done, err := d.Ranks[1].Endpoints[0].Send(btltest.NewFrag(comp, tag, 1, 16, 20000))
		if err != nil {
			t.Fatal(err)
		}
		if !done {
			sent++
		}
		if _, err := d.Ranks[1].Endpoints[0].(btl.Getter).Get(&btl.Transfer{Owner: ends, Local: unsafe.Pointer(&mem[0]), N: 100, Remote: btl.MemHandle{A: 1, B: 100}}); err != nil {
			t.Fatal(err)
		}
		m.iface.ProcFailed(d.Ranks[1].Env.Procs[0])
	})
	for range 100 {
		d.Ranks[1].Poll()
	}
	if comp.Done != sent || len(ends.errs) != 1 || ends.errs[0] == nil || m.slots.used != 0 || m.pending.used != 0 {
		t.Errorf("%d of %d fragments, transfers %v, %d slots and %d operations in use", comp.Done, sent, ends.errs, m.slots.used, m.pending.used)
	}
	if f := d.Ranks[1].Failures(); len(f) != 1 || f[0].Rank != 0 || !f[0].Dead {
		t.Errorf("failures %+v", f)
	}
	if err := m.reaches(d.Ranks[1].Env.Procs[0]); err == nil {
		t.Error("it is still reached")
	}
}

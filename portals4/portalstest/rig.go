package portalstest

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/portals4"
)

// patience is how long a case waits: only one that fails waits so long.
const patience = 20 * time.Second

// reporter is what a case says its results to: a *testing.T, or a process of its own (Rank).
type reporter interface {
	Helper()
	Log(args ...any)
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Skip(args ...any)
	Skipf(format string, args ...any)
	Cleanup(f func())
}

// rig is what a case has: a network interface a rank, made for it alone.
type rig struct {
	reporter
	flavour
	ifs []*portals4.Interface
	nis []*portals4.NI
	// src makes the requests that dst is the target of. They are one in a world of one.
	src, dst int
	idle     []*portals4.EQ // one a rank; getting from them moves that rank on
	barrier  *barrier
}

func newRig(t *testing.T, ifs []*portals4.Interface, f flavour) *rig {
	t.Helper()
	r := &rig{reporter: t, flavour: f, ifs: ifs}
	if len(ifs) > 1 {
		r.dst = 1
	}
	r.open(nil)
	t.Cleanup(func() { r.close() })
	return r
}

func (r *rig) open(limits *portals4.Limits) {
	r.Helper()
	for _, i := range r.ifs {
		ni, err := i.NI(r.options(), portals4.AnyPID, limits)
		r.must(err)
		r.nis = append(r.nis, ni)
		if r.logical {
			r.must(ni.SetJobMap())
		}
	}
}

func (r *rig) close() {
	for _, ni := range r.nis {
		if err := ni.Close(); err != nil {
			r.Errorf("closing the network interface: %v", err)
		}
	}
	r.nis, r.idle, r.barrier = nil, nil, nil
}

// reopen ends the rig's network interfaces and makes them anew with those limits.
func (r *rig) reopen(limits portals4.Limits) {
	r.Helper()
	r.close()
	r.open(&limits)
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// code wants an error of that return code, which says what was called.
func (r *rig) code(err error, want portals4.Code) {
	r.Helper()
	var e *portals4.Error
	switch {
	case err == nil:
		r.Fatalf("no error, want %v", want)
	case !errors.Is(err, want):
		r.Fatalf("error %q, want %v", err, want)
	case !errors.As(err, &e) || e.Op == "" || e.Why == "":
		r.Fatalf("error %#v does not say what was called and why", err)
	}
}

func check[T comparable](r *rig, what string, got, want T) {
	r.Helper()
	if got != want {
		r.Fatalf("%s is %v, want %v", what, got, want)
	}
}

// same compares memory, some of which engines write.
func (r *rig) same(what string, got, want []byte) {
	r.Helper()
	r.bytes(what, got, want)
	r.move()
}

func (r *rig) bytes(what string, got, want []byte) {
	r.Helper()
	if !bytes.Equal(got, want) {
		r.Fatalf("%s: %d bytes %.40x, want %d bytes %.40x", what, len(got), got, len(want), want)
	}
}

// pattern gives n bytes that tell where they are from.
func pattern(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = seed + byte(i) + byte(i>>8)*3
	}
	return b
}

// Objects of a rank. They go with its network interface.

func (r *rig) newEQ(rank, count int) *portals4.EQ {
	r.Helper()
	q, err := r.nis[rank].EQAlloc(count)
	r.must(err)
	return q
}

func (r *rig) newCT(rank int) *portals4.CT {
	r.Helper()
	c, err := r.nis[rank].CTAlloc()
	r.must(err)
	return c
}

func (r *rig) newPT(rank int, o portals4.PTOptions, q *portals4.EQ) *portals4.PT {
	r.Helper()
	pt, err := r.nis[rank].PTAlloc(o, q, portals4.AnyPT)
	r.must(err)
	return pt
}

func (r *rig) bind(rank int, d portals4.MD) *portals4.MDHandle {
	r.Helper()
	md, err := r.nis[rank].MDBind(&d)
	r.must(err)
	return md
}

// entry fills in what most entries have: every user and process, any bits.
func entry(start []byte, o portals4.EntryOptions) portals4.ME {
	return portals4.ME{Start: start, Options: o, UID: portals4.AnyUID, MatchID: portals4.AnyProcess, IgnoreBits: ^uint64(0)}
}

// exact is an entry for those match bits alone; on a non-matching interface it is one like others.
func exact(start []byte, o portals4.EntryOptions, bits uint64) portals4.ME {
	e := entry(start, o)
	e.MatchBits, e.IgnoreBits = bits, 0
	return e
}

func listEntry(e portals4.ME) portals4.LE {
	const matchOnly = portals4.MEManageLocal | portals4.MENoTruncate | portals4.MEMayAlign
	return portals4.LE{Start: e.Start, Iovec: e.Iovec, CT: e.CT, UID: e.UID, Options: e.Options &^ matchOnly}
}

// appendErr links an entry of the rig's kind.
func (r *rig) appendErr(pt *portals4.PT, e portals4.ME, l portals4.List, user any) (portals4.Entry, error) {
	if r.matching {
		return pt.MEAppend(&e, l, user)
	}
	le := listEntry(e)
	return pt.LEAppend(&le, l, user)
}

func (r *rig) link(pt *portals4.PT, e portals4.ME, user any) portals4.Entry {
	r.Helper()
	h, err := r.appendErr(pt, e, portals4.PriorityList, user)
	r.must(err)
	return h
}

func (r *rig) linkOverflow(pt *portals4.PT, e portals4.ME, user any) portals4.Entry {
	r.Helper()
	h, err := r.appendErr(pt, e, portals4.OverflowList, user)
	r.must(err)
	return h
}

func (r *rig) searchErr(pt *portals4.PT, e portals4.ME, op portals4.SearchOp, user any) error {
	if r.matching {
		return pt.MESearch(&e, op, user)
	}
	le := listEntry(e)
	return pt.LESearch(&le, op, user)
}

// to is the process of a rank as src names it.
func (r *rig) to(rank int) portals4.Process { return r.nis[r.src].ProcessOf(rank) }

// xfer is a transfer of n bytes from the beginning of a memory descriptor to dst's portal table entry.
func (r *rig) xfer(pt *portals4.PT, n int) *portals4.Transfer {
	return &portals4.Transfer{Length: uint64(n), Target: r.to(r.dst), PT: pt.Index(), MatchBits: 0x77, HdrData: 0xfeed, UserPtr: "request"}
}

// Waiting. All ranks are moved on by it, so that it does not matter which of them has work to do.

// move makes a pass of every engine. What the case has done to memory before, it does before what engines do after: the race detector knows
// nothing of requests that travel by sockets.
func (r *rig) move() {
	if r.idle == nil {
		for rank, ni := range r.nis {
			if ni != nil { // of a rank in this process
				r.idle = append(r.idle, r.newEQ(rank, 1))
			}
		}
	}
	var ev portals4.Event
	for _, q := range r.idle {
		if err := q.Get(&ev); !errors.Is(err, portals4.ErrEQEmpty) {
			r.Fatalf("a queue that nothing uses: %v %v", err, &ev)
		}
	}
}

// until moves all ranks on until done, and once more: what other ranks' engines wrote before is then seen to have happened before what the case does next.
func (r *rig) until(what string, done func() bool) {
	r.Helper()
	for deadline := time.Now().Add(patience); ; {
		over := done()
		r.move()
		if over {
			return
		}
		if time.Now().After(deadline) {
			r.Fatalf("waited %v for %s", patience, what)
		}
	}
}

// next is the queue's next event.
func (r *rig) next(q *portals4.EQ) (ev portals4.Event) {
	r.Helper()
	r.until("an event", func() bool {
		err := q.Get(&ev)
		if err != nil && !errors.Is(err, portals4.ErrEQEmpty) {
			r.Fatal(err)
		}
		return err == nil
	})
	return ev
}

// want is next, of that type and successful.
func (r *rig) want(q *portals4.EQ, k portals4.Kind) portals4.Event {
	r.Helper()
	return r.wantFail(q, k, portals4.OK)
}

func (r *rig) wantFail(q *portals4.EQ, k portals4.Kind, f portals4.FailType) portals4.Event {
	r.Helper()
	ev := r.next(q)
	if ev.Type != k || ev.NIFail != f {
		r.Fatalf("event %v, want %v %v", &ev, k, f)
	}
	return ev
}

// none wants no event in the queue once everything under way is through.
func (r *rig) none(q *portals4.EQ) {
	r.Helper()
	r.settle()
	var ev portals4.Event
	if err := q.Get(&ev); !errors.Is(err, portals4.ErrEQEmpty) {
		r.Fatalf("event %v (%v), want none", &ev, err)
	}
}

// reach waits for a count and wants exactly that value.
func (r *rig) reach(c *portals4.CT, success, failure uint64) {
	r.Helper()
	var v portals4.CTEvent
	r.until("a count", func() bool {
		var err error
		v, err = c.Get()
		r.must(err)
		return v.Success+v.Failure >= success+failure
	})
	if want := (portals4.CTEvent{Success: success, Failure: failure}); v != want {
		r.Fatalf("count is %+v, want %+v", v, want)
	}
}

// stays wants that value once everything under way is through.
func (r *rig) stays(c *portals4.CT, success, failure uint64) {
	r.Helper()
	r.settle()
	v, err := c.Get()
	r.must(err)
	if want := (portals4.CTEvent{Success: success, Failure: failure}); v != want {
		r.Fatalf("count is %+v, want %+v", v, want)
	}
}

func (r *rig) status(rank int, reg portals4.StatusRegister) uint64 {
	r.Helper()
	v, err := r.nis[rank].Status(reg)
	r.must(err)
	return v
}

// barrier is an empty put from every rank to every rank: requests keep their order, so all before it were processed once it is acknowledged.
type barrier struct {
	pts  []*portals4.PT
	mds  []*portals4.MDHandle
	cts  []*portals4.CT
	sent uint64
}

// settle waits until all requests made so far are through.
func (r *rig) settle() {
	r.Helper()
	if r.barrier == nil {
		b := new(barrier)
		for rank := range r.nis {
			pt, ct := r.newPT(rank, 0, nil), r.newCT(rank)
			r.link(pt, entry(nil, portals4.OpPut), nil)
			b.pts, b.cts = append(b.pts, pt), append(b.cts, ct)
			b.mds = append(b.mds, r.bind(rank, portals4.MD{CT: ct, Options: portals4.MDEventCTAck}))
		}
		r.barrier = b
	}
	b := r.barrier
	b.sent += uint64(len(r.nis))
	for from := range r.nis {
		for to := range r.nis {
			r.must(b.mds[from].Put(&portals4.Transfer{Target: r.nis[from].ProcessOf(to), PT: b.pts[to].Index(), Ack: portals4.CTAck}))
		}
	}
	for _, c := range b.cts {
		r.reach(c, b.sent, 0)
	}
}

// all takes as many events as there are kinds, in whatever order they come, and gives them in the order of the kinds. They were successful.
func (r *rig) all(q *portals4.EQ, kinds ...portals4.Kind) []portals4.Event {
	r.Helper()
	return r.allFail(q, portals4.OK, kinds...)
}

func (r *rig) allFail(q *portals4.EQ, f portals4.FailType, kinds ...portals4.Kind) []portals4.Event {
	r.Helper()
	got := make([]portals4.Event, len(kinds))
	for range kinds {
		ev := r.next(q)
		found := false
		for k, kind := range kinds {
			if kind == ev.Type && got[k].Type == 0 {
				got[k], found = ev, true
				break
			}
		}
		wants := f
		if ev.Type == portals4.EventSend {
			wants = portals4.OK // it says that the request went, not what became of it
		}
		if !found || ev.NIFail != wants {
			r.Fatalf("event %v, want one of %v with %v", &ev, kinds, f)
		}
	}
	return got
}

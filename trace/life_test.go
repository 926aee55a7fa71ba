package trace_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/trace"
	"github.com/ompi-go/ompi-go/trace/tracetest"
)

func file(t *testing.T, tracks ...[]byte) *tracetest.File {
	t.Helper()
	b := []byte(trace.Begin)
	for i, x := range tracks {
		if i > 0 {
			b = append(b, trace.Separator...)
		}
		b = append(b, x...)
	}
	f, err := tracetest.Parse(append(b, trace.End...))
	if err != nil {
		t.Fatalf("%v in\n%s", err, b)
	}
	return f
}

// life records a life with one stage that lasts a microsecond.
func life(r *trace.Ring, at int64, name string, flow uint64, in bool) uint64 {
	peer := int32(1)
	if in {
		peer = 0
	}
	l := trace.Life{At: at, Cat: "pml", Name: name, Detail: "eager", Bytes: 8, Peer: peer, Tag: 5, Flow: flow, In: in}
	l.Stage(at, "posted")
	n := r.Begin(&l)
	if x := r.Edit(n); x != nil {
		x.End = at + 1000
		r.Done()
	}
	return n
}

// TestLives: lives with stages, points, transfers that overlap, and arrows between two ranks, many in the same instant.
func TestLives(t *testing.T) {
	a, b := trace.New(100), trace.New(100)
	now := trace.Now()
	for i := range 5 {
		life(a, now, "send", uint64(i+1), false)
		life(b, now, "receive", uint64(i+1), true)
	}
	n := life(a, now+10, "send", 0, false)
	a.Point(trace.Event{At: now + 500, Cat: "pml", Name: "fragment", Bytes: 3, Of: n})
	x := a.BeginEvent(trace.Event{At: now + 20, Cat: "pml.transfer", Name: "get", Of: n})
	y := a.BeginEvent(trace.Event{At: now + 30, Cat: "pml.transfer", Name: "register", Of: n})
	a.EndEvent(x, now+40)
	a.EndEvent(y, now+50)
	f := file(t, a.Append(nil, 0), b.Append(nil, 1))
	if len(f.Messages) != 11 || len(f.Arrows) != 5 {
		t.Fatalf("%d messages, %d arrows", len(f.Messages), len(f.Arrows))
	}
	for _, m := range f.Messages {
		if m.Protocol != "eager" || m.Peer != 1-m.Rank || m.Tag != 5 || m.Bytes != 8 || m.End-m.Begin != 1000 || !slices.Equal(m.Stages, []string{"posted"}) {
			t.Errorf("%+v", m)
		}
	}
	if last := f.Messages[5]; !slices.Equal(last.Points, []string{"fragment"}) {
		t.Errorf("%+v", last)
	}
}

// TestUnfinished: what goes on when the track is written is cut off there, and has no end of an arrow.
func TestUnfinished(t *testing.T) {
	r := trace.New(4)
	r.Begin(&trace.Life{At: r.Now(), Cat: "pml", Name: "receive", Flow: 7, In: true})
	r.BeginEvent(trace.Event{At: r.Now(), Cat: "pml", Name: "unexpected"})
	f := file(t, r.Append(nil, 0))
	if len(f.Messages) != 1 || !f.Messages[0].Unfinished || len(f.Arrows) != 0 {
		t.Errorf("%+v", f)
	}
}

// TestLivesThatAreLost: changes and points of lives that newer ones have displaced go nowhere.
func TestLivesThatAreLost(t *testing.T) {
	r := trace.New(2)
	first := life(r, r.Now(), "send", 0, false)
	mark := r.BeginEvent(trace.Event{At: r.Now(), Cat: "x", Name: "lost"})
	r.Point(trace.Event{At: r.Now(), Cat: "pml", Name: "fragment", Of: first})
	for range 2 {
		life(r, r.Now(), "send", 0, false)
		r.Span(r.Start(), "coll", "bcast", "", 0)
	}
	r.Point(trace.Event{At: r.Now(), Cat: "pml", Name: "fragment", Of: first})
	if r.Edit(first) != nil || r.Edit(0) != nil {
		t.Error("a life that is lost can be edited")
	}
	r.EndEvent(mark, r.Now())
	r.EndEvent(0, r.Now())
	if list, lost := r.Lives(); lost != 1 || len(list) != 2 {
		t.Errorf("%d lives lost, %d left", lost, len(list))
	}
	if f := file(t, r.Append(nil, 0)); len(f.Messages) != 2 {
		t.Errorf("%+v", f.Messages)
	}
}

func TestClock(t *testing.T) {
	wide, narrow := trace.Sample{Before: 0, There: 1000, After: 100}, trace.Sample{Before: 200, There: 1205, After: 210}
	for name, c := range map[string]struct {
		same    bool
		samples []trace.Sample
		want    trace.Clock
	}{
		"the narrowest counts":    {false, []trace.Sample{wide, narrow, wide}, trace.Clock{Known: true, Measured: 1000, Error: 5, Offset: 1000}},
		"elsewhere, within error": {false, []trace.Sample{{Before: 0, There: 53, After: 100}}, trace.Clock{Known: true, Measured: 3, Error: 50, Offset: 3}},
		"here, within error":      {true, []trace.Sample{{Before: 0, There: 53, After: 100}}, trace.Clock{Known: true, Measured: 3, Error: 50}},
		"here, and skewed":        {true, []trace.Sample{{Before: 0, There: -950, After: 100}}, trace.Clock{Known: true, Measured: -1000, Error: 50, Offset: -1000}},
		"unknown":                 {true, nil, trace.Clock{}},
	} {
		if got := trace.NewClock(c.same, c.samples); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestOffset: a skewed clock is set right in what is written.
func TestOffset(t *testing.T) {
	r := trace.New(4)
	r.Skew(time.Hour)
	before := trace.Now()
	from := r.Start()
	r.Span(from, "coll", "bcast", "", 0)
	r.SetClock(trace.Clock{Known: true, Measured: -int64(time.Hour), Error: 3, Offset: -int64(time.Hour)})
	f := file(t, r.Append(nil, 0))
	if e := f.Events[len(f.Events)-1]; e.At < before || e.At > trace.Now() || from < before+int64(time.Hour) {
		t.Errorf("%+v, want it soon after %d", e, before)
	}
	if args := f.Events[1].Args; args["clock_offset_ns"] != -float64(time.Hour) || args["clock_error_ns"] != 3.0 {
		t.Errorf("%v", args)
	}
}

func TestLivesAllocateNothing(t *testing.T) {
	r := trace.New(64)
	if n := testing.AllocsPerRun(200, func() {
		l := trace.Life{At: r.Now(), Name: "send"}
		l.Stage(l.At, "posted")
		k := r.Begin(&l)
		if x := r.Edit(k); x != nil {
			x.End = r.Now()
			r.Done()
		}
		r.EndEvent(r.BeginEvent(trace.Event{Name: "get"}), r.Now())
		r.Point(trace.Event{Name: "fragment"})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

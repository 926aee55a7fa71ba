package trace_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/ompi-go/ompi-go/trace"
)

type event struct {
	Ph, Name, Cat string
	ID            string
	Pid           int
	Ts, Dur       float64
	Args          map[string]any
}

func parse(t *testing.T, tracks ...[]byte) []event {
	t.Helper()
	b := []byte(trace.Begin)
	for i, x := range tracks {
		if i > 0 {
			b = append(b, trace.Separator...)
		}
		b = append(b, x...)
	}
	b = append(b, trace.End...)
	var file struct{ TraceEvents []event }
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatalf("%v in\n%s", err, b)
	}
	return file.TraceEvents
}

func TestTracks(t *testing.T) {
	r := trace.New(4)
	from := r.Start()
	r.Span(from, "coll", "allreduce", "ring", 64)
	r.Span(from, "pml", "send \"quoted\" \x00 \u00fc", "", 0)
	list := parse(t, r.Append(nil, 7), trace.New(1).Append(nil, 8))
	if len(list) != 6 {
		t.Fatalf("%d events: %+v", len(list), list)
	}
	span, plain := list[2], list[3]
	if span.Ph != "X" || span.Pid != 7 || span.Cat != "coll" || span.Args["how"] != "ring" || span.Args["bytes"] != 64.0 || span.Dur < 0 || span.Ts*1000 < float64(from)-1000 {
		t.Errorf("%+v", span)
	}
	if _, has := plain.Args["how"]; plain.Name != "send \"quoted\" \x00 \u00fc" || plain.Args["bytes"] != 0.0 || has {
		t.Errorf("%+v", plain)
	}
}

// A span beside others is two events that belong together.
func TestBeside(t *testing.T) {
	r := trace.New(4)
	r.BesideSpan(r.Start(), "nbc", "bcast", "linear", 8)
	list := parse(t, r.Append(nil, 2))
	if len(list) != 4 || list[2].Ph != "b" || list[3].Ph != "e" || list[2].ID == "" || list[2].ID != list[3].ID || list[3].Ts < list[2].Ts {
		t.Errorf("%+v", list)
	}
}

func TestTheNewestStay(t *testing.T) {
	r := trace.New(3)
	for i := range 10 {
		r.Span(r.Start(), "x", "y", "", int64(i))
	}
	list, lost := r.Events()
	if lost != 7 || len(list) != 3 || list[0].Bytes != 7 || list[2].Bytes != 9 {
		t.Errorf("%d lost, %+v", lost, list)
	}
}

func TestOffCostsNothing(t *testing.T) {
	var r *trace.Ring
	if n := testing.AllocsPerRun(10, func() { r.Span(r.Start(), "a", "b", "c", 2); r.BesideSpan(r.Start(), "a", "b", "c", 2) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestManyGoroutines(t *testing.T) {
	r := trace.New(100)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 1000 {
				r.Span(r.Start(), "x", "y", "", int64(i))
			}
		})
	}
	wg.Wait()
	if list, lost := r.Events(); len(list) != 100 || lost != 7900 {
		t.Errorf("%d events, %d lost", len(list), lost)
	}
}

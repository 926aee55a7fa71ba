// Package trace keeps what happened in a rank, for a timeline: which algorithm a collective ran, on how many bytes, when it began and
// ended. A Ring holds the newest events of one rank; Append writes them in the Trace Event Format, which Perfetto
// (ui.perfetto.dev) and Chrome's tracing page show, a track a rank.
//
// Every layer may record; a nil *Ring is tracing switched off, and costs its callers one comparison.
package trace

import (
	"encoding/json"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Event is one thing that happened. Strings are constants or live for long: recording copies no text.
type Event struct {
	At, Dur int64  // nanoseconds of the monotonic clock, which processes of a host share
	Cat     string // the layer
	Name    string
	Detail  string // such as the algorithm or the protocol; "" for none
	Bytes   int64
	Beside  bool // a span that may overlap others of its rank
}

// Ring is the newest events of a rank. It may be used by many goroutines.
type Ring struct {
	mu     sync.Mutex
	events []Event
	n      uint64 // recorded so far
}

// New makes a ring for the given number of events.
func New(events int) *Ring { return &Ring{events: make([]Event, max(events, 1))} }

// Now is the present time for At.
func Now() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return ts.Nano()
}

// Start is Now when r records, 0 when it is nil: the beginning of a Span.
func (r *Ring) Start() int64 {
	if r == nil {
		return 0
	}
	return Now()
}

// Span records what began at from and ends now.
func (r *Ring) Span(from int64, cat, name, detail string, bytes int64) {
	if r != nil {
		r.add(Event{At: from, Dur: Now() - from, Cat: cat, Name: name, Detail: detail, Bytes: bytes})
	}
}

// BesideSpan is Span of something that goes on beside what else the rank does.
func (r *Ring) BesideSpan(from int64, cat, name, detail string, bytes int64) {
	if r != nil {
		r.add(Event{At: from, Dur: Now() - from, Cat: cat, Name: name, Detail: detail, Bytes: bytes, Beside: true})
	}
}

func (r *Ring) add(e Event) {
	r.mu.Lock()
	r.events[r.n%uint64(len(r.events))] = e
	r.n++
	r.mu.Unlock()
}

// Events gives the events in the order in which they were recorded, and how many older ones are lost.
func (r *Ring) Events() (list []Event, lost uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	size := uint64(len(r.events))
	if r.n > size {
		lost = r.n - size
	}
	for i := lost; i < r.n; i++ {
		list = append(list, r.events[i%size])
	}
	return list, lost
}

// Begin and End enclose a file's tracks, between which Separator stands.
const (
	Begin     = `{"displayTimeUnit":"ns","traceEvents":[` + "\n"
	Separator = ",\n"
	End       = "\n]}\n"
)

// Append adds the track of one rank to b, the comma-separated events of a JSON list.
func (r *Ring) Append(b []byte, rank int) []byte {
	list, lost := r.Events()
	id := strconv.Itoa(rank)
	b = append(b, `{"ph":"M","name":"process_name","pid":`+id+`,"args":{"name":"rank `+id+`"}},`+"\n"...)
	b = append(b, `{"ph":"M","name":"process_sort_index","pid":`+id+`,"args":{"sort_index":`+id+`,"events_lost":`...)
	b = strconv.AppendUint(b, lost, 10)
	b = append(b, "}}"...)
	for i := range list {
		b = append(b, Separator...)
		if e := &list[i]; e.Beside {
			b = e.append(b, id, "b", lost+uint64(i), e.At)
			b = append(b, Separator...)
			b = e.append(b, id, "e", lost+uint64(i), e.At+e.Dur)
		} else {
			b = e.append(b, id, "X", 0, e.At)
		}
	}
	return b
}

// append writes e in one of the format's phases: X a span, b and e the ends of a span beside others, which number joins.
func (e *Event) append(b []byte, id, phase string, number uint64, at int64) []byte {
	b = append(b, `{"pid":`+id+`,"tid":0,"cat":`...)
	b = appendString(b, e.Cat)
	b = append(b, `,"name":`...)
	b = appendString(b, e.Name)
	b = append(b, `,"ts":`...)
	b = appendMicros(b, at)
	b = append(b, `,"ph":"`+phase+`"`...)
	if phase == "X" {
		b = append(b, `,"dur":`...)
		b = appendMicros(b, e.Dur)
	} else {
		b = append(b, `,"id":"`+id+"."...)
		b = strconv.AppendUint(b, number, 10)
		b = append(b, '"')
	}
	b = append(b, `,"args":{`...)
	sep := ""
	if e.Detail != "" {
		b = append(b, `"how":`...)
		b = appendString(b, e.Detail)
		sep = ","
	}
	b = append(b, sep+`"bytes":`...)
	b = strconv.AppendInt(b, e.Bytes, 10)
	return append(b, "}}"...)
}

func appendString(b []byte, s string) []byte {
	q, err := json.Marshal(s)
	if err != nil { // no string does that
		return append(b, `""`...)
	}
	return append(b, q...)
}

// appendMicros writes nanoseconds as microseconds with three decimals.
func appendMicros(b []byte, ns int64) []byte {
	b = strconv.AppendInt(b, ns/1000, 10)
	frac := strconv.Itoa(int(1000 + ns%1000))
	b = append(b, '.')
	return append(b, frac[1:]...)
}

// Package trace keeps what happened in a rank, for a timeline: which algorithm a collective ran, how a message went, when each
// began and ended. A Ring holds the newest events and lives of one rank, in records of a fixed size; Append writes them in the Trace Event
// Format, which Perfetto (ui.perfetto.dev) and Chrome's tracing page show, a track a rank.
//
// Every layer may record; a nil *Ring is tracing switched off, and costs its callers one comparison. Recording allocates nothing.
package trace

import "sync"

// Event is one thing that happened. Strings are constants or live for long: recording copies no text.
type Event struct {
	At, Dur int64  // nanoseconds of the ring's clock
	Cat     string // the layer
	Name    string
	Detail  string // such as the algorithm or the protocol; "" for none
	Bytes   int64
	Of      uint64 // the life that it belongs to; 0: none
	Beside  bool   // a span that may overlap others of its rank
	Point   bool   // no span: a point in the life
}

// Ring is the newest events and lives of a rank. It may be used by many goroutines.
type Ring struct {
	skew   int64
	mu     sync.Mutex
	events []Event
	n      uint64 // recorded so far
	lives  []Life // as many; made when first used
	nLives uint64
	clock  Clock
}

// New makes a ring for the given number of events, and as many lives.
func New(events int) *Ring { return &Ring{events: make([]Event, max(events, 1))} }

// Start is Now when r records, 0 when it is nil: the beginning of a Span.
func (r *Ring) Start() int64 {
	if r == nil {
		return 0
	}
	return r.Now()
}

// Span records what began at from and ends now.
func (r *Ring) Span(from int64, cat, name, detail string, bytes int64) {
	if r != nil {
		r.add(Event{At: from, Dur: r.Now() - from, Cat: cat, Name: name, Detail: detail, Bytes: bytes})
	}
}

// BesideSpan is Span of something that goes on beside what else the rank does.
func (r *Ring) BesideSpan(from int64, cat, name, detail string, bytes int64) {
	if r != nil {
		r.add(Event{At: from, Dur: r.Now() - from, Cat: cat, Name: name, Detail: detail, Bytes: bytes, Beside: true})
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
	return newest(r.events, r.n)
}

// Lives gives the lives in the order in which they began, and how many older ones are lost.
func (r *Ring) Lives() (list []Life, lost uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return newest(r.lives, r.nLives)
}

// newest copies what a ring holds of n records, and tells how many it has lost.
func newest[T any](ring []T, n uint64) (list []T, lost uint64) {
	size := uint64(len(ring))
	if n > size {
		lost = n - size
	}
	list = make([]T, 0, n-lost)
	for i := lost; i < n; i++ {
		list = append(list, ring[i%size])
	}
	return list, lost
}

package rte

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"sync"

	"github.com/google/uuid"
)

// Hub is a job whose ranks are goroutines of this process: an exchange in memory, with the rules of the other launchers.
type Hub struct {
	id     uuid.UUID
	secret [32]byte
	size   int
	done   chan struct{}

	mu     sync.Mutex
	kvs    map[hubKey][]byte
	staged map[hubKey][]byte // put since the last fence
	ranks  []hubRank
	said   map[string]bool // keys of SayOnce
	tracks map[string][]Track
	err    *AbortError // set before done is closed

	// The fence under way. Invariant: entered counts ranks waiting that are present; 0 <= entered <= present.
	entered, present int
	release          chan struct{} // closed and replaced when entered reaches present
}

type hubKey struct {
	rank int
	key  string
}

type hubRank struct {
	waiting bool
	gone    bool  // finalized or failed: fences do not wait for it
	failure error // why it failed, nil if it has not
	watch   []func(rank int, cause error)
}

// NewHub returns a job of n ranks, each taken up with Job. It panics if n < 1.
func NewHub(n int) *Hub {
	if n < 1 {
		panic(fmt.Sprintf("rte: a job needs at least one rank, not %d", n))
	}
	h := &Hub{
		id: uuid.New(), size: n, done: make(chan struct{}),
		kvs: map[hubKey][]byte{}, staged: map[hubKey][]byte{}, said: map[string]bool{},
		ranks: make([]hubRank, n), present: n, release: make(chan struct{}),
	}
	rand.Read(h.secret[:]) // never fails
	return h
}

// Job returns a rank's view. It panics if there is no such rank.
func (h *Hub) Job(rank int) Job {
	if err := checkRank(rank, h.size); err != nil {
		panic(err.Error())
	}
	return &hubJob{h, rank}
}

// Done is closed when a rank has called Abort.
func (h *Hub) Done() <-chan struct{} { return h.done }

// Err is nil until Done is closed, then the first [*AbortError].
func (h *Hub) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.errLocked()
}

func (h *Hub) errLocked() error {
	if h.err == nil {
		return nil // not a typed nil
	}
	return h.err
}

// Fail marks a rank as dead: fences no longer wait for it, and whoever has registered with OnFailure hears of it. A rank
// dies once; Fail of a rank that is dead or finalized does nothing.
func (h *Hub) Fail(rank int, cause error) {
	h.mu.Lock()
	r := &h.ranks[rank]
	if r.gone {
		h.mu.Unlock()
		return
	}
	r.failure = cause
	h.becomeGone(r)
	var watch []func(int, error)
	for i := range h.ranks {
		if i != rank {
			watch = append(watch, h.ranks[i].watch...)
		}
	}
	h.mu.Unlock()
	for _, f := range watch {
		f(rank, cause)
	}
}

func (h *Hub) becomeGone(r *hubRank) {
	if r.gone {
		return
	}
	r.gone = true
	h.present--
	if r.waiting {
		r.waiting = false
		h.entered--
	}
	h.tryRelease()
}

// tryRelease ends the fence if nobody is missing. When no rank is present at all it lets go of the failed ones still in it.
func (h *Hub) tryRelease() {
	if h.entered < h.present || h.entered == 0 && h.present > 0 {
		return
	}
	for k, v := range h.staged {
		h.kvs[k] = v
	}
	clear(h.staged)
	for i := range h.ranks {
		h.ranks[i].waiting = false
	}
	h.entered = 0
	close(h.release)
	h.release = make(chan struct{})
}

// Track is what a rank gave for a trace file.
type Track struct {
	Rank int
	Text []byte
}

// Tracks gives what the ranks have handed over with Trace, by file.
func (h *Hub) Tracks() map[string][]Track {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tracks
}

// Trace implements Tracer: whoever runs the ranks writes the file.
func (j *hubJob) Trace(file string, track []byte) bool {
	j.h.mu.Lock()
	defer j.h.mu.Unlock()
	if j.h.tracks == nil {
		j.h.tracks = make(map[string][]Track)
	}
	j.h.tracks[file] = append(j.h.tracks[file], Track{j.rank, track})
	return true
}

// hubJob is a Job by rank number; all state is the hub's.
type hubJob struct {
	h    *Hub
	rank int
}

func (j *hubJob) ID() uuid.UUID    { return j.h.id }
func (j *hubJob) Rank() int        { return j.rank }
func (j *hubJob) Size() int        { return j.h.size }
func (j *hubJob) Launcher() string { return "in-process" }
func (j *hubJob) Secret() [32]byte { return j.h.secret }

func (j *hubJob) Put(key string, value []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	h, k := j.h, hubKey{j.rank, key}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ranks[j.rank].gone {
		return ErrFinalized
	}
	_, old := h.kvs[k]
	_, fresh := h.staged[k]
	if old || fresh {
		return errTwice(key)
	}
	h.staged[k] = bytes.Clone(value)
	return nil
}

func errTwice(key string) error { return fmt.Errorf("rte: key %q has been put before", key) }

func (j *hubJob) Fence() error {
	h := j.h
	h.mu.Lock()
	r := &h.ranks[j.rank]
	switch {
	case h.err != nil:
		defer h.mu.Unlock()
		return h.err
	case r.failure != nil:
		defer h.mu.Unlock()
		return fmt.Errorf("rte: rank %d has failed: %w", j.rank, r.failure)
	case r.gone:
		h.mu.Unlock()
		return ErrFinalized
	case r.waiting:
		h.mu.Unlock()
		return fmt.Errorf("rte: rank %d is in a fence already", j.rank)
	}
	r.waiting = true
	h.entered++
	release := h.release
	h.tryRelease()
	h.mu.Unlock()
	select {
	case <-release:
		return nil
	case <-h.done:
		return h.Err()
	}
}

func (j *hubJob) Get(rank int, key string) ([]byte, error) {
	if err := checkRank(rank, j.h.size); err != nil {
		return nil, err
	}
	j.h.mu.Lock()
	defer j.h.mu.Unlock()
	v, ok := j.h.kvs[hubKey{rank, key}]
	if !ok {
		return nil, errNotFound(rank, key)
	}
	return v, nil
}

func errNotFound(rank int, key string) error {
	return fmt.Errorf("rte: key %q of rank %d: %w", key, rank, ErrNotFound)
}

func (j *hubJob) Node(rank int) int {
	if checkRank(rank, j.h.size) != nil {
		return -1
	}
	return 0
}

func (j *hubJob) LocalRanks() []int {
	all := make([]int, j.h.size)
	for i := range all {
		all[i] = i
	}
	return all
}

func (j *hubJob) Locality(rank int) Locality {
	switch {
	case rank == j.rank:
		return Self
	case checkRank(rank, j.h.size) != nil:
		return Remote
	}
	return SameProcess
}

func (j *hubJob) OnFailure(f func(rank int, cause error)) {
	h := j.h
	h.mu.Lock()
	h.ranks[j.rank].watch = append(h.ranks[j.rank].watch, f)
	type death struct {
		rank  int
		cause error
	}
	var known []death
	for i := range h.ranks {
		if i != j.rank && h.ranks[i].failure != nil {
			known = append(known, death{i, h.ranks[i].failure})
		}
	}
	h.mu.Unlock()
	for _, d := range known {
		f(d.rank, d.cause)
	}
}

// SayOnce implements Sayer.
func (j *hubJob) SayOnce(key, _ string) bool {
	j.h.mu.Lock()
	defer j.h.mu.Unlock()
	said := j.h.said[key]
	j.h.said[key] = true
	return said
}

// OnScrape does nothing: there is no launcher to ask, and whoever runs the ranks holds their metrics.
func (j *hubJob) OnScrape(func() ([]byte, error)) {}

func (j *hubJob) Abort(code int, msg string) {
	h := j.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.err = &AbortError{Rank: j.rank, Code: code, Msg: msg}
		close(h.done)
	}
}

func (j *hubJob) Finalize() error {
	j.h.mu.Lock()
	defer j.h.mu.Unlock()
	j.h.becomeGone(&j.h.ranks[j.rank])
	return nil
}

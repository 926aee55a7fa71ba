package trace

// Life is something that goes on beside others for a while and in stages, such as a message at one of its ends. It is written as a
// span in which each stage is a span; an arrow may lead from it to a life of another rank.
type Life struct {
	At, End int64  // End is 0 while it goes on
	Cat     string // the layer
	Name    string
	Detail  string // such as the protocol
	Why     string // what decided on Detail
	Bytes   int64
	Peer    int32 // rank in the job; -1: any
	Tag     int32 // -1: any
	Context uint32
	Pieces  int32  // fragments
	Flow    uint64 // names the arrow, the same at both ends; 0: none
	In      bool   // the arrow ends here, at End; else it begins here, at At
	Failed  bool
	n       uint8
	stages  [maxStages]stage
}

const maxStages = 4

type stage struct {
	at   int64
	name string
}

// Stage begins the next stage. Those beyond the fourth are not kept apart.
func (l *Life) Stage(at int64, name string) {
	if int(l.n) < len(l.stages) {
		l.stages[l.n] = stage{at, name}
		l.n++
	}
}

// Begin records the beginning of a life and gives its number, from 1 on.
func (r *Ring) Begin(l *Life) uint64 {
	r.mu.Lock()
	if r.lives == nil {
		r.lives = make([]Life, len(r.events))
	}
	r.lives[r.nLives%uint64(len(r.lives))] = *l
	r.nLives++
	n := r.nLives
	r.mu.Unlock()
	return n
}

// Edit gives the life of a number to change, until Done is called; nil, and no Done, when newer ones have taken its place.
func (r *Ring) Edit(number uint64) *Life {
	r.mu.Lock()
	if number == 0 || r.nLives-number >= uint64(len(r.lives)) {
		r.mu.Unlock()
		return nil
	}
	return &r.lives[(number-1)%uint64(len(r.lives))]
}

// Done ends Edit.
func (r *Ring) Done() { r.mu.Unlock() }

// Mark names an event that goes on; 0 names none.
type Mark uint64

// BeginEvent records an event that goes on beside others until EndEvent.
func (r *Ring) BeginEvent(e Event) Mark {
	e.Dur, e.Beside = open, true
	r.mu.Lock()
	r.events[r.n%uint64(len(r.events))] = e
	r.n++
	m := Mark(r.n)
	r.mu.Unlock()
	return m
}

// EndEvent ends it at the time at.
func (r *Ring) EndEvent(m Mark, at int64) {
	r.mu.Lock()
	if m != 0 && r.n-uint64(m) < uint64(len(r.events)) {
		if e := &r.events[(uint64(m)-1)%uint64(len(r.events))]; e.Dur == open {
			e.Dur = at - e.At
		}
	}
	r.mu.Unlock()
}

// Point records an event without length that belongs to a life.
func (r *Ring) Point(e Event) {
	e.Point = true
	r.add(e)
}

// open is the Dur of an event that goes on.
const open = -1

package trace

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
)

// Begin and End enclose a file's tracks, between which Separator stands.
const (
	Begin     = `{"displayTimeUnit":"ns","traceEvents":[` + "\n"
	Separator = ",\n"
	End       = "\n]}\n"
)

// Threads of a rank's track: what follows one another, and the marks at which arrows begin and end.
const (
	threadMain  = "0"
	threadMarks = "1"
)

// markLength is how long a mark is, if the next one leaves room: the viewers fasten arrows only to bars that have a length.
const markLength = 250

// line is one line of the track, to be put in the order of time.
type line struct {
	at    int64
	dur   int64 // of marks
	of    int32 // index of the event or life
	stage int8
	what  uint8
}

// What a line is.
const (
	eventSpan uint8 = iota
	eventBegin
	eventEnd
	eventPoint
	lifeBegin
	lifeEnd
	stageBegin
	stageEnd
	markSend
	markReceive
)

// writer writes one track.
type writer struct {
	b          []byte
	rank       string
	offset     int64
	now        int64 // when what goes on is cut off
	events     []Event
	lives      []Life
	lostEvents uint64
	lostLives  uint64
}

// Append adds the track of one rank to b, the comma-separated events of a JSON list, in the order of their times. What still goes on
// is written as unfinished.
func (r *Ring) Append(b []byte, rank int) []byte {
	w := writer{b: b, rank: strconv.Itoa(rank), now: r.Now()}
	w.events, w.lostEvents = r.Events()
	w.lives, w.lostLives = r.Lives()
	r.mu.Lock()
	clock := r.clock
	r.mu.Unlock()
	w.offset = clock.Offset
	w.head(clock)
	for _, l := range w.lines() {
		w.b = append(w.b, Separator...)
		w.line(l)
	}
	return w.b
}

// head says whose track it is.
func (w *writer) head(c Clock) {
	w.b = append(w.b, `{"ph":"M","name":"process_name","pid":`+w.rank+`,"args":{"name":"rank `+w.rank+`"}},`+"\n"...)
	w.b = append(w.b, `{"ph":"M","name":"process_sort_index","pid":`+w.rank+`,"args":{"sort_index":`+w.rank...)
	w.number("events_lost", int64(w.lostEvents))
	w.number("lives_lost", int64(w.lostLives))
	if c.Known {
		w.number("clock_offset_ns", c.Offset)
		w.number("clock_measured_ns", c.Measured)
		w.number("clock_error_ns", c.Error)
	}
	w.b = append(w.b, "}}"...)
	if len(w.lives) > 0 {
		for _, t := range [][2]string{{threadMain, "rank " + w.rank}, {threadMarks, "messages"}} {
			w.b = append(w.b, Separator+`{"ph":"M","name":"thread_name","pid":`+w.rank+`,"tid":`+t[0]+`,"args":{"name":"`+t[1]+`"}}`...)
		}
	}
}

// lines lists what is to be written, in the order of time.
func (w *writer) lines() []line {
	list := make([]line, 0, 2*len(w.events)+6*len(w.lives))
	for i := range w.events {
		switch e := &w.events[i]; {
		case e.Point:
			if e.Of > w.lostLives {
				list = append(list, line{at: e.At, of: int32(i), what: eventPoint})
			}
		case e.Beside:
			list = append(list, line{at: e.At, of: int32(i), what: eventBegin}, line{at: w.end(e), of: int32(i), what: eventEnd})
		default:
			list = append(list, line{at: e.At, of: int32(i), what: eventSpan})
		}
	}
	var marks []line
	for i := range w.lives {
		l, of := &w.lives[i], int32(i)
		end := l.End
		if end == 0 {
			end = w.now
		}
		list = append(list, line{at: l.At, of: of, what: lifeBegin})
		for s := range l.stages[:l.n] {
			until := end
			if s+1 < int(l.n) {
				until = l.stages[s+1].at
			}
			list = append(list, line{at: l.stages[s].at, of: of, stage: int8(s), what: stageBegin}, line{at: until, of: of, stage: int8(s), what: stageEnd})
		}
		list = append(list, line{at: end, of: of, what: lifeEnd})
		switch {
		case l.Flow == 0:
		case !l.In:
			marks = append(marks, line{at: l.At, of: of, what: markSend})
		case l.End != 0:
			marks = append(marks, line{at: l.End, of: of, what: markReceive})
		}
	}
	list = append(list, spread(marks)...)
	slices.SortStableFunc(list, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	return list
}

// spread gives marks lengths with which they do not overlap. Those of one instant move apart by a nanosecond.
func spread(marks []line) []line {
	slices.SortStableFunc(marks, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	for i := range marks {
		if i > 0 {
			marks[i].at = max(marks[i].at, marks[i-1].at+1)
			marks[i-1].dur = min(marks[i].at-marks[i-1].at, markLength)
		}
		marks[i].dur = markLength
	}
	return marks
}

// end is when an event ends, or is cut off.
func (w *writer) end(e *Event) int64 {
	if e.Dur == open {
		return w.now
	}
	return e.At + e.Dur
}

func (w *writer) line(l line) {
	switch l.what {
	case eventSpan, eventBegin, eventEnd, eventPoint:
		w.event(l)
	case lifeBegin:
		w.life(l)
	case lifeEnd:
		x := &w.lives[l.of]
		w.begin(threadMain, "e", x.Cat, x.Name, l.at)
		w.lifeID(uint64(l.of) + w.lostLives + 1)
		w.b = append(w.b, '}')
	case stageBegin, stageEnd:
		phase := "b"
		if l.what == stageEnd {
			phase = "e"
		}
		x := &w.lives[l.of]
		w.begin(threadMain, phase, x.Cat, x.stages[l.stage].name, l.at)
		w.lifeID(uint64(l.of) + w.lostLives + 1)
		w.b = append(w.b, '}')
	case markSend, markReceive:
		w.mark(l)
	}
}

// begin writes what all lines have; the closing brace is the caller's.
func (w *writer) begin(thread, phase, cat, name string, at int64) {
	w.b = append(w.b, `{"pid":`+w.rank+`,"tid":`+thread+`,"cat":`...)
	w.b = appendString(w.b, cat)
	w.b = append(w.b, `,"name":`...)
	w.b = appendString(w.b, name)
	w.b = append(w.b, `,"ts":`...)
	w.b = appendMicros(w.b, at+w.offset)
	w.b = append(w.b, `,"ph":"`+phase+`"`...)
}

// event writes a line of an event: X a span, b and e the ends of a span beside others, n a point of a life.
func (w *writer) event(l line) {
	e := &w.events[l.of]
	switch l.what {
	case eventSpan:
		w.begin(threadMain, "X", e.Cat, e.Name, l.at)
		w.b = append(w.b, `,"dur":`...)
		w.b = appendMicros(w.b, e.Dur)
	case eventPoint:
		w.begin(threadMain, "n", e.Cat, e.Name, l.at)
		w.lifeID(e.Of)
	default:
		phase := "b"
		if l.what == eventEnd {
			phase = "e"
		}
		w.begin(threadMain, phase, e.Cat, e.Name, l.at)
		w.b = append(w.b, `,"id":"`+w.rank+"."...)
		w.b = strconv.AppendUint(w.b, w.lostEvents+uint64(l.of), 10)
		w.b = append(w.b, '"')
	}
	w.b = append(w.b, `,"args":{"bytes":`...)
	w.b = strconv.AppendInt(w.b, e.Bytes, 10)
	w.text("how", e.Detail)
	if e.Of != 0 && l.what != eventPoint {
		w.number("message", int64(e.Of))
	}
	if e.Dur == open {
		w.b = append(w.b, `,"unfinished":true`...)
	}
	w.b = append(w.b, "}}"...)
}

// life writes the beginning of a life with all that is known of it.
func (w *writer) life(l line) {
	x, number := &w.lives[l.of], uint64(l.of)+w.lostLives+1
	w.begin(threadMain, "b", x.Cat, x.Name, l.at)
	w.lifeID(number)
	w.b = append(w.b, `,"args":{"peer":`...)
	w.b = strconv.AppendInt(w.b, int64(x.Peer), 10)
	w.number("tag", int64(x.Tag))
	w.number("bytes", x.Bytes)
	w.text("protocol", x.Detail)
	w.text("why", x.Why)
	w.number("context", int64(x.Context))
	w.number("message", int64(number))
	if x.Pieces > 0 {
		w.number("fragments", int64(x.Pieces))
	}
	if x.Failed {
		w.b = append(w.b, `,"failed":true`...)
	}
	if x.End == 0 {
		w.b = append(w.b, `,"unfinished":true`...)
	}
	w.b = append(w.b, "}}"...)
}

// mark writes a bar and the end of the arrow that is fastened to it.
func (w *writer) mark(l line) {
	x := &w.lives[l.of]
	w.begin(threadMarks, "X", x.Cat, x.Name, l.at)
	w.b = append(w.b, `,"dur":`...)
	w.b = appendMicros(w.b, l.dur)
	w.b = append(w.b, `,"args":{"peer":`...)
	w.b = strconv.AppendInt(w.b, int64(x.Peer), 10)
	w.number("message", int64(uint64(l.of)+w.lostLives+1))
	w.b = append(w.b, "}}"+Separator...)
	phase := "s"
	if l.what == markReceive {
		phase = "f"
	}
	w.begin(threadMarks, phase, "flow", "message", l.at)
	w.b = append(w.b, `,"id":"`...)
	w.b = strconv.AppendUint(w.b, x.Flow, 16)
	w.b = append(w.b, '"')
	if x.In {
		w.b = append(w.b, `,"bp":"e"`...) // fastened to the bar around it, not to the next
	}
	w.b = append(w.b, '}')
}

// lifeID joins the lines of a life.
func (w *writer) lifeID(number uint64) {
	w.b = append(w.b, `,"id":"`+w.rank+".m"...)
	w.b = strconv.AppendUint(w.b, number, 10)
	w.b = append(w.b, '"')
}

func (w *writer) number(key string, n int64) {
	w.b = append(w.b, `,"`+key+`":`...)
	w.b = strconv.AppendInt(w.b, n, 10)
}

func (w *writer) text(key, s string) {
	if s != "" {
		w.b = append(w.b, `,"`+key+`":`...)
		w.b = appendString(w.b, s)
	}
}

func appendString(b []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		plain = plain && s[i] >= ' ' && s[i] < 0x7f && s[i] != '"' && s[i] != '\\'
	}
	if plain { // as nearly all are
		b = append(b, '"')
		b = append(b, s...)
		return append(b, '"')
	}
	q, err := json.Marshal(s)
	if err != nil { // no string does that
		return append(b, `""`...)
	}
	return append(b, q...)
}

// appendMicros writes nanoseconds as microseconds with three decimals.
func appendMicros(b []byte, ns int64) []byte {
	if ns < 0 {
		b, ns = append(b, '-'), -ns
	}
	b = strconv.AppendInt(b, ns/1000, 10)
	frac := strconv.Itoa(int(1000 + ns%1000))
	b = append(b, '.')
	return append(b, frac[1:]...)
}

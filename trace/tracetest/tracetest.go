// Package tracetest reads trace files for tests, and checks what holds of every one.
package tracetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Event is one line of a trace.
type Event struct {
	Ph, Name, Cat string
	ID            string
	BP            string
	Pid, Tid      int
	Ts, Dur       json.Number // microseconds
	Args          map[string]any

	At, Length int64 // nanoseconds

	message *Message // of the bar that this end of an arrow is fastened to
}

// Message is one end of a message.
type Message struct {
	Rank             int
	Name, Cat        string // Name is send or receive
	Peer, Tag, Bytes int
	Protocol, Why    string
	Fragments        int
	Failed           bool
	Unfinished       bool
	Begin, End       int64    // nanoseconds
	Stages           []string // in order
	Points           []string // likewise
}

// Arrow leads from a send to its receive; the times are of its ends.
type Arrow struct {
	From, To   int // ranks
	Begin, End int64
}

// File is a trace.
type File struct {
	Events   []Event
	Messages []*Message // in the order of their beginnings, rank by rank
	Arrows   []Arrow
	Halves   int // arrows of which one end is missing: the other rank has left no track, or the message was never received
}

// Read reads a trace from a file and checks it.
func Read(name string) (*File, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return Parse(text)
}

// Parse checks a trace: it is JSON, the times of each rank ascend, spans nest, what begins ends, every point lies in a span, and every
// arrow has one beginning and one end at most, in bars that it can be fastened to, and leads back in time by no more than the errors of the
// clocks. The ends agree on the tag and on the ranks.
func Parse(text []byte) (*File, error) {
	var raw struct{ TraceEvents []Event }
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	f := &File{Events: raw.TraceEvents}
	c := checker{f: f, last: map[int]int64{}, slack: map[int]int64{}, bars: map[[2]int][]*Event{}, open: map[string][]*Event{}, lives: map[string]*Message{}, starts: map[string][]*Event{}, ends: map[string][]*Event{}}
	for i := range f.Events {
		e := &f.Events[i]
		if offset, _ := e.Args["clock_offset_ns"].(float64); offset != 0 {
			wrong, _ := e.Args["clock_error_ns"].(float64)
			c.slack[e.Pid] = int64(wrong)
		}
		if e.Ph != "M" {
			if err := c.event(e); err != nil {
				return nil, fmt.Errorf("%w in %+v", err, *e)
			}
		}
	}
	return f, c.finish()
}

type checker struct {
	f            *File
	last, slack  map[int]int64
	bars         map[[2]int][]*Event // open ones
	open         map[string][]*Event // spans beside others
	lives        map[string]*Message
	starts, ends map[string][]*Event
}

func (c *checker) event(e *Event) (err error) {
	if e.At, err = nanoseconds(e.Ts); err != nil {
		return err
	}
	if last, known := c.last[e.Pid]; known && e.At < last {
		return errors.New("a time before the one before")
	}
	c.last[e.Pid] = e.At
	key := fmt.Sprint(e.Pid, " ", e.Cat, " ", e.ID)
	switch e.Ph {
	case "X":
		return c.bar(e)
	case "b":
		stack := c.open[key]
		if m := c.lives[key]; len(stack) > 0 && m != nil {
			m.Stages = append(m.Stages, e.Name)
		} else if _, is := e.Args["peer"]; is {
			c.lives[key] = c.message(e)
		}
		c.open[key] = append(stack, e)
	case "e":
		stack := c.open[key]
		if len(stack) == 0 || stack[len(stack)-1].Name != e.Name {
			return errors.New("an end without its beginning")
		}
		c.open[key] = stack[:len(stack)-1]
		if m := c.lives[key]; m != nil && len(stack) == 1 {
			m.End = e.At
		}
	case "n":
		m := c.lives[key]
		if len(c.open[key]) == 0 || m == nil {
			return errors.New("a point outside of its span")
		}
		m.Points = append(m.Points, e.Name)
	case "s":
		c.starts[e.ID] = append(c.starts[e.ID], e)
		return c.fastened(e)
	case "f":
		c.ends[e.ID] = append(c.ends[e.ID], e)
		return c.fastened(e)
	default:
		return errors.New("an unknown phase")
	}
	return nil
}

func (c *checker) bar(e *Event) (err error) {
	if e.Length, err = nanoseconds(e.Dur); err != nil {
		return err
	}
	at := [2]int{e.Pid, e.Tid}
	stack := c.bars[at]
	for len(stack) > 0 && stack[len(stack)-1].At+stack[len(stack)-1].Length <= e.At {
		stack = stack[:len(stack)-1]
	}
	if n := len(stack); n > 0 && e.At+e.Length > stack[n-1].At+stack[n-1].Length {
		return fmt.Errorf("a bar that does not nest in %+v", *stack[n-1])
	}
	c.bars[at] = append(stack, e)
	return nil
}

// fastened checks that a bar is open where an arrow has its end.
func (c *checker) fastened(e *Event) error {
	stack := c.bars[[2]int{e.Pid, e.Tid}]
	if n := len(stack); n == 0 || stack[n-1].At+stack[n-1].Length <= e.At {
		return errors.New("an arrow that is fastened to nothing")
	}
	bar := stack[len(stack)-1]
	number, _ := bar.Args["message"].(float64)
	if e.message = c.lives[fmt.Sprintf("%d %s %d.m%d", e.Pid, bar.Cat, e.Pid, int64(number))]; e.message == nil {
		return errors.New("an arrow that belongs to no message")
	}
	return nil
}

func (c *checker) message(e *Event) *Message {
	number := func(key string) int { x, _ := e.Args[key].(float64); return int(x) }
	text := func(key string) string { s, _ := e.Args[key].(string); return s }
	m := &Message{Rank: e.Pid, Name: e.Name, Cat: e.Cat, Peer: number("peer"), Tag: number("tag"), Bytes: number("bytes"), Fragments: number("fragments"),
		Protocol: text("protocol"), Why: text("why"), Failed: e.Args["failed"] == true, Unfinished: e.Args["unfinished"] == true, Begin: e.At}
	c.f.Messages = append(c.f.Messages, m)
	return m
}

func (c *checker) finish() error {
	for key, stack := range c.open {
		if len(stack) > 0 {
			return fmt.Errorf("%s: %q does not end", key, stack[0].Name)
		}
	}
	for id, starts := range c.starts {
		ends := c.ends[id]
		switch {
		case len(starts) != 1 || len(ends) > 1:
			return fmt.Errorf("arrow %s has %d beginnings and %d ends", id, len(starts), len(ends))
		case len(ends) == 0:
			c.f.Halves++
			continue
		}
		if starts[0].At > ends[0].At+c.slack[starts[0].Pid]+c.slack[ends[0].Pid] {
			return fmt.Errorf("arrow %s leads back in time: from %+v to %+v", id, *starts[0], *ends[0])
		}
		if s, r := starts[0].message, ends[0].message; s.Tag != r.Tag || s.Peer != r.Rank || r.Peer != s.Rank || s.Name != "send" || r.Name != "receive" {
			return fmt.Errorf("arrow %s joins %+v and %+v", id, *s, *r)
		}
		c.f.Arrows = append(c.f.Arrows, Arrow{starts[0].Pid, ends[0].Pid, starts[0].At, ends[0].At})
	}
	for id := range c.ends {
		if len(c.starts[id]) == 0 {
			c.f.Halves++
		}
	}
	return nil
}

// nanoseconds reads microseconds with three decimals, exactly.
func nanoseconds(n json.Number) (int64, error) {
	whole, frac, _ := strings.Cut(n.String(), ".")
	if len(frac) != 3 {
		return 0, fmt.Errorf("the time %q has not three decimals", n)
	}
	return strconv.ParseInt(whole+frac, 10, 64)
}

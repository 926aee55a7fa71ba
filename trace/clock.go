package trace

import (
	"time"
	_ "unsafe" // for go:linkname
)

// nanotime is CLOCK_MONOTONIC, which the processes of a host share, read without a system call: package time keeps its value to
// itself, and the system call costs seven times as much, several times a message.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

// Now is the present time for At.
func Now() int64 { return nanotime() }

// Clock relates a rank's clock to that of rank 0, in nanoseconds.
type Clock struct {
	Known    bool  // it has been measured
	Measured int64 // what the clock of rank 0 is ahead by, as measured
	Error    int64 // by how much Measured may be wrong, either way
	Offset   int64 // what is added to the times of the rank when they are written
}

// Sample is one look at the clock of rank 0: it said There between Before and After.
type Sample struct{ Before, There, After int64 }

// NewClock is the clock that samples tell of; the narrowest counts. On the host of rank 0 clocks are one, so that a difference
// within the error is none: correcting it would spoil what is exact.
func NewClock(sameHost bool, samples []Sample) Clock {
	var c Clock
	for _, s := range samples {
		if width := (s.After - s.Before + 1) / 2; !c.Known || width < c.Error {
			c = Clock{Known: true, Measured: s.There - s.Before - (s.After-s.Before)/2, Error: width}
		}
	}
	if c.Offset = c.Measured; sameHost && -c.Error <= c.Measured && c.Measured <= c.Error {
		c.Offset = 0
	}
	return c
}

// SetClock sets how the ring's times are written.
func (r *Ring) SetClock(c Clock) {
	r.mu.Lock()
	r.clock = c
	r.mu.Unlock()
}

// Skew sets the ring's clock ahead, for tests of what corrects it. It is called before anything is recorded.
func (r *Ring) Skew(d time.Duration) { r.skew = int64(d) }

// Now is the present time by the ring's clock.
func (r *Ring) Now() int64 { return nanotime() + r.skew }

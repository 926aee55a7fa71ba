package bml

import "time"

// Meter measures a path: bytes completed over the time in which it was busy. A busy time is timed now and then, a long one in
// stretches, so that no message pays for a clock.
type Meter struct {
	Rate int // Mbit/s, smoothed; 0: not known yet

	now    func() time.Time
	since  time.Time
	timing bool
	flying int64  // bytes offered and not completed
	done   int64  // bytes completed since then
	begun  uint32 // busy times
}

const (
	stretch   = 4 << 20  // bytes that are timed together
	worth     = 16 << 10 // bytes that are worth a sample
	timeEvery = 16       // of so many busy times one is timed
)

// NewMeter makes one that reads this clock.
func NewMeter(now func() time.Time) *Meter { return &Meter{now: now} }

// Offer is called before a fragment of n bytes is offered to the path.
func (m *Meter) Offer(n int64) {
	if m.flying == 0 {
		if m.timing = m.begun%timeEvery == 0; m.timing {
			m.since, m.done = m.now(), 0
		}
		m.begun++
	}
	m.flying += n
}

// Refused is called when the path did not take it, or gave it back.
func (m *Meter) Refused(n int64) {
	if m.flying -= n; m.flying == 0 {
		m.timing = false
	}
}

// Done is called when the path has done with it. It reports whether Rate is a new one.
func (m *Meter) Done(n int64) bool {
	m.flying -= n
	if !m.timing {
		return false
	}
	m.done += n
	if m.done < stretch && m.flying > 0 {
		return false
	}
	done := m.done
	m.timing, m.done = m.flying > 0, 0
	if done < worth {
		m.timing = false
		return false
	}
	now := m.now()
	took := now.Sub(m.since)
	m.since = now
	if took <= 0 {
		return false
	}
	rate := int(max(done*8000/max(took.Nanoseconds(), 1), 1))
	if m.Rate != 0 {
		rate = max((3*m.Rate+rate)/4, 1)
	}
	m.Rate = rate
	return true
}

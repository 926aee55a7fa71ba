package bml

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestShare: fragments of any sizes are shared out by weight, to within a fragment for each path, for however long.
func TestShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(1, 400_000), 2, 5).Draw(t, "weights")
		e := &Endpoint{}
		total := 0
		for _, w := range weights {
			e.Bulk = append(e.Bulk, &Path{})
			total += w
		}
		weight := func(p *Path) int {
			for i, q := range e.Bulk {
				if p == q {
					return weights[i]
				}
			}
			return 0
		}
		e.Weigh(weight)
		const most = 1 << 20
		carried, all := make([]float64, len(weights)), 0.0
		for range rapid.IntRange(1, 3000).Draw(t, "fragments") {
			n := rapid.Int64Range(small+1, most).Draw(t, "n")
			i := e.NextBulk(n, 0)
			e.Took(e.Bulk[i], n)
			carried[i] += float64(n)
			all += float64(n)
		}
		for i, w := range weights {
			want := all * float64(w) / float64(total)
			// The cost of a byte is rounded down, by at most 1/1024. Each of the others may be ahead by a fragment.
			if off, most := carried[i]-want, float64(len(weights)*most); off > most+want/300 || off < -most-want/300 {
				t.Fatalf("path %d of weight %d carried %.0f of %.0f bytes, want %.0f", i, w, carried[i], all, want)
			}
		}
	})
}

// TestShareTried: paths that have no room are passed over, and small fragments go in turn.
func TestShareTried(t *testing.T) {
	e := &Endpoint{Bulk: []*Path{{}, {}, {}}}
	e.Weigh(func(*Path) int { return 0 })
	e.Took(e.Bulk[0], 100_000)
	for _, c := range []struct {
		tried uint64
		want  int
	}{{0, 1}, {2, 2}, {6, 0}, {7, -1}} {
		if got := e.NextBulk(1<<20, c.tried); got != c.want {
			t.Errorf("tried %b: %d, want %d", c.tried, got, c.want)
		}
	}
	if a, b, c, d := e.NextBulk(9, 0), e.NextBulk(9, 0), e.NextBulk(9, 0), e.NextBulk(9, 3); a != 1 || b != 2 || c != 0 || d != 2 {
		t.Errorf("in turn %d %d %d, then %d", a, b, c, d)
	}
	if e.NextBulk(9, 7) != -1 {
		t.Error("there is no path left")
	}
	if n := testing.AllocsPerRun(100, func() { e.Took(e.Bulk[e.NextBulk(1<<20, 0)], 1<<20) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestMeter: the rate of busy times, whether fragments are done at once or later; idle time does not count.
func TestMeter(t *testing.T) {
	var clock time.Time
	m := NewMeter(func() time.Time { return clock })
	const n = 1 << 20
	for range 100 { // 1 MiB a millisecond, two under way, and an hour between bursts
		m.Offer(n)
		for range 20 {
			m.Offer(n)
			clock = clock.Add(time.Millisecond)
			m.Done(n)
		}
		m.Done(n)
		clock = clock.Add(time.Hour)
	}
	if m.Rate < 8_300 || m.Rate > 8_900 {
		t.Errorf("%d Mbit/s, want 8389", m.Rate)
	}
	m = NewMeter(func() time.Time { return clock })
	for range 40 { // at once, 2 MiB a millisecond
		m.Offer(2 * n)
		clock = clock.Add(time.Millisecond)
		m.Done(2 * n)
		m.Offer(n)
		m.Refused(n)
		clock = clock.Add(time.Hour)
	}
	if m.Rate != 16_777 {
		t.Errorf("%d Mbit/s, want 16777", m.Rate)
	}
}

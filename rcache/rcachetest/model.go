package rcachetest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ompi-go/ompi-go/rcache"
)

// entry is a registration of the model, which is a list.
type entry struct {
	Range
	users     int
	forgotten bool
	left      int // when the last user left
}

// naive drives a cache and says what it may do.
type naive struct {
	b       *Backend
	c       rcache.Cache
	cfg     rcache.Config
	entries []*entry
	held    []*rcache.Registration
	now     int
	stats   rcache.Stats
}

func (m *naive) find(id uint64) int {
	return slices.IndexFunc(m.entries, func(e *entry) bool { return e.ID == id })
}

// sync takes over what the backend was asked to do. absorbed tells which registrations may go for a reason of their own.
func (m *naive) sync(t *rapid.T, what string, absorbed func(e *entry) bool) (evicted int) {
	for _, r := range m.b.Dropped {
		i := m.find(r.ID)
		if i < 0 {
			t.Fatalf("%s: dropped %+v, which the model has not", what, r)
		}
		e := m.entries[i]
		if e.users > 0 {
			t.Fatalf("%s: dropped %+v, which is in use", what, r)
		}
		if !absorbed(e) {
			evicted++
			for _, o := range m.entries {
				if o.users == 0 && !o.forgotten && o.left < e.left && !absorbed(o) {
					t.Fatalf("%s: evicted %+v, unused for less time than %+v", what, r, o.Range)
				}
			}
		}
		m.entries = slices.Delete(m.entries, i, i+1)
	}
	m.b.Dropped = m.b.Dropped[:0]
	return evicted
}

func (m *naive) acquire(t *rapid.T, addr uintptr, n int64) {
	var hit bool
	for _, e := range m.entries {
		hit = hit || !e.forgotten && e.Covers(addr, n)
	}
	m.b.Made = m.b.Made[:0]
	r, err := m.c.Acquire(addr, n, nil)
	if hit {
		m.stats.Hits++
	} else {
		m.stats.Misses++
	}
	if hit && (len(m.b.Made) > 0 || len(m.b.Dropped) > 0) {
		t.Fatalf("[%#x,+%d) is registered, and yet %v was made, %v dropped", addr, n, m.b.Made, m.b.Dropped)
	}
	made := m.b.Made
	for _, x := range made {
		m.entries = append(m.entries, &entry{Range: x, users: 1})
	}
	union := func(e *entry) bool {
		return err == nil && !hit && e.Overlaps(addr, n) && r.Addr <= e.Addr && e.Addr+uintptr(e.Len) <= r.Addr+uintptr(r.Len)
	}
	if err != nil {
		union = func(e *entry) bool { return e.Overlaps(addr, n) }
	}
	m.stats.Evictions += uint64(len(m.b.Dropped)) // or merges: from here they look alike
	m.sync(t, "acquire", union)
	if err != nil {
		m.stats.Failures++
		if hit {
			t.Fatalf("[%#x,+%d) is registered: %v", addr, n, err)
		}
		for _, e := range m.entries {
			if e.users == 0 {
				t.Fatalf("refused while %+v could have made room: %v", e.Range, err)
			}
		}
		return
	}
	i := m.find(r.Handle[0])
	if i < 0 || len(made) > 1 || hit == (len(made) == 1) {
		t.Fatalf("[%#x,+%d): hit %v, made %v, answer %+v", addr, n, hit, made, *r)
	}
	e := m.entries[i]
	if e.Addr != r.Addr || e.Len != r.Len || !e.Covers(addr, n) || e.forgotten {
		t.Fatalf("[%#x,+%d) is answered by %+v, which is %+v", addr, n, *r, *e)
	}
	if hit {
		e.users++
	}
	m.held = append(m.held, r)
}

func (m *naive) release(t *rapid.T, i int) {
	r := m.held[i]
	m.held = slices.Delete(m.held, i, i+1)
	e := m.entries[m.find(r.Handle[0])]
	e.users--
	m.now++
	e.left = m.now
	m.c.Release(r)
	dies := e.users == 0 && (e.forgotten || !m.cfg.Pinned)
	m.stats.Evictions += uint64(m.sync(t, "release", func(x *entry) bool { return dies && x == e }))
	if dies && m.find(e.ID) >= 0 {
		t.Fatalf("%+v outlives its last user", e.Range)
	}
}

func (m *naive) forget(t *rapid.T, addr uintptr, n int64) {
	m.c.Forget(addr, n)
	for _, e := range m.entries {
		e.forgotten = e.forgotten || e.Overlaps(addr, n)
	}
	m.sync(t, "forget", func(e *entry) bool { return e.forgotten })
	for _, e := range m.entries {
		if e.forgotten && e.users == 0 {
			t.Fatalf("%+v should be forgotten", e.Range)
		}
	}
}

// check compares what can be seen at any time.
func (m *naive) check(t *rapid.T) {
	if len(m.b.Faults) > 0 {
		t.Fatal(m.b.Faults)
	}
	s := m.c.Stats()
	var bytes int64
	unused := 0
	for _, e := range m.entries {
		bytes += e.Len
		if e.users == 0 {
			unused++
		}
	}
	if s.Entries != len(m.entries) || s.Bytes != bytes || len(m.b.Live) != len(m.entries) {
		t.Fatalf("%d entries, %d bytes, %d registered; the model has %d, %d", s.Entries, s.Bytes, len(m.b.Live), len(m.entries), bytes)
	}
	if s.Hits != m.stats.Hits || s.Misses != m.stats.Misses || s.Evictions+s.Merges != m.stats.Evictions || s.Failures != m.stats.Failures {
		t.Fatalf("counts %+v, the model has %+v", s, m.stats)
	}
	if unused > 0 && (!m.cfg.Pinned || m.cfg.Bytes > 0 && bytes > m.cfg.Bytes || m.cfg.Entries > 0 && s.Entries > m.cfg.Entries) {
		t.Fatalf("%d unused ones are kept, of %d entries and %d bytes, with %+v", unused, s.Entries, bytes, m.cfg)
	}
}

func model(t *testing.T, open opener) {
	rapid.Check(t, func(t *rapid.T) {
		m := &naive{b: NewBackend()}
		m.cfg = rcache.Config{
			Bytes:   rapid.SampledFrom([]int64{0, 40, 300}).Draw(t, "bytes"),
			Entries: rapid.SampledFrom([]int{0, 4, 12}).Draw(t, "entries"),
			Pinned:  rapid.Bool().Draw(t, "pinned"),
			Page:    rapid.SampledFrom([]int64{0, 0, 16}).Draw(t, "page"),
		}
		m.b.Room = rapid.SampledFrom([]int{0, 0, 6}).Draw(t, "room")
		m.c = open(fatal{TB: nil, t: t}, m.cfg, m.b)
		addr, length := rapid.Uint64Range(base, base+128), rapid.Int64Range(1, 48)
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(t *rapid.T) { m.acquire(t, uintptr(addr.Draw(t, "addr")), length.Draw(t, "n")) },
			"release": func(t *rapid.T) {
				if len(m.held) == 0 {
					t.Skip()
				}
				m.release(t, rapid.IntRange(0, len(m.held)-1).Draw(t, "which"))
			},
			"forget": func(t *rapid.T) { m.forget(t, uintptr(addr.Draw(t, "addr")), length.Draw(t, "n")) },
			"":       m.check,
		})
		m.c.Close()
		if len(m.b.Live) > 0 {
			t.Fatalf("left after Close: %v", m.b.Live)
		}
		for _, r := range m.held {
			m.c.Release(r)
		}
		if len(m.b.Faults) > 0 {
			t.Fatal(m.b.Faults)
		}
	})
}

// fatal is the testing.TB that an opener needs.
type fatal struct {
	testing.TB
	t *rapid.T
}

func (f fatal) Helper()           {}
func (f fatal) Fatal(args ...any) { f.t.Fatal(args...) }

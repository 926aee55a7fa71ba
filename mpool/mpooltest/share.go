package mpooltest

import (
	"testing"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mpool"
)

// sharers are the pools of two ranks, or the test is skipped.
func (cfg *Config) sharers(t *testing.T) (a, b mpool.Sharer) {
	t.Helper()
	p := cfg.pools(t)
	if len(p) == 2 {
		x, ok := p[0].(mpool.Sharer)
		y, ok2 := p[1].(mpool.Sharer)
		if ok && ok2 {
			return x, y
		}
	}
	t.Skip("its memory cannot be mapped by others")
	return nil, nil
}

func export(t testing.TB, p mpool.Sharer, r *core.Region) mpool.Handle {
	t.Helper()
	h, err := p.Export(r)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// share: both see what the other writes.
func share(t *testing.T, cfg Config) {
	a, b := cfg.sharers(t)
	for _, n := range []int64{1, 100, 4096, 100001} {
		r, mine := get(t, a, n, 64)
		mine[n-1] = 7
		for range 2 {
			v, err := b.Map(0, export(t, a, r))
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := v.Slice(0, n)
			if err != nil || v.Size() != n || v.Kind() != core.RegionPeer || theirs[n-1] != 7 {
				t.Fatalf("a view of %d bytes: %+v, %v", n, v, err)
			}
			theirs[0] = 9
			if mine[0] != 9 {
				t.Error("what a peer writes is not seen")
			}
			mine[n-1] = 7
			unref(t, v)
		}
		unref(t, r)
	}
}

// shareFreed: freed memory cannot be mapped, who has mapped it goes on to see it, and new memory is not taken for old.
func shareFreed(t *testing.T, cfg Config) {
	a, b := cfg.sharers(t)
	for k := range byte(20) {
		r, mine := get(t, a, 1000, 64)
		mine[0] = k
		h := export(t, a, r)
		v, err := b.Map(0, h)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := v.Slice(0, 1000)
		if err != nil || theirs[0] != k {
			t.Fatalf("in round %d the peer sees %d, %v", k, theirs[0], err)
		}
		unref(t, r)
		if _, err := a.Export(r); err == nil {
			t.Error("freed memory is exported")
		}
		if again, err := b.Map(0, h); err == nil {
			t.Error("freed memory is mapped")
			unref(t, again)
		}
		if theirs[0] != k {
			t.Error("the view has changed")
		}
		unref(t, v)
	}
}

// shareBad: what nobody exports is not mapped.
func shareBad(t *testing.T, cfg Config) {
	a, b := cfg.sharers(t)
	r, _ := get(t, a, 1000, 64)
	h := export(t, a, r)
	for _, bad := range []mpool.Handle{{}, {A: h.A + 1<<40, B: h.B}, {A: h.A, B: h.B + 1<<40}, {A: h.A, B: h.B + 1<<62},
		{A: ^uint64(0), B: ^uint64(0)}, {A: h.A | 1<<63, B: h.B}, {A: h.B, B: h.A}} {
		if v, err := b.Map(0, bad); err == nil {
			t.Errorf("%x is mapped: %d bytes", bad, v.Size())
			unref(t, v)
		}
	}
	if _, err := b.Map(7, h); err == nil {
		t.Error("memory of a rank that is not here is mapped")
	}
	mine, _ := get(t, b, 10, 1)
	if _, err := a.Export(mine); err == nil {
		t.Error("memory of another pool is exported")
	}
	unref(t, mine)
	unref(t, r)
}

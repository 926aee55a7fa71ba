package shm

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// limited runs f with this process's descriptors limited.
func limited(t *testing.T, soft uint64, f func()) {
	t.Helper()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: min(soft, old.Max), Max: old.Max}); err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
			t.Error(err)
		}
	}()
	f()
}

// TestMemoryTooMany: who takes too many pieces is told of the limit, and can go on when some are freed.
func TestMemoryTooMany(t *testing.T) {
	d := pair(t, false, Options{Attach: "auto"})[0]
	limited(t, 200, func() {
		var all []*Memory
		var err error
		for len(all) < 300 && err == nil {
			var m *Memory
			if m, err = d.NewMemory(100, 64); err == nil {
				all = append(all, m)
			}
		}
		if !errors.Is(err, unix.EMFILE) || !strings.Contains(err.Error(), "200 (ulimit -n)") {
			t.Errorf("after %d pieces: %v", len(all), err)
		}
		for _, m := range all {
			free(t, m)
		}
		free(t, newMemory(t, d, 100, 64))
	})
}

// TestMemoryMany: many pieces are mapped in reasonable time, and those that are freed go.
func TestMemoryMany(t *testing.T) {
	const n = 600
	ds := pair(t, false, Options{Attach: "auto"})
	p := attach(t, ds[0], 1)
	limited(t, 4*n, func() {
		before := mappings(t)
		for range 3 {
			var all []*Memory
			for range n {
				m := newMemory(t, ds[1], 100, 64)
				number, _ := m.Name()
				if _, err := p.Memory(ds[0], number, uint64(uintptr(m.Base())), 100); err != nil {
					t.Fatal(err)
				}
				all = append(all, m)
			}
			if k := mappings(t) - before; k < 2*n || k > 2*n+n/sweepShare+1 || ds[0].mapped != p.live {
				t.Errorf("%d mappings for %d pieces at both ends; %d and %d are counted", k, n, ds[0].mapped, p.live)
			}
			for _, m := range all {
				free(t, m)
			}
		}
		ds[0].mapped = mappingsMax
		m := newMemory(t, ds[1], 100, 64)
		number, _ := m.Name()
		if _, err := p.Memory(ds[0], number, uint64(uintptr(m.Base())), 100); !errors.Is(err, ErrManyMapped) {
			t.Errorf("one more than there may be: %v", err)
		}
		ds[0].mapped = p.live
		if _, err := p.Memory(ds[0], number, uint64(uintptr(m.Base())), 100); err != nil {
			t.Errorf("when others have gone: %v", err)
		}
		free(t, m)
	})
}

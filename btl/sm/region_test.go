package sm

import (
	"bytes"
	"errors"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/btl/btltest"
	"github.com/ompi-go/ompi-go/shm"
)

// shared is two processes' worth of endpoints, and memory of rank 1 that rank 0 can map.
type shared struct {
	*duo
	mem *shm.Memory
	h   btl.MemHandle // of all of it
	b   []byte
}

func newShared(t testing.TB, mechanism string, n int64) *shared {
	t.Helper()
	s := &shared{duo: newDuo(t, btltest.Config{Shm: mapped(shm.Options{Attach: "auto"}), RawHandles: true,
		Params: map[string]string{"btl_sm_single_copy_mechanism": mechanism}}, geometry{})}
	var err error
	if s.mem, err = s.Ranks[1].Env.Shm.NewMemory(n, 64); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.free(t) })
	s.b = unsafe.Slice((*byte)(s.mem.Base()), n)
	s.Ranks[1].Do(func() { s.h, err = s.to.Register(s.mem.Base(), n) })
	if err != nil || !s.to.IsShared(s.h) {
		t.Fatalf("the handle is %x, %v", s.h, err)
	}
	return s
}

func (s *shared) free(t testing.TB) {
	if s.mem == nil {
		return
	}
	base, n := s.mem.Range()
	if err := s.mem.Free(); err != nil {
		t.Error(err)
	}
	if err := unix.MunmapPtr(base, uintptr(n)); err != nil {
		t.Error(err)
	}
	s.mem = nil
}

func (s *shared) get(t testing.TB, x *btl.Transfer) (done bool, err error) {
	s.Ranks[0].Do(func() { done, err = s.ep.Get(x) })
	if done != (err == nil) {
		t.Errorf("done is %v with error %v", done, err)
	}
	return done, err
}

// TestMapped: memory that can be mapped is read and written without a system call, also where those are refused.
func TestMapped(t *testing.T) {
	for _, mechanism := range []string{"auto", "map"} {
		t.Run(mechanism, func(t *testing.T) {
			const n = 2<<20 + 17 // several pieces
			s := newShared(t, mechanism, n)
			for i := range s.b {
				s.b[i] = byte(i * 7)
			}
			dst := make([]byte, n)
			for _, r := range [][2]int64{{0, n}, {1, 1}, {n, 0}, {n - 1, 1}, {100, 1 << 20}, {5, 1<<20 + 1}} {
				clear(dst)
				if _, err := s.get(t, &btl.Transfer{Local: unsafe.Pointer(&dst[0]), N: r[1], Remote: s.h, Off: r[0]}); err != nil {
					t.Fatalf("Get(%d, +%d): %v", r[0], r[1], err)
				}
				if !bytes.Equal(dst[:r[1]], s.b[r[0]:r[0]+r[1]]) {
					t.Errorf("Get(%d, +%d): wrong bytes", r[0], r[1])
				}
			}
			if m := s.ep.m; m.mapped != 6 {
				t.Errorf("%d of 6 transfers were plain copies", m.mapped)
			}
			clear(dst)
			s.Ranks[0].Do(func() {
				if _, err := s.ep.Put(&btl.Transfer{Local: unsafe.Pointer(&dst[0]), N: 100, Remote: s.h, Off: 50}); err != nil {
					t.Errorf("Put: %v", err)
				}
			})
			if s.b[49] == 0 || !bytes.Equal(s.b[50:150], dst[:100]) || s.b[150] == 0 {
				t.Error("Put has not written where it should")
			}
			x := &btl.Transfer{Local: unsafe.Pointer(&dst[0]), N: n, Remote: s.h}
			if a := testing.AllocsPerRun(20, func() { _, _ = s.get(t, x) }); a != 0 {
				t.Errorf("a Get allocates %v times", a)
			}
			part, err := s.to.Register(unsafe.Pointer(&s.b[1000]), 10)
			if err != nil || !s.to.IsShared(part) {
				t.Fatalf("a part of it: %x, %v", part, err)
			}
			if _, err := s.get(t, &btl.Transfer{Local: unsafe.Pointer(&dst[0]), N: 10, Remote: part}); err != nil || !bytes.Equal(dst[:10], s.b[1000:1010]) {
				t.Errorf("Get of a part: %v", err)
			}
		})
	}
}

// TestMappedHostile: a handle does not lead out of its memory, however it is made up.
func TestMappedHostile(t *testing.T) {
	s := newShared(t, "map", 8192)
	dst := make([]byte, 1<<16)
	number := s.h.B &^ handleMask
	for _, c := range []struct {
		name   string
		h      btl.MemHandle
		off, n int64
	}{
		{"longer than its length", s.h, 0, 8193},
		{"behind its length", s.h, 8192, 1},
		{"a negative offset", s.h, -1, 1},
		{"a negative length", s.h, 0, -1},
		{"a sum that wraps", s.h, 1<<63 - 1, 1<<63 - 1},
		{"a length beyond the memory", btl.MemHandle{A: s.h.A, B: number | 1<<16}, 0, 1 << 16},
		{"an address before", btl.MemHandle{A: s.h.A - 1, B: s.h.B}, 0, 1},
		{"an address behind", btl.MemHandle{A: s.h.A + 8192, B: s.h.B}, 0, 1},
		{"an address that wraps", btl.MemHandle{A: ^uint64(0), B: s.h.B}, 0, 2},
		{"no such memory", btl.MemHandle{A: s.h.A, B: 60000<<handleBits | 8192}, 0, 1},
	} {
		s.ep.unmapped = 0
		if _, err := s.get(t, &btl.Transfer{Local: unsafe.Pointer(&dst[0]), N: c.n, Remote: c.h, Off: c.off}); err == nil {
			t.Errorf("%s: it succeeds", c.name)
		}
	}
	if slicesAny(dst) {
		t.Error("something was read")
	}
}

func slicesAny(b []byte) bool { return len(bytes.Trim(b, "\x00")) > 0 }

// FuzzMapped: what a handle says is checked.
func FuzzMapped(f *testing.F) {
	s := newShared(f, "map", 8192)
	f.Add(s.h.A, s.h.B, int64(0), int64(8192))
	f.Add(s.h.A+8000, s.h.B, int64(100), int64(200))
	f.Add(s.h.A, ^uint64(0), int64(1<<62), int64(1))
	f.Fuzz(func(t *testing.T, a, b uint64, off, n int64) {
		s.ep.unmapped = 0
		if n > 1<<16 || b>>handleBits > 64 && b>>handleBits != s.h.B>>handleBits {
			return
		}
		dst := make([]byte, max(n, 1))
		_, err := s.get(t, &btl.Transfer{Local: unsafe.Pointer(&dst[0]), N: n, Remote: btl.MemHandle{A: a, B: b}, Off: off})
		if err == nil && (a+uint64(off) < s.h.A || a+uint64(off)+uint64(n) > s.h.A+8192) {
			t.Errorf("address %#x, length and number %#x, [%d,+%d) was read; the memory is [%#x,+8192)", a, b, off, n, s.h.A)
		}
	})
}

// TestMappedRefused: what cannot be mapped is read in another way if there is one, the user is told, and it is not tried for ever.
func TestMappedRefused(t *testing.T) {
	for _, mechanism := range []string{"auto", "map"} {
		t.Run(mechanism, func(t *testing.T) {
			s := newShared(t, mechanism, 8192)
			s.h.B = 60000<<handleBits | 100
			src := []byte("ordinary")
			s.h.A = uint64(uintptr(unsafe.Pointer(&src[0])))
			dst := make([]byte, 8)
			for range mapTrials + 3 {
				_, err := s.get(t, &btl.Transfer{Local: unsafe.Pointer(&dst[0]), N: 8, Remote: s.h})
				if mechanism == "map" && !errors.Is(err, btl.ErrNotSupported) {
					t.Errorf("got %v", err)
				}
				if mechanism == "auto" && s.ep.noCopy == nil && (err != nil || string(dst) != "ordinary") {
					t.Errorf("read %q, %v", dst, err)
				}
			}
			if s.ep.unmapped != mapTrials {
				t.Errorf("tried %d times", s.ep.unmapped)
			}
			if s.Ranks[0].Said()["sm-map"] == "" {
				t.Error("nobody was told")
			}
		})
	}
}

// TestNotMapped: mechanisms that do without.
func TestNotMapped(t *testing.T) {
	dst := make([]byte, 8)
	for _, mechanism := range []string{"cma", "none"} {
		s := newShared(t, mechanism, 8192)
		_, err := s.get(t, &btl.Transfer{Local: unsafe.Pointer(&dst[0]), N: 8, Remote: s.h})
		if s.ep.m.mapped != 0 || mechanism == "none" && !errors.Is(err, btl.ErrNotSupported) {
			t.Errorf("%s: %d mapped, %v", mechanism, s.ep.m.mapped, err)
		}
	}
}

// BenchmarkGet1M is one MiB between memory that can be mapped, beside a copy of as much.
func BenchmarkGet1M(b *testing.B) {
	const n = 1 << 20
	s := newShared(b, "auto", n)
	local, err := s.Ranks[0].Env.Shm.NewMemory(n, 64)
	if err != nil {
		b.Fatal(err)
	}
	dst := unsafe.Slice((*byte)(local.Base()), n)
	x := &btl.Transfer{Local: local.Base(), N: n, Remote: s.h}
	plain := btl.MemHandle{A: s.h.A, B: n}
	run := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(n)
			for b.Loop() {
				f()
			}
		})
	}
	s.Ranks[0].Do(func() {
		run("Copy", func() { copy(dst, s.b) })
		run("Mapped", func() { x.Remote = s.h; _, _ = s.ep.Get(x) })
		run("Readv", func() { x.Remote = plain; _, _ = s.ep.Get(x) })
	})
}

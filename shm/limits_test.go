package shm

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAvailable reads meminfo.
func TestAvailable(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int64
		ok   bool
	}{
		{"MemTotal: 9 kB\nMemAvailable:    3 kB\nSwapFree: 2 kB\n", 5 << 10, true},
		{"MemAvailable: 3 kB", 3 << 10, true},
		{"SwapFree: 2 kB\n", 2 << 10, false},
		{"MemAvailable: -3 kB\n", 0, false},
		{"MemAvailable: 99999999999999999999 kB\n", 0, false},
		{"MemAvailable:\n\n", 0, false},
		{"", 0, false},
	} {
		if n, ok := available([]byte(c.text)); ok != c.ok || (ok && n != c.n) {
			t.Errorf("%q: %d, %v", c.text, n, ok)
		}
	}
}

// TestRoom: what no machine has is refused before anybody looks for it.
func TestRoom(t *testing.T) {
	if err := RoomFor(1 << 62); err == nil {
		t.Error("the heap has room for 2^62 bytes")
	}
	if err := errors.Join(RoomFor(1<<20), RoomFor(roomAsked), committable(1<<20), committable(roomAsked)); err != nil {
		t.Log(err) // a small machine
	}
	if err := committable(1 << 62); !errors.Is(err, unix.ENOMEM) {
		t.Errorf("2^62 bytes can be committed: %v", err)
	}
}

// TestCommit: all is committed piece by piece, also when signals come.
func TestCommit(t *testing.T) {
	var got, calls int64
	k := &kernel{fallocate: func(_ int, _ uint32, off, n int64) error {
		if calls++; calls%2 == 1 {
			return unix.EINTR
		}
		if off != 7+got || n > commitStep {
			t.Fatalf("[%d,+%d) behind %d bytes", off, n, got)
		}
		got += n
		return nil
	}}
	if err := k.commit(0, 7, 3*commitStep+5); err != nil || got != 3*commitStep+5 {
		t.Errorf("%d bytes, %v", got, err)
	}
	got, k.fallocate = 0, func(_ int, _ uint32, off, n int64) error {
		if off != got || n > commitStep {
			t.Fatalf("[%d,+%d) behind %d bytes", off, n, got)
		}
		got += n
		return nil
	}
	if err := k.commitMuch(0, 2*roomAsked+9); err == nil && got != 2*roomAsked+9 {
		t.Errorf("%d bytes", got)
	}
	got = 0
	if err := k.commitMuch(0, 1<<62); err == nil || got != 0 {
		t.Errorf("2^62 bytes: %d, %v", got, err)
	}
}

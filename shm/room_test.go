package shm

import (
	"errors"
	"math"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseAvailable(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
	}{
		{"MemTotal: 100 kB\nMemAvailable:   10 kB\nSwapFree: 3 kB\n", 13 << 10},
		{"MemAvailable: 10 kB", 10 << 10},
		{"SwapFree: 3 kB\n", math.MaxInt64},
		{"MemAvailable: many kB\n", math.MaxInt64},
		{"MemAvailable: 9223372036854775807 kB\n", math.MaxInt64},
		{"MemAvailable:\n", math.MaxInt64},
		{"", math.MaxInt64},
	} {
		if got := parseAvailable([]byte(c.text)); got != c.want {
			t.Errorf("%q: %d, want %d", c.text, got, c.want)
		}
	}
}

// TestReserveStopsInTime: a file is never grown by more than what is free at that moment, whoever takes memory meanwhile.
func TestReserveStopsInTime(t *testing.T) {
	free, taken := int64(4*reserveStep), int64(0)
	k := &kernel{
		available: func() int64 { return free - taken },
		fallocate: func(_ int, _ uint32, off, n int64) error {
			if off != taken {
				t.Errorf("at %d, want %d", off, taken)
			}
			taken += n
			return nil
		},
	}
	if err := k.reserve(0, 1<<45); !errors.Is(err, unix.ENOMEM) || taken != 0 {
		t.Errorf("more than there is: %v, %d taken", err, taken)
	}
	if err := k.reserve(0, 4*reserveStep-5); err != nil || taken != 4*reserveStep-5 {
		t.Errorf("what there is: %v, %d taken", err, taken)
	}
	taken = 0
	grab := k.fallocate
	k.fallocate = func(fd int, mode uint32, off, n int64) error {
		err := grab(fd, mode, off, n)
		free -= 2 * reserveStep // somebody else
		return err
	}
	if err := k.reserve(0, 3*reserveStep); !errors.Is(err, unix.ENOMEM) || taken != reserveStep {
		t.Errorf("while another one takes memory: %v, %d taken", err, taken)
	}
}

func TestNewMemoryBeyondTheMachine(t *testing.T) {
	if err := CheckRoom(1 << 45); !errors.Is(err, unix.ENOMEM) {
		t.Errorf("CheckRoom: %v", err)
	}
}

package progress

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Spread leaves a thread with the cores it had, whoever calls.
func TestSpread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Skip(err)
	}
	for _, yield := range []YieldMode{YieldAlways, YieldNever} {
		e := New(Config{Cores: 1, LocalRanks: 8, Yield: yield})
		for i := range 9 {
			e.Spread(i)
			if err := unix.SchedGetaffinity(0, &after); err != nil || after != before {
				t.Fatalf("position %d, mode %d: %v, cores %v, had %v", i, yield, err, after, before)
			}
		}
	}
}

package rte

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestSpareCore(t *testing.T) {
	of := func(cpus ...int) *unix.CPUSet {
		var s unix.CPUSet
		for _, c := range cpus {
			s.Set(c)
		}
		return &s
	}
	for _, c := range []struct {
		name  string
		local int
		set   *unix.CPUSet
		quota float64
		list  string
		want  int // -1: refused
	}{
		{"last of the affinity", 0, of(0, 1, 4, 7), 0, "", 7},
		{"last but one for the next rank", 1, of(0, 1, 4, 7), 0, "", 4},
		{"round again", 4, of(0, 1, 4, 7), 0, "", 7},
		{"one core", 0, of(3), 0, "", -1},
		{"bound, with a spare", 0, of(0), 0, "2,3", 3},
		{"bound, the next spare", 1, of(1), 0, "2,3", 2},
		{"bound, no spare left", 2, of(4), 0, "2,3", -1},
		{"bound to a core of two threads, no spare", 2, of(4, 5), 0, "", 5},
		{"not a list", 0, of(0), 0, "x", -1},
		{"out of range", 0, of(0), 0, "-1", -1},
		{"throttled", 0, of(0, 1, 2), 1.5, "", -1},
		{"limited", 0, of(0, 1, 2), 2, "", 2},
	} {
		got, err := spareCore(c.local, c.set, c.quota, c.list)
		if err != nil {
			got = -1
		}
		if got != c.want {
			t.Errorf("%s: %d (%v), want %d", c.name, got, err, c.want)
		}
	}
}

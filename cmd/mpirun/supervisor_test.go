package main

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/rte/pmi"
)

// transcript is a world that writes down what is done to it.
type transcript struct{ lines []string }

func (w *transcript) signal(rank int, sig syscall.Signal) {
	if sig != syscall.SIGCONT {
		w.lines = append(w.lines, fmt.Sprintf("signal %d to %d", sig, rank))
	}
}

func (w *transcript) tellDead(to, rank int, cause string) {
	w.lines = append(w.lines, fmt.Sprintf("tell %d that %d: %s", to, rank, cause))
}

func (w *transcript) ask(rank int) bool {
	w.lines = append(w.lines, fmt.Sprintf("ask %d", rank))
	return rank != 2
}

func (w *transcript) say(format string, args ...any) {
	w.lines = append(w.lines, "say "+fmt.Sprintf(format, args...))
}

// Wait statuses as the kernel encodes them.
func exited(status int) syscall.WaitStatus { return syscall.WaitStatus(status << 8) }
func killed(sig int) syscall.WaitStatus    { return syscall.WaitStatus(sig) }

var finalized = pmi.State{Inited: true, Finalized: true}

// TestSupervisor plays histories of a job of three ranks with process ids 100 to 102 on host H.
func TestSupervisor(t *testing.T) {
	type sv = *supervisor
	start := time.Unix(1000, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	endAll := func(s sv) {
		for rank := range s.ranks {
			if s.ranks[rank].alive {
				s.exited(rank, killed(15), pmi.State{}, at(2000))
			}
		}
	}
	for _, c := range []struct {
		name    string
		survive bool
		play    func(s sv)
		status  int
		want    string
	}{
		{"all is well", false, func(s sv) {
			for rank := range 3 {
				s.inited(rank, at(0))
			}
			s.exited(0, exited(0), finalized, at(1))
			s.exited(1, exited(0), finalized, at(2))
			s.exited(2, exited(0), finalized, at(3))
		}, 0, ``},
		{"nobody calls Init", false, func(s sv) {
			for rank := range 3 {
				s.exited(rank, exited(0), pmi.State{}, at(1))
			}
		}, 0, ``},
		{"one ends before the others call Init", false, func(s sv) {
			s.exited(1, exited(0), pmi.State{}, at(1))
			s.inited(0, at(2))
			s.inited(2, at(3))
			endAll(s)
		}, 1, `
			say rank 1 (pid 101) on H exited without Init, which other ranks have called; ending the job (2 other ranks)
			signal 15 to 0
			signal 15 to 2`},
		{"one ends after the others have called Init", true, func(s sv) {
			s.inited(0, at(1))
			s.exited(1, exited(0), pmi.State{}, at(2))
			s.inited(2, at(3))
			s.hello(2)
			s.exited(0, exited(0), finalized, at(4))
			s.exited(2, exited(0), finalized, at(4))
		}, 1, `
			tell 0 that 1: rank 1 (pid 101) on H exited without Init, which other ranks have called
			tell 2 that 1: rank 1 (pid 101) on H exited without Init, which other ranks have called
			say rank 1 (pid 101) on H exited without Init, which other ranks have called; going on with 2 other ranks
			tell 2 that 1: rank 1 (pid 101) on H exited without Init, which other ranks have called`},
		{"a status", false, func(s sv) {
			s.exited(1, exited(3), finalized, at(1))
			s.exited(0, exited(9), finalized, at(2))
			s.exited(2, killed(15), pmi.State{}, at(3))
		}, 3, `
			say rank 1 (pid 101) on H exited with status 3; ending the job (2 other ranks)
			signal 15 to 0
			signal 15 to 2`},
		{"notes, once each and by the lowest rank", false, func(s sv) {
			s.note(2, "copy", "no copy of 2", at(0))
			s.note(1, "copy", "no copy of 1", at(50))
			s.note(2, "room", "no room", at(60))
			s.tick(at(99))
			s.tick(at(100))
			s.note(0, "copy", "no copy of 0", at(120))
			s.note(0, "late", "at the end", at(130))
			for rank := range 3 {
				s.exited(rank, exited(0), finalized, at(140))
			}
		}, 0, `
			say ranks 1-2 on H: no copy of 1
			say rank 2 (pid 102) on H: no room
			say rank 0 (pid 100) on H: at the end`},
		{"a note before the end", false, func(s sv) {
			s.note(1, "copy", "no copy", at(0))
			s.exited(0, exited(4), finalized, at(10))
			s.note(2, "room", "nobody cares", at(20))
			endAll(s)
		}, 4, `
			say rank 0 (pid 100) on H exited with status 4; ending the job (2 other ranks)
			say rank 1 (pid 101) on H: no copy
			signal 15 to 1
			signal 15 to 2`},
		{"a signal, and no mercy", false, func(s sv) {
			s.exited(2, killed(9), pmi.State{}, at(1))
			s.exited(0, killed(15), pmi.State{}, at(2))
			s.tick(at(500))
			s.tick(at(501))
			s.tick(at(5500))
			s.tick(at(5501))
		}, 137, `
			say rank 2 (pid 102) on H was killed by signal 9 (killed); ending the job (2 other ranks)
			signal 15 to 0
			signal 15 to 1
			signal 9 to 1
			say giving up ranks that do not end although killed: 1`},
		{"the last one, without Finalize", false, func(s sv) {
			s.exited(0, exited(0), finalized, at(1))
			s.exited(1, exited(0), finalized, at(1))
			s.exited(2, exited(0), pmi.State{Inited: true}, at(1))
		}, 1, `
			say rank 2 (pid 102) on H exited without Finalize`},
		{"abort", false, func(s sv) {
			s.abort(1, 256, "enough", at(1))
			s.abort(0, 5, "too late", at(2))
			s.exited(1, exited(1), pmi.State{Inited: true}, at(3))
			endAll(s)
		}, 1, `
			say rank 1 (pid 101) on H called Abort(256): enough; ending the job (2 other ranks)
			signal 15 to 0
			signal 15 to 1
			signal 15 to 2`},
		{"abort ends a job that goes on", true, func(s sv) {
			s.abort(1, 7, "", at(1))
			endAll(s)
		}, 7, `
			say rank 1 (pid 101) on H called Abort(7); ending the job (2 other ranks)
			signal 15 to 0
			signal 15 to 1
			signal 15 to 2`},
		{"one report for all", false, func(s sv) {
			s.report(2, "bad value\n", at(1))
			s.report(1, "bad value\n", at(2))
			s.exited(2, exited(1), pmi.State{Inited: true}, at(3))
			s.report(0, "bad value\n", at(4))
			endAll(s)
		}, 1, `
			say ranks 0-2 on H failed: bad value
			signal 15 to 0
			signal 15 to 1`},
		{"a report and its victims", false, func(s sv) {
			s.report(1, "disk full", at(1))
			s.exited(1, exited(4), pmi.State{Inited: true}, at(2))
			s.exited(0, exited(5), pmi.State{Inited: true}, at(3))
			s.tick(at(101))
			s.tick(at(102))
			s.report(2, "rank 0 is gone", at(103))
			endAll(s)
		}, 4, `
			say rank 1 (pid 101) on H failed: disk full; ending the job (1 other rank)
			signal 15 to 2`},
		{"reports that trickle in", false, func(s sv) {
			s.ranks = append(s.ranks, rankStatus{pid: 103, alive: true}, rankStatus{pid: 104, alive: true})
			s.alive += 2
			s.report(0, "bad", at(0))
			s.exited(0, exited(1), pmi.State{}, at(1))
			s.tick(at(100))
			s.report(1, "bad", at(100))
			s.tick(at(199))
			s.report(2, "bad", at(199))
			s.tick(at(298))
			s.report(3, "bad", at(298))
			s.tick(at(350))
			s.tick(at(351))
			endAll(s)
		}, 1, `
			say ranks 0-3 on H failed: bad; ending the job (1 other rank)
			signal 15 to 1
			signal 15 to 2
			signal 15 to 3
			signal 15 to 4`},
		{"who has reported is not ended by mpirun", false, func(s sv) {
			s.report(0, "this", at(1))
			s.abort(1, 2, "", at(2))
			endAll(s)
		}, 2, `
			say rank 0 (pid 100) on H failed: this
			say rank 1 (pid 101) on H called Abort(2); ending the job (1 other rank)
			signal 15 to 0
			signal 15 to 1
			signal 15 to 2`},
		{"reports while one falls without", true, func(s sv) {
			s.report(0, "this", at(1))
			s.exited(2, killed(9), pmi.State{Inited: true}, at(2))
			s.exited(0, exited(1), pmi.State{}, at(3))
			s.exited(1, exited(0), finalized, at(4))
		}, 137, `
			tell 0 that 2: rank 2 (pid 102) on H was killed by signal 9 (killed)
			tell 1 that 2: rank 2 (pid 102) on H was killed by signal 9 (killed)
			say rank 2 (pid 102) on H was killed by signal 9 (killed); going on with 1 other rank
			tell 1 that 0: rank 0 (pid 100) on H exited with status 1
			say rank 0 (pid 100) on H failed: this`},
		{"different reports, all end", false, func(s sv) {
			s.report(0, "this", at(1))
			s.report(1, "that", at(1))
			s.exited(0, exited(1), pmi.State{}, at(2))
			s.exited(1, exited(1), pmi.State{}, at(2))
			s.exited(2, exited(1), pmi.State{}, at(2))
		}, 1, `
			say rank 0 (pid 100) on H failed: this
			say rank 1 (pid 101) on H failed: that`},
		{"different reports, others run", false, func(s sv) {
			s.report(0, "this", at(1))
			s.report(1, "that", at(1))
			s.exited(0, exited(1), pmi.State{}, at(2))
			s.tick(at(102))
			endAll(s)
		}, 1, `
			say rank 0 (pid 100) on H failed: this
			say rank 1 (pid 101) on H failed: that; ending the job (1 remaining rank)
			signal 15 to 1
			signal 15 to 2`},
		{"survivors are told, also late ones", true, func(s sv) {
			s.exited(1, killed(11), pmi.State{Inited: true}, at(1))
			s.hello(2)
			s.exited(2, exited(2), pmi.State{Inited: true}, at(2))
			s.exited(0, exited(0), finalized, at(3))
		}, 139, `
			tell 0 that 1: rank 1 (pid 101) on H was killed by signal 11 (segmentation fault)
			tell 2 that 1: rank 1 (pid 101) on H was killed by signal 11 (segmentation fault)
			say rank 1 (pid 101) on H was killed by signal 11 (segmentation fault); going on with 2 other ranks
			tell 2 that 1: rank 1 (pid 101) on H was killed by signal 11 (segmentation fault)
			tell 0 that 2: rank 2 (pid 102) on H exited with status 2
			say rank 2 (pid 102) on H exited with status 2; going on with 1 other rank`},
		{"reports while going on", true, func(s sv) {
			s.report(1, "why", at(1))
			s.exited(1, exited(2), pmi.State{}, at(2))
			s.tick(at(102))
			s.report(0, "why", at(200))
			s.exited(0, exited(3), pmi.State{}, at(201))
			s.exited(2, exited(0), finalized, at(202))
		}, 2, `
			tell 0 that 1: rank 1 (pid 101) on H exited with status 2
			tell 2 that 1: rank 1 (pid 101) on H exited with status 2
			say rank 1 (pid 101) on H failed: why; going on with 2 other ranks
			tell 2 that 0: rank 0 (pid 100) on H exited with status 3
			say rank 0 (pid 100) on H failed: why`},
		{"interrupted twice", false, func(s sv) {
			s.interrupt(syscall.SIGINT, at(1))
			s.interrupt(syscall.SIGINT, at(2))
			endAll(s)
		}, 130, `
			say got signal 2 (interrupt); ending the job (3 ranks)
			signal 2 to 0
			signal 2 to 1
			signal 2 to 2
			signal 9 to 0
			signal 9 to 1
			signal 9 to 2`},
		{"too long", true, func(s sv) {
			s.exited(0, exited(3), pmi.State{}, at(1))
			s.tick(at(59999))
			s.tick(at(60000))
			s.here(1, "in Recv at main.go:7", at(60001))
			endAll(s)
		}, 124, `
			tell 1 that 0: rank 0 (pid 100) on H exited with status 3
			tell 2 that 0: rank 0 (pid 100) on H exited with status 3
			say rank 0 (pid 100) on H exited with status 3; going on with 2 other ranks
			ask 1
			ask 2
			say the job has run for 1m0s (--timeout); ending it (2 ranks)
			rank 0 (pid 100) on H: has ended
			rank 1 (pid 101) on H: in Recv at main.go:7
			rank 2 (pid 102) on H: before Init
			signal 15 to 1
			signal 15 to 2`},
		{"too long, and no answer", false, func(s sv) {
			s.tick(at(60000))
			s.exited(1, exited(0), finalized, at(60001))
			s.tick(at(60999))
			s.tick(at(61000))
			endAll(s)
		}, 124, `
			ask 0
			ask 1
			ask 2
			say the job has run for 1m0s (--timeout); ending it (2 ranks)
			rank 0 (pid 100) on H: does not answer
			rank 1 (pid 101) on H: has ended
			rank 2 (pid 102) on H: before Init
			signal 15 to 0
			signal 15 to 2`},
		{"too long, but all end", false, func(s sv) {
			s.tick(at(60000))
			for _, rank := range []int{2, 1, 0} {
				s.exited(rank, exited(0), finalized, at(60001))
			}
		}, 124, `
			ask 0
			ask 1
			ask 2
			say the job has run for 1m0s (--timeout)`},
		{"a goroutine dump takes its time", false, func(s sv) {
			s.interrupt(syscall.SIGQUIT, at(1))
			s.tick(at(5000))
			s.exited(0, exited(2), pmi.State{Inited: true}, at(5000))
			s.tick(at(5001))
			endAll(s)
		}, 131, `
			say got signal 3 (quit); ending the job (3 ranks)
			signal 3 to 0
			signal 3 to 1
			signal 3 to 2
			signal 9 to 1
			signal 9 to 2`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &transcript{}
			s := newSupervisor(w, "H", []int{100, 101, 102}, c.survive, time.Minute, start)
			c.play(s)
			var want []string
			for line := range strings.Lines(c.want) {
				if line = strings.TrimSpace(line); line != "" {
					want = append(want, line)
				}
			}
			var got []string // a message may have several lines
			for _, line := range w.lines {
				for l := range strings.SplitSeq(line, "\n") {
					got = append(got, strings.TrimSpace(l))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(w.lines, "\n\t"), strings.Join(want, "\n\t"))
			}
			if s.status != c.status || !s.done() {
				t.Errorf("status %d, done %v, want %d", s.status, s.done(), c.status)
			}
		})
	}
}

func TestDeadline(t *testing.T) {
	start := time.Unix(1000, 0)
	s := newSupervisor(&transcript{}, "H", []int{1, 2}, false, 0, start)
	if !s.deadline().IsZero() {
		t.Errorf("nothing is due, but at %v", s.deadline())
	}
	s.report(0, "x", start)
	s.exited(0, exited(1), pmi.State{}, start)
	if got := s.deadline(); !got.Equal(start.Add(gatherTime)) {
		t.Errorf("gathering ends at %v", got)
	}
	s.tick(start.Add(gatherTime))
	if got := s.deadline(); !got.Equal(start.Add(gatherTime + termTime)) {
		t.Errorf("killing begins at %v", got)
	}
}

func TestRankList(t *testing.T) {
	for want, ranks := range map[string][]int{"": nil, "4": {4}, "0-3": {0, 1, 2, 3}, "0,2-3,7": {0, 2, 3, 7}} {
		if got := rankList(ranks); got != want {
			t.Errorf("%v: %s, want %s", ranks, got, want)
		}
	}
}

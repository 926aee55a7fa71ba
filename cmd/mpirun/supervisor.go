package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/rte/pmi"
)

// How long things may take. Together they keep the end of a job within a second of the first failure.
const (
	gatherTime = 100 * time.Millisecond // for one more rank to report the same error
	gatherMost = 350 * time.Millisecond // for all of them
	askTime    = time.Second            // for ranks to say what they are doing
	termTime   = 500 * time.Millisecond // between the polite signal and SIGKILL
	dumpTime   = 5 * time.Second        // likewise after SIGQUIT, on which ranks print their goroutines
	killTime   = 5 * time.Second        // after which processes that SIGKILL does not end are given up
)

// phase is how far the end of the job has come; it only grows.
type phase int

const (
	running   phase = iota // no failure that ends the job
	gathering              // a rank has failed with a report; others may be about to report the same
	ending                 // all ranks have got a signal to end
	killing                // all ranks have got SIGKILL
)

// world is what the supervisor acts on.
type world interface {
	signal(rank int, sig syscall.Signal)
	tellDead(to, rank int, cause string)
	ask(rank int) bool // an answer may come: see here
	say(format string, args ...any)
}

// supervisor decides what mpirun does about its ranks. It has no clock, no processes, no sockets: events come in as method
// calls with their time, actions go out through world. One goroutine calls it.
type supervisor struct {
	world   world
	host    string
	survive bool // --on-failure continue
	timeout time.Duration

	ranks []rankStatus
	alive int // Invariant: the number of ranks with alive set
	phase phase

	joined bool // some rank has called Init
	failed bool // status is decided
	status int

	reports []*report
	notes   []*note
	dead    []deadRank // told to survivors, and to those that say hello later

	gatherUntil time.Time // set in phase gathering, and with survive while reports are held back
	gatherEnd   time.Time // the latest that gatherUntil can become
	notesUntil  time.Time // set while notes are held back
	nextAt      time.Time // in phases ending and killing: when the next takes over
	timeoutAt   time.Time
	askUntil    time.Time // set when the time is over and ranks have been asked what they are doing
	gaveUp      bool
}

type rankStatus struct {
	pid      int
	alive    bool
	reported bool
	skipped  bool // it ended well without Init
	joined   bool // it has called Init
	asked    bool // it may still say what it is doing
	doing    string
}

// report is an error message and the ranks that ended with it.
type report struct {
	msg     string
	ranks   []int
	printed bool
}

// note is something for the user to know, and the ranks that said it.
type note struct {
	key     string
	msg     string // the lowest rank's
	ranks   []int
	printed bool
}

type deadRank struct {
	rank  int
	cause string
}

func newSupervisor(w world, host string, pids []int, survive bool, timeout time.Duration, now time.Time) *supervisor {
	s := &supervisor{world: w, host: host, survive: survive, timeout: timeout, alive: len(pids)}
	for _, pid := range pids {
		s.ranks = append(s.ranks, rankStatus{pid: pid, alive: true})
	}
	if timeout > 0 {
		s.timeoutAt = now.Add(timeout)
	}
	return s
}

// done tells whether the job has ended.
func (s *supervisor) done() bool { return s.alive == 0 || s.gaveUp }

// deadline is when tick has something to do; zero for never.
func (s *supervisor) deadline() time.Time {
	var first time.Time
	for _, t := range []time.Time{s.gatherUntil, s.notesUntil, s.nextAt, s.timeoutAt, s.askUntil} {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// exited takes the end of a rank's process, how far it had come with PMI, and everything it had said before.
func (s *supervisor) exited(rank int, ws syscall.WaitStatus, st pmi.State, now time.Time) {
	r := &s.ranks[rank]
	r.alive = false
	s.alive--
	status, how := causeOf(ws, st)
	switch {
	case status != 0:
		s.fail(rank, status, how, now)
	case st.Inited:
	case s.joined:
		s.fail(rank, 1, skippedInit, now)
	default:
		r.skipped = true
	}
	s.heard(now)
	s.settle(now)
}

// skippedInit is how a rank failed that ended well, though the others wait for it in Init. A job in which no rank calls Init is fine.
const skippedInit = "exited without Init, which other ranks have called"

// inited takes a rank's first word of PMI, by Init.
func (s *supervisor) inited(rank int, now time.Time) {
	s.joined, s.ranks[rank].joined = true, true
	for r := range s.ranks {
		if s.ranks[r].skipped && r != rank {
			s.ranks[r].skipped = false
			s.fail(r, 1, skippedInit, now)
		}
	}
}

// fail takes the first or a further failure of a rank whose process has ended.
func (s *supervisor) fail(rank, status int, how string, now time.Time) {
	s.decide(status)
	if s.phase >= ending {
		return // its end is our doing
	}
	r := &s.ranks[rank]
	what := fmt.Sprintf("%s %s", s.name(rank), how)
	if s.survive {
		d := deadRank{rank, what}
		s.dead = append(s.dead, d)
		for to := range s.ranks {
			if s.ranks[to].alive {
				s.world.tellDead(to, d.rank, d.cause)
			}
		}
	}
	switch {
	case r.reported:
		if s.gatherUntil.IsZero() {
			s.gatherUntil, s.gatherEnd = now.Add(gatherTime), now.Add(gatherMost)
		}
		if !s.survive {
			s.phase = gathering
		}
	case s.survive:
		s.world.say("%s%s", what, goingOn(s.others(rank)))
	case s.phase == gathering:
		// The reports to come say why; this rank most likely fell with those.
	default:
		s.world.say("%s%s", what, endingJob(s.others(rank)))
		s.becomeEnding(syscall.SIGTERM, now)
	}
}

// others counts the ranks beside rank that still run and have not reported that they are about to end.
func (s *supervisor) others(rank int) int {
	n := 0
	for r := range s.ranks {
		if r != rank && s.ranks[r].alive && !s.ranks[r].reported {
			n++
		}
	}
	return n
}

// settle prints held reports when nobody is left to wait for.
func (s *supervisor) settle(now time.Time) {
	if s.alive == 0 {
		s.sayTimeout()
		s.printNotes()
		if s.phase < ending {
			s.print("")
		}
		s.gatherUntil = time.Time{}
		return
	}
	if s.gatherUntil.IsZero() {
		return
	}
	if !slices.ContainsFunc(s.ranks, func(r rankStatus) bool { return r.alive && !r.reported }) {
		s.gathered(now)
	}
}

func (s *supervisor) gathered(now time.Time) {
	s.gatherUntil = time.Time{}
	if s.survive {
		s.print(theyGoOn)
		return
	}
	s.print(theyEnd)
	s.becomeEnding(syscall.SIGTERM, now)
}

// report takes the error that a rank is about to end with.
func (s *supervisor) report(rank int, msg string, now time.Time) {
	s.ranks[rank].reported = true
	if s.phase >= ending {
		return // a consequence
	}
	i := slices.IndexFunc(s.reports, func(r *report) bool { return r.msg == msg && !r.printed })
	if i < 0 {
		s.reports = append(s.reports, &report{msg: msg})
		i = len(s.reports) - 1
	}
	s.reports[i].ranks = append(s.reports[i].ranks, rank)
	if !s.gatherUntil.IsZero() {
		s.gatherUntil = now.Add(gatherTime)
		if s.gatherUntil.After(s.gatherEnd) {
			s.gatherUntil = s.gatherEnd
		}
	}
	s.settle(now)
}

// note takes what a rank would have the user know. It is held back a little, for lower ranks to say the same.
func (s *supervisor) note(rank int, key, msg string, now time.Time) {
	if s.phase >= ending {
		return
	}
	i := slices.IndexFunc(s.notes, func(n *note) bool { return n.key == key })
	if i < 0 {
		s.notes = append(s.notes, &note{key: key, msg: msg, ranks: []int{rank}})
		if s.notesUntil.IsZero() {
			s.notesUntil = now.Add(gatherTime)
		}
		return
	}
	n := s.notes[i]
	if rank < slices.Min(n.ranks) {
		n.msg = msg
	}
	n.ranks = append(n.ranks, rank)
}

// printNotes prints each note once, however many ranks say it later.
func (s *supervisor) printNotes() {
	s.notesUntil = time.Time{}
	for _, n := range s.notes {
		if !n.printed {
			n.printed = true
			s.world.say("%s: %s", s.names(n.ranks), n.msg)
		}
	}
}

// What becomes of the ranks that have not failed.
const (
	theyEnd  = "ending the job"
	theyGoOn = "going on with"
)

// print prints each report once, and behind the last what becomes of the ranks that none of them names. After several, "other" could
// be taken for all but those of the last report.
func (s *supervisor) print(what string) {
	s.reports = slices.DeleteFunc(s.reports, func(r *report) bool { return r.printed })
	which := "other rank"
	if len(s.reports) > 1 {
		which = "remaining rank"
	}
	for i, r := range s.reports {
		r.printed = true
		end := ""
		if i == len(s.reports)-1 && what != "" {
			end = tail(what, s.others(-1), which)
		}
		s.world.say("%s failed: %s%s", s.names(r.ranks), strings.TrimRight(r.msg, "\n"), end)
	}
}

// hello tells a rank, now that it listens, of those that died before.
func (s *supervisor) hello(rank int) {
	for _, d := range s.dead {
		s.world.tellDead(rank, d.rank, d.cause)
	}
}

// abort takes a rank's call of Abort, which ends the job under either policy.
func (s *supervisor) abort(rank, code int, msg string, now time.Time) {
	if s.phase >= ending {
		return
	}
	status := code & 0xff
	if status == 0 {
		status = 1
	}
	s.decide(status)
	s.print("")
	what := fmt.Sprintf("%s called Abort(%d)", s.name(rank), code)
	if msg != "" {
		what += ": " + msg
	}
	s.world.say("%s%s", what, endingJob(s.others(rank)))
	s.becomeEnding(syscall.SIGTERM, now)
}

// interrupt takes a signal to mpirun that means the end. A second one does not wait any longer.
func (s *supervisor) interrupt(sig syscall.Signal, now time.Time) {
	if s.phase >= ending {
		s.becomeKilling(now)
		return
	}
	s.failed, s.status = true, 128+int(sig)
	s.print("")
	s.world.say("got signal %d (%v); ending the job (%s)", sig, sig, plural(s.alive, "rank"))
	s.becomeEnding(sig, now)
}

// tick does what is due.
func (s *supervisor) tick(now time.Time) {
	due := func(t time.Time) bool { return !t.IsZero() && !now.Before(t) }
	if due(s.timeoutAt) && s.phase < ending {
		s.becomeAsking(now)
	}
	if due(s.askUntil) {
		s.becomeEnding(syscall.SIGTERM, now)
	}
	if due(s.notesUntil) {
		s.printNotes()
	}
	if due(s.gatherUntil) {
		s.gathered(now)
	}
	if due(s.nextAt) {
		if s.phase == ending {
			s.becomeKilling(now)
		} else {
			s.giveUp()
		}
	}
}

// decide fixes the exit status, which is that of the first failure.
func (s *supervisor) decide(status int) {
	if !s.failed {
		s.failed, s.status = true, status
	}
}

func (s *supervisor) becomeEnding(sig syscall.Signal, now time.Time) {
	s.sayTimeout()
	s.printNotes()
	s.phase = ending
	s.gatherUntil, s.timeoutAt = time.Time{}, time.Time{}
	s.nextAt = now.Add(termTime)
	if sig == syscall.SIGQUIT {
		s.nextAt = now.Add(dumpTime)
	}
	for rank := range s.ranks {
		if s.ranks[rank].alive {
			s.world.signal(rank, sig)
			s.world.signal(rank, syscall.SIGCONT) // a stopped process would not notice
		}
	}
}

func (s *supervisor) becomeKilling(now time.Time) {
	s.phase = killing
	s.nextAt = now.Add(killTime)
	for rank := range s.ranks {
		if s.ranks[rank].alive {
			s.world.signal(rank, syscall.SIGKILL)
		}
	}
}

func (s *supervisor) giveUp() {
	s.gaveUp = true
	var stuck []int
	for rank := range s.ranks {
		if s.ranks[rank].alive {
			stuck = append(stuck, rank)
		}
	}
	s.world.say("giving up ranks that do not end although killed: %s", rankList(stuck))
}

func (s *supervisor) name(rank int) string {
	return fmt.Sprintf("rank %d (pid %d) on %s", rank, s.ranks[rank].pid, s.host)
}

// names names one rank or several.
func (s *supervisor) names(ranks []int) string {
	if len(ranks) == 1 {
		return s.name(ranks[0])
	}
	slices.Sort(ranks)
	return fmt.Sprintf("ranks %s on %s", rankList(ranks), s.host)
}

func endingJob(n int) string { return tail(theyEnd, n, "other rank") }

func goingOn(n int) string { return tail(theyGoOn, n, "other rank") }

// tail ends a message with what becomes of the n ranks beside its subject; "" when there are none.
func tail(what string, n int, ranks string) string {
	switch {
	case n == 0:
		return ""
	case what == theyEnd:
		return fmt.Sprintf("; %s (%s)", what, plural(n, ranks))
	}
	return fmt.Sprintf("; %s %s", what, plural(n, ranks))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// causeOf says whether the end of a process was a failure (status not 0, the one mpirun ends with) and how it came.
func causeOf(ws syscall.WaitStatus, st pmi.State) (status int, how string) {
	switch {
	case ws.Signaled():
		core := ""
		if ws.CoreDump() {
			core = ", core dumped"
		}
		return 128 + int(ws.Signal()), fmt.Sprintf("was killed by signal %d (%v%s)", ws.Signal(), signalName(ws.Signal()), core)
	case ws.ExitStatus() != 0:
		return ws.ExitStatus(), fmt.Sprintf("exited with status %d", ws.ExitStatus())
	case st.Inited && !st.Finalized:
		return 1, "exited without Finalize"
	}
	return 0, ""
}

func signalName(sig syscall.Signal) string {
	if unix.SignalName(sig) == "" {
		return "unknown" // the real-time ones
	}
	return sig.String()
}

// rankList writes ascending ranks as in "0-3,5".
func rankList(ranks []int) string {
	var b strings.Builder
	for i := 0; i < len(ranks); {
		j := i
		for j+1 < len(ranks) && ranks[j+1] == ranks[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d", ranks[i])
		if j > i {
			fmt.Fprintf(&b, "-%d", ranks[j])
		}
		i = j + 1
	}
	return b.String()
}

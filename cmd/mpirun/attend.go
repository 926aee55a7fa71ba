package main

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/ompi-go/ompi-go/rte/control"
)

// rankStreams tells of each of a rank's streams when it has been read to its end.
type rankStreams struct {
	pmi, control, output <-chan struct{}
}

// drainTime is how long, for the whole job, mpirun waits for streams whose rank has ended but which something else holds open.
// Commonly they end with the rank, at once.
const drainTime = 300 * time.Millisecond

// attend begins to serve a rank that has just been started.
func (l *launcher) attend(rank int, pmiSock, ctlSock *os.File, out *rankOutput) {
	pmiDone, ctlDone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(pmiDone)
		defer pmiSock.Close()
		// A rank that breaks the protocol finds its connection closed, and its end tells the rest.
		if err := l.server.Serve(rank, pmiSock); err != nil && !isGone(err) {
			say("%v", err)
		}
	}()
	c := newRankControl(rank, control.NewConn(ctlSock, sendPatience))
	l.controls = append(l.controls, c)
	go func() {
		defer close(ctlDone)
		defer ctlSock.Close()
		c.serve(func(m control.Message) {
			switch m.Kind {
			case control.Hello:
				l.events <- func(s *supervisor, _ time.Time) { s.hello(rank) }
			case control.Report:
				l.events <- func(s *supervisor, now time.Time) { s.report(rank, m.Text, now) }
			case control.Note:
				l.events <- func(s *supervisor, now time.Time) { s.note(rank, m.Key, m.Text, now) }
			case control.Here:
				l.events <- func(s *supervisor, now time.Time) { s.here(rank, m.Text, now) }
			case control.Track:
				l.tracks.add(rank, &m)
			case control.Abort:
				l.events <- func(s *supervisor, now time.Time) { s.abort(rank, m.Code, m.Text, now) }
			}
		})
	}()
	l.streams = append(l.streams, rankStreams{pmiDone, ctlDone, l.outputs.pump(rank, out)})
}

// isGone recognises the errors of a connection whose rank has just ended.
func isGone(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.ErrUnexpectedEOF)
}

// ended takes the end of a rank's process, in the order in which they end. Whatever the rank said before is heard first.
func (l *launcher) ended(rank int, ws syscall.WaitStatus) {
	s := &l.streams[rank]
	l.drain(s.control)
	l.drain(s.output)
	if !l.server.State(rank).Waiting { // inside a barrier it has nothing more to say
		l.drain(s.pmi)
	}
	state := l.server.State(rank)
	l.events <- func(s *supervisor, now time.Time) {
		// Survivors hear of the death before a barrier lets them go on without the dead.
		s.exited(rank, ws, state, now)
		if s.survive || !s.failed && !s.ranks[rank].skipped {
			l.server.Gone(rank)
		}
		// Otherwise the job is ending, or will with the first Init: ranks inside a barrier stay there, rather than to go on and
		// stumble over those that did not get so far.
	}
}

func (l *launcher) drain(done <-chan struct{}) {
	select {
	case <-done:
		return
	default:
	}
	begin := time.Now()
	select {
	case <-done:
	case <-time.After(l.patience):
	}
	l.patience = max(0, l.patience-time.Since(begin))
}

// supervise runs the supervisor until the job has ended. failed gets the result of waiting for the processes.
func (l *launcher) supervise(s *supervisor, signals <-chan os.Signal, failed <-chan error) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for !s.done() {
		if at := s.deadline(); at.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(at))
		}
		select {
		case e := <-l.events:
			e(s, time.Now())
		case sig := <-signals:
			l.signalled(s, sig.(syscall.Signal))
		case <-timer.C:
			s.tick(time.Now())
		case err := <-failed:
			if err != nil {
				return err
			}
			failed = nil // every rank has ended, and the events that say so are on their way
		}
	}
	return nil
}

func (l *launcher) signalled(s *supervisor, sig syscall.Signal) {
	switch sig {
	case syscall.SIGTSTP:
		l.signalAll(syscall.SIGSTOP)
		stopSelf()
	case syscall.SIGCONT, syscall.SIGUSR1, syscall.SIGUSR2:
		l.signalAll(sig)
	default:
		s.interrupt(sig, time.Now())
	}
}

func (l *launcher) signalAll(sig syscall.Signal) {
	for rank := range l.size {
		l.procs.signal(rank, sig)
	}
}

// signal, tellDead, ask and say make the launcher the supervisor's world.
func (l *launcher) signal(rank int, sig syscall.Signal) { l.procs.signal(rank, sig) }

func (l *launcher) tellDead(to, rank int, cause string) { l.controls[to].tell(rank, cause) }

func (l *launcher) ask(rank int) bool { return l.controls[rank].ask() }

func (l *launcher) say(format string, args ...any) { say(format, args...) }

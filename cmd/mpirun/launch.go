package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/rte/pmi"
)

// launch runs the job that the command line describes and returns its exit status.
func launch(opt *options) (int, error) {
	signals := make(chan os.Signal, 16)
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGUSR1, syscall.SIGUSR2} {
		if !signal.Ignored(sig) { // nohup and background jobs of plain shells ignore some on purpose
			signal.Notify(signals, sig)
		}
	}
	path, isDir, err := findProgram(opt.program)
	if err != nil {
		return 0, err
	}
	argv0 := opt.program
	if isDir {
		tmp, err := os.MkdirTemp("", "mpirun-")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(tmp)
		if path, err = buildUnlessInterrupted(path, tmp, signals); err != nil {
			return 0, err
		}
		argv0 = path
	}
	l, err := newLauncher(opt, path, append([]string{argv0}, opt.programArgs...))
	if err != nil {
		return 0, err
	}
	defer l.close()
	return l.run(signals)
}

// buildUnlessInterrupted is buildProgram, ended by a signal that ends mpirun.
func buildUnlessInterrupted(dir, tmp string, signals <-chan os.Signal) (string, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	type result struct {
		path string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		path, err := buildProgram(ctx, dir, tmp)
		done <- result{path, err}
	}()
	defer cancel(nil)
	for {
		select {
		case r := <-done:
			return r.path, r.err
		case sig := <-signals:
			switch s := sig.(syscall.Signal); s {
			case syscall.SIGTSTP:
				stopSelf()
			case syscall.SIGCONT, syscall.SIGUSR1, syscall.SIGUSR2: // there are no ranks to have them
			default:
				cancel(&statusError{128 + int(s), fmt.Errorf("got signal %d (%v) while building %s", s, s, dir)})
			}
		}
	}
}

// stopSelf does what the terminal's stop key asks for, which mpirun has taken over to stop the ranks too.
func stopSelf() { _ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) }

// launcher holds everything of a running job that has to do with the outside.
type launcher struct {
	opt     *options
	size    int
	host    string
	path    string
	argv    []string
	env     []string
	threads []int         // GOMAXPROCS of each rank, nil if the user sets it
	cpus    []unix.CPUSet // where each rank may run, nil if anywhere
	spare   string        // cores to which no rank is bound, if ranks are

	procs    *processes
	starter  *starter
	server   *pmi.Server
	controls []*rankControl
	metrics  *metricsServer
	tracks   trackFiles
	outputs  *outputs
	null     *os.File
	streams  []rankStreams
	patience time.Duration // what is left of drainTime; for the goroutine that waits for processes
	events   chan event
}

// event is something that happened to the job, told to the supervisor by the goroutine that runs it.
type event func(s *supervisor, now time.Time)

func newLauncher(opt *options, path string, argv []string) (*launcher, error) {
	usable := rte.UsableCores()
	l := &launcher{opt: opt, size: opt.ranks, path: path, argv: argv, events: make(chan event, 64), patience: drainTime}
	if l.size == 0 {
		l.size = usable
	}
	var err error
	if l.host, err = os.Hostname(); err != nil {
		l.host = "localhost"
	}
	var missing []string
	l.env, missing = rankEnviron(os.Environ(), opt)
	for _, name := range missing {
		say("-x %s: the variable is not set, so there is nothing to hand on", name)
	}
	l.threads = threadsOf(usable, l.size)
	if opt.bindCore {
		cores, err := coreList()
		if err != nil {
			return nil, err
		}
		l.cpus, l.threads = bindings(cores, l.size)
		l.spare = spareCores(cores, l.size)
	}
	if has(l.env, "GOMAXPROCS") {
		l.threads = nil
	}
	return l, nil
}

func (l *launcher) close() {
	if l.metrics != nil {
		l.metrics.close()
	}
	if l.null != nil {
		l.null.Close()
	}
}

// newServer makes the PMI server with what the ranks find there from the start.
func (l *launcher) newServer() *pmi.Server {
	id := uuid.New()
	var secret [32]byte
	rand.Read(secret[:]) // never fails
	preset := map[string]string{
		pmi.MappingKey: pmi.Mapping{{First: 0, Nodes: 1, PerNode: l.size}}.String(),
		rte.JobKey:     rte.FormatJob(id, secret),
	}
	server := pmi.NewServer(l.size, "ompi-go-"+id.String(), preset, func(rank, code int) {
		l.events <- func(s *supervisor, now time.Time) { s.abort(rank, code, "", now) }
	})
	server.OnInit(func(rank int) {
		l.events <- func(s *supervisor, now time.Time) { s.inited(rank, now) }
	})
	return server
}

// run starts the ranks and stays until the last has ended.
func (l *launcher) run(signals <-chan os.Signal) (int, error) {
	var err error
	if l.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return 0, err
	}
	stdin, feed, err := rankStdin(l.null)
	if err != nil {
		return 0, err
	}
	if l.opt.metrics != "" {
		if l.metrics, err = listenMetrics(l.opt.metrics); err != nil {
			return 0, err
		}
		say("metrics at http://%s/metrics", l.metrics.listener.Addr())
	}
	l.server = l.newServer()
	l.procs = newProcesses(l.size)
	l.starter = newStarter()
	l.outputs = newOutputs(l.opt.tag)
	pids := make([]int, l.size)
	for rank := range l.size {
		in := l.null
		if rank == 0 {
			in = stdin
		}
		if pids[rank], err = l.startRank(rank, in); err != nil {
			l.undo(rank)
			return 0, startError(l.opt.program, err)
		}
	}
	if feed != nil {
		go feed()
	}
	if l.metrics != nil {
		l.metrics.serve(l.controls)
	}
	failed := make(chan error, 1)
	go func() { failed <- l.procs.wait(l.ended) }()
	s := newSupervisor(l, l.host, pids, l.opt.survive, l.opt.timeout, time.Now())
	if err := l.supervise(s, signals, failed); err != nil {
		return 0, err
	}
	l.outputs.finish()
	if err := l.tracks.write(); err != nil {
		say("%v", err)
		if s.status == 0 {
			return 1, nil
		}
	}
	return s.status, nil
}

// undo ends the ranks below n again.
func (l *launcher) undo(n int) {
	for rank := range n {
		l.procs.signal(rank, syscall.SIGKILL)
	}
	// The error of the start is the one to tell.
	_ = l.procs.wait(func(int, syscall.WaitStatus) {})
}

// startRank makes the rank's sockets and pipes, starts it, and begins to serve it.
func (l *launcher) startRank(rank int, stdin *os.File) (pid int, err error) {
	name := "rank " + strconv.Itoa(rank)
	var theirs []int // ours to close, whatever happens
	defer func() {
		for _, fd := range theirs {
			syscall.Close(fd)
		}
	}()
	pmiSock, fd, err := socketPair(name)
	if err != nil {
		return 0, err
	}
	theirs = append(theirs, fd)
	ctlSock, fd, err := socketPair(name)
	if err != nil {
		pmiSock.Close()
		return 0, err
	}
	theirs = append(theirs, fd)
	out, err := l.outputs.open()
	if err != nil {
		pmiSock.Close()
		ctlSock.Close()
		return 0, err
	}
	defer out.closeTheirs()

	spec := rankSpec{
		path: l.path, argv: l.argv,
		env:   append(slices.Clip(l.env), rankVariables(rank, l.size)...),
		files: []uintptr{stdin.Fd(), uintptr(out.theirs[0]), uintptr(out.theirs[1]), uintptr(theirs[0]), uintptr(theirs[1])},
	}
	if l.cpus != nil {
		spec.cpus = &l.cpus[rank]
	}
	spec.env = append(spec.env, rte.HostCoresVar+"="+strconv.Itoa(rte.UsableCores()))
	if l.spare != "" {
		spec.env = append(spec.env, rte.SpareCoresVar+"="+l.spare)
	}
	if l.threads != nil {
		spec.env = append(spec.env, "GOMAXPROCS="+strconv.Itoa(l.threads[rank]))
	}
	if pid, err = l.starter.start(&spec); err != nil {
		pmiSock.Close()
		ctlSock.Close()
		out.closeOurs()
		return 0, err
	}
	l.procs.add(rank, pid)
	l.attend(rank, pmiSock, ctlSock, out)
	return pid, nil
}

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/rte/control"
)

// A starter forks ranks from one operating system thread that never ends. The kernel ties a child's death signal to the
// thread that forked it, so any other thread would kill the ranks when the Go runtime retires it.
type starter struct {
	requests chan startRequest
}

type startRequest struct {
	spec  *rankSpec
	reply chan<- startReply
}

type startReply struct {
	pid int
	err error
}

// rankSpec is what differs between ranks, and the descriptors of one.
type rankSpec struct {
	path  string
	argv  []string
	env   []string
	files []uintptr    // of the child, from 0
	cpus  *unix.CPUSet // where it may run; nil for anywhere
}

func newStarter() *starter {
	s := &starter{requests: make(chan startRequest)}
	go s.run()
	return s
}

// run serves until mpirun ends: the thread must live as long as the ranks.
func (s *starter) run() {
	runtime.LockOSThread()
	for r := range s.requests {
		pid, err := fork(r.spec)
		r.reply <- startReply{pid, err}
	}
}

// start returns the process id of the new rank, which leads a process group of its own. The error says whether the program
// could be executed.
func (s *starter) start(spec *rankSpec) (int, error) {
	reply := make(chan startReply)
	s.requests <- startRequest{spec, reply}
	r := <-reply
	return r.pid, r.err
}

func fork(spec *rankSpec) (int, error) {
	if spec.cpus != nil {
		// The child inherits this thread's affinity before its first instruction, so that its runtime counts the right cores.
		var before unix.CPUSet
		if err := unix.SchedGetaffinity(0, &before); err != nil {
			return 0, fmt.Errorf("reading the CPU affinity: %w", err)
		}
		if err := unix.SchedSetaffinity(0, spec.cpus); err != nil {
			return 0, fmt.Errorf("binding to a core: %w", err)
		}
		defer unix.SchedSetaffinity(0, &before) // what was allowed before is still
	}
	return syscall.ForkExec(spec.path, spec.argv, &syscall.ProcAttr{
		Env:   spec.env,
		Files: spec.files,
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
}

// startError words the failure to execute a program and finds its exit status.
func startError(name string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOENT):
		// The file itself exists, it was looked up before: what is missing is what runs it.
		return &statusError{exitNotFound, fmt.Errorf("%s: the program or its interpreter is missing: %w", name, err)}
	case errors.Is(err, syscall.ENOEXEC):
		return &statusError{exitNotExecutable, fmt.Errorf("%s: not in an executable format (a script needs a #! line)", name)}
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return &statusError{exitNotExecutable, fmt.Errorf("%s: %w", name, err)}
	}
	return &statusError{1, fmt.Errorf("starting %s: %w", name, err)}
}

// socketPair returns a stream socket between mpirun and a rank: our end polled by the runtime, and the descriptor for the
// rank, which the caller closes after the fork.
func socketPair(name string) (ours *os.File, theirs int, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, -1, fmt.Errorf("making a socket for %s: %w", name, err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, -1, fmt.Errorf("making a socket for %s: %w", name, err)
	}
	return os.NewFile(uintptr(fds[0]), name), fds[1], nil
}

// rankVariables are the variables of one rank of a job.
func rankVariables(rank, size int) []string {
	r, n := strconv.Itoa(rank), strconv.Itoa(size)
	return []string{
		"PMI_RANK=" + r, "PMI_SIZE=" + n, "PMI_FD=" + strconv.Itoa(pmiFD),
		// MPICH's programs read these two for their place on the node.
		"MPI_LOCALRANKID=" + r, "MPI_LOCALNRANKS=" + n,
		control.EnvFD + "=" + strconv.Itoa(controlFD),
	}
}

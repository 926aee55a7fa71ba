package main

import (
	"errors"
	"fmt"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// processes is the table of the ranks' processes. Each leads a process group with its own number.
type processes struct {
	mu      sync.Mutex
	pids    []int
	running []bool // false before the start and once reaped, when the number may mean something else
	left    int
}

func newProcesses(ranks int) *processes {
	return &processes{pids: make([]int, ranks), running: make([]bool, ranks)}
}

func (p *processes) add(rank, pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pids[rank], p.running[rank] = pid, true
	p.left++
}

// signal sends a signal to the rank and all in its group, if it still runs.
func (p *processes) signal(rank int, sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running[rank] {
		// It fails when all in the group are ending already.
		_ = syscall.Kill(-p.pids[rank], sig)
	}
}

// wait reaps the ranks as they end, calls ended for each, and returns when none is left. It is started after the last add.
//
// Before a rank is reaped, while its number cannot be used anew, what it has left running in its group is killed.
func (p *processes) wait(ended func(rank int, ws syscall.WaitStatus)) error {
	for {
		p.mu.Lock()
		left := p.left
		p.mu.Unlock()
		if left == 0 {
			return nil
		}
		// This sleeps until some child has ended, and leaves it unreaped.
		if err := waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT); err != nil {
			return fmt.Errorf("waiting for the ranks: %w", err)
		}
		for rank := range p.pids {
			ws, ok, err := p.reap(rank)
			if err != nil {
				return fmt.Errorf("waiting for rank %d: %w", rank, err)
			}
			if ok {
				ended(rank, ws)
			}
		}
	}
}

func (p *processes) reap(rank int) (ws syscall.WaitStatus, ok bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running[rank] {
		return 0, false, nil
	}
	pid := p.pids[rank]
	var info unix.Siginfo
	if err := waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG); err != nil {
		return 0, false, err
	}
	if info.Signo == 0 {
		return 0, false, nil // it still runs
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	for {
		if _, err = syscall.Wait4(pid, &ws, 0, nil); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	p.running[rank] = false
	p.left--
	return ws, err == nil, err
}

func waitid(idType, id int, info *unix.Siginfo, options int) error {
	for {
		if err := unix.Waitid(idType, id, info, options, nil); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

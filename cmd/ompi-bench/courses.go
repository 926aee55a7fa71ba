package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/ompi"
)

// neighbours sends one message to, and takes one from, each neighbour on a ring: the least that makes a job wire up.
func (b *bench) neighbours() error {
	left, right := (b.rank+b.ranks-1)%b.ranks, (b.rank+1)%b.ranks
	out, in := ompi.Slice(b.send[:8]), ompi.Slice(b.recv[:8])
	if _, err := b.world.Sendrecv(out, left, 10, in, right, 10); err != nil {
		return err
	}
	_, err := b.world.Sendrecv(out, right, 11, in, left, 11)
	return err
}

// startup is rank 0's milliseconds from the start of the program to the end of one exchange with both neighbours. The wall time of the
// whole launch is the launcher's caller's to measure.
func (b *bench) startup() (report.Row, error) {
	err := b.neighbours()
	return report.NewRow(int64(b.ranks), b.test.Unit, []float64{time.Since(b.started).Seconds() * 1e3}), err
}

// idle is the CPU time that a rank uses while it waits in a receive for a rank that is away, in per cent of one core; that of the worst
// rank.
func (b *bench) idle() (report.Row, error) {
	seconds := 2
	if b.cmd.params.Iterations > 0 {
		seconds = b.cmd.params.Iterations
	}
	if err := b.neighbours(); err != nil {
		return report.Row{}, err
	}
	if err := b.world.Barrier(); err != nil {
		return report.Row{}, err
	}
	var used, worst float64
	var err error
	if b.rank == 0 {
		time.Sleep(time.Duration(seconds) * time.Second)
		for r := 1; r < b.ranks && err == nil; r++ {
			err = b.world.Send(ompi.Slice(b.send[:1]), r, 20)
		}
	} else {
		used, err = b.waitIdle()
	}
	if err != nil {
		return report.Row{}, err
	}
	err = b.world.Reduce(ompi.Value(&used), ompi.Value(&worst), ompi.Max, 0)
	return report.NewRow(int64(seconds), b.test.Unit, []float64{worst}), err
}

func (b *bench) waitIdle() (percent float64, err error) {
	start := time.Now()
	before, err := cpuSeconds()
	if err != nil {
		return 0, err
	}
	if _, err := b.world.Recv(ompi.Slice(b.recv[:1]), 0, 20); err != nil {
		return 0, err
	}
	after, err := cpuSeconds()
	if err != nil {
		return 0, err
	}
	percent = 100 * (after - before) / time.Since(start).Seconds()
	if b.cmd.goroutines > 0 {
		percent /= float64(b.ranks - 1) // the clock counts the whole process
	}
	return percent, nil
}

func cpuSeconds() (float64, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, os.NewSyscallError("getrusage", err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9, nil
}

// memory is the resident memory of a rank after it has spoken with both neighbours, in KiB, mean over the ranks; goroutine ranks share
// that of their process.
func (b *bench) memory() (report.Row, error) {
	if err := b.neighbours(); err != nil {
		return report.Row{}, err
	}
	kib, err := residentKiB()
	if err != nil {
		return report.Row{}, err
	}
	if b.cmd.goroutines > 0 {
		kib /= float64(b.ranks)
	}
	mean, err := b.mean(kib, b.ranks)
	return report.NewRow(int64(b.ranks), b.test.Unit, []float64{mean}), err
}

func residentKiB() (float64, error) {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("memory: %w", err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		return 0, fmt.Errorf("memory: /proc/self/statm: %w", err)
	}
	return float64(resident*int64(os.Getpagesize())) / 1024, nil
}

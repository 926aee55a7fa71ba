// Package limits measures what the machine itself gives, without any of the stack above it: a cache line going from core to core, a
// memory copy, a copy out of another process, a loopback socket. What ompi-bench measures is held against these.
//
// It is called by ompi-bench's main package, which must pass control to ServeChild first thing, and by its compare runner.
package limits

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
)

const (
	// Repetitions of every limit; what counts is their median.
	Repetitions = 5
	// patience bounds every wait for the other process.
	patience = 20 * time.Second
)

// copySizes are the sizes of the bandwidth limits in bytes.
func copySizes() []int { return []int{1 << 20, 4 << 20} }

const largestCopy = 4 << 20

// Measure takes all limits, which lasts about half a second. exe is this program, started a second time as the other side; it must
// call ServeChild. A limit that this machine cannot show is reported as missing, with the reason.
func Measure(ctx context.Context, exe string) ([]report.Limit, error) {
	// Affinity belongs to a thread; the thread is given up for good if its old one cannot be restored.
	runtime.LockOSThread()
	restored := false
	defer func() {
		if restored {
			runtime.UnlockOSThread()
		}
	}()
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, fmt.Errorf("limits: read the usable cores: %w", err)
	}
	cores := widen(before)
	defer func() { restored = unix.SchedSetaffinity(0, &before) == nil }()
	if err := pin(cores[0]); err != nil {
		return nil, fmt.Errorf("limits: bind to core %d: %w", cores[0], err)
	}

	other := -1
	if len(cores) > 1 {
		other = cores[1]
	}
	c, err := startChild(ctx, exe, other)
	if err != nil {
		return nil, err
	}
	defer c.end()

	var out []report.Limit
	if other < 0 {
		out = append(out, missing("core-to-core hop", "us", "only one core is usable"))
	} else {
		out = append(out, timed("core-to-core hop", "us", 0, c.hop))
	}
	for _, n := range copySizes() {
		out = append(out, timed("memcpy", "MB/s", n, memcpy(n)))
	}
	for _, n := range copySizes() {
		out = append(out, timed("process_vm_readv", "MB/s", n, func() (float64, error) { return c.readv(n) }))
	}
	if other < 0 {
		out = append(out, missing("loopback tcp one way", "us", "only one core is usable"))
	} else {
		out = append(out, timed("loopback tcp one way", "us", 0, c.tcp))
	}
	return out, nil
}

func missing(name, unit, why string) report.Limit {
	return report.Limit{Name: name, Unit: unit, Missing: why}
}

// timed repeats one measurement.
func timed(name, unit string, size int, once func() (float64, error)) report.Limit {
	l := report.Limit{Name: name, Unit: unit, Size: int64(size)}
	var values []float64
	for range Repetitions {
		v, err := once()
		if err != nil {
			return report.Limit{Name: name, Unit: unit, Size: int64(size), Missing: err.Error()}
		}
		values = append(values, v)
	}
	l.Spread = report.Summarise(values)
	return l
}

// widen gives the cores of the machine that this process may use, also when a launcher bound it to fewer: two are needed to see a
// hop. At least one is returned.
func widen(bound unix.CPUSet) []int {
	var all, usable unix.CPUSet
	all.Fill()
	usable = bound
	if unix.SchedSetaffinity(0, &all) == nil {
		if unix.SchedGetaffinity(0, &usable) != nil {
			usable = bound
		}
	}
	var cores []int
	for cpu := range 1024 {
		if usable.IsSet(cpu) {
			cores = append(cores, cpu)
		}
	}
	if len(cores) == 0 {
		cores = []int{0}
	}
	return cores
}

func pin(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	return unix.SchedSetaffinity(0, &set)
}

// megabytes per second.
func rate(bytes int, d time.Duration) float64 { return float64(bytes) / 1e6 / d.Seconds() }

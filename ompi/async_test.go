package ompi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// compute is arithmetic without a call, until stop, for so long at most. It reports whether stop ended it.
func compute(stop func() bool, most time.Duration) bool {
	x := 1.0
	for start := time.Now(); time.Since(start) < most; {
		for range 10_000 {
			x = x*0.999999 + 1e-6
		}
		if stop() {
			return true
		}
	}
	return x < 0
}

// alone is how long a rank computes before it believes that nothing moves; patient, how long until it believes that it never will.
const (
	alone   = 30 * time.Millisecond
	patient = 20 * time.Second
)

// overlap sends one MiB to a rank that has posted the receive and computes: tell is called when the send has completed, and told asks
// whether it was, meanwhile. It reports at rank 1 whether the message moved while that computed.
func overlap(world *ompi.Comm, tell func() error, told func() bool, most time.Duration) (moved bool, err error) {
	data := make([]byte, 1<<20)
	var posted byte
	if world.Rank() == 0 {
		for i := range data {
			data[i] = byte(i * 7)
		}
		if _, err := world.Recv(ompi.Value(&posted), 1, 1); err != nil {
			return false, err
		}
		if err := world.Send(ompi.Slice(data), 1, 2); err != nil {
			return false, err
		}
		return false, tell()
	}
	req := world.Irecv(ompi.Slice(data), 0, 2)
	if err := world.Send(ompi.Value(&posted), 0, 1); err != nil {
		return false, err
	}
	moved = compute(told, most)
	if _, err := req.Wait(); err != nil {
		return moved, err
	}
	for i := range data {
		if data[i] != byte(i*7) {
			return moved, fmt.Errorf("byte %d is wrong", i)
		}
	}
	return moved, nil
}

// TestAsyncProgress: a rendezvous completes at the sender while the receiver computes, with asynchronous progress; without, it does not.
func TestAsyncProgress(t *testing.T) {
	for _, mode := range []string{"none", "agent", "core"} {
		t.Run(mode, func(t *testing.T) {
			if mode == "core" && runtime.NumCPU() < 2 {
				t.Skip("one core")
			}
			most := patient
			if mode == "none" {
				aboutOb1(t) // over others messages move all the same
				most = alone
			}
			procs := runtime.GOMAXPROCS(0)
			before := runtime.NumGoroutine()
			var done, moved atomic.Bool
			err := ompi.Run(context.Background(), 2, func(world *ompi.Comm) error {
				if mode == "agent" && world.Rank() == 0 {
					runtime.GOMAXPROCS(1) // whatever the program does to its processors, all get their turn
				}
				m, err := overlap(world, func() error { done.Store(true); return nil }, done.Load, most)
				if m {
					moved.Store(true)
				}
				return err
			}, ompi.WithParam("mpi_async_progress", mode))
			runtime.GOMAXPROCS(procs)
			if err != nil {
				t.Fatal(err)
			}
			if moved.Load() != (mode != "none") {
				t.Errorf("the message moved during computation: %v", moved.Load())
			}
			for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
				}
			}
		})
	}
}

// TestAsyncProcessors: an instance gives back the processor that its agent had.
func TestAsyncProcessors(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	err := ompi.Run(context.Background(), 3, func(world *ompi.Comm) error {
		if got := runtime.GOMAXPROCS(0); world.Rank() == 0 && got != procs+1 {
			return fmt.Errorf("GOMAXPROCS %d, was %d", got, procs)
		}
		return world.Barrier()
	}, ompi.WithParam("mpi_async_progress", "agent"))
	if err != nil {
		t.Error(err)
	}
	if got := runtime.GOMAXPROCS(0); got != procs {
		t.Errorf("GOMAXPROCS %d after the end, was %d", got, procs)
	}
}

// TestAsyncProcessorsOfMany: jobs that begin and end at once do not lose or keep each other's processors.
func TestAsyncProcessorsOfMany(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	if err := threads(8, func(int) error {
		for range 4 {
			if err := ompi.Run(context.Background(), 1, func(*ompi.Comm) error { return nil }, ompi.WithParam("mpi_async_progress", "agent")); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if got := runtime.GOMAXPROCS(0); got != procs {
		t.Errorf("GOMAXPROCS %d after the end, was %d", got, procs)
		runtime.GOMAXPROCS(procs)
	}
}

// TestAsyncPanic: an operator that panics while the agent carries out a collective ends the job and not the process, once the program
// asks for the outcome.
func TestAsyncPanic(t *testing.T) {
	bad := ompi.NewOp(true, func(in, inout []int64) { panic("in the operator") })
	err := ompi.Run(context.Background(), 2, func(world *ompi.Comm) error {
		x, sum := int64(1), int64(0)
		req := world.Iallreduce(ompi.Value(&x), ompi.Value(&sum), bad)
		compute(func() bool { return false }, alone) // the agent meets the operator meanwhile
		_, err := req.Wait()
		return err
	}, ompi.WithParam("mpi_async_progress", "agent"))
	if err == nil || !strings.Contains(err.Error(), "in the operator") {
		t.Errorf("error %v", err)
	}
}

// TestAsyncDescriptors: jobs with agents leave no descriptor behind, whether they end well or not.
func TestAsyncDescriptors(t *testing.T) {
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	once := func(fail bool) {
		_ = ompi.Run(context.Background(), 2, func(world *ompi.Comm) error {
			if fail && world.Rank() == 1 {
				return errors.New("boom")
			}
			return world.Barrier()
		}, ompi.WithParam("mpi_async_progress", "agent"), ompi.WithParam("btl", "self,tcp"))
	}
	once(false) // the runtime's own are open from now on
	before := open()
	for k := range 10 {
		once(k%2 == 0)
	}
	if after := open(); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// TestAsyncAborted: agents end also with a job that fails.
func TestAsyncAborted(t *testing.T) {
	before := runtime.NumGoroutine()
	boom := errors.New("boom")
	err := ompi.Run(context.Background(), 3, func(world *ompi.Comm) error {
		if world.Rank() == 1 {
			return boom
		}
		return world.Barrier()
	}, ompi.WithParam("mpi_async_progress", "agent"))
	if !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// asyncVar names the file by which the sender tells the receiver.
const asyncVar = "OMPI_GO_OMPI_TEST_ASYNC"

func asyncRank(world *ompi.Comm) error {
	file := os.Getenv(asyncVar)
	most := patient
	if strings.HasSuffix(file, "none") {
		most = alone
	}
	told := func() bool {
		_, err := os.Stat(file)
		return err == nil
	}
	moved, err := overlap(world, func() error { return os.WriteFile(file, nil, 0o600) }, told, most)
	if err == nil && world.Rank() == 1 {
		fmt.Println("moved", moved)
	}
	return err
}

// TestAsyncProcesses is TestAsyncProgress between processes, over shared memory and TCP.
func TestAsyncProcesses(t *testing.T) {
	aboutOb1(t)
	dir := t.TempDir()
	for _, btl := range []string{"self,sm", "self,tcp"} {
		for _, mode := range []string{"none", "agent", "core"} {
			if mode == "core" && runtime.NumCPU() < 2 {
				continue
			}
			file := filepath.Join(dir, btl+mode)
			out := processes(t, 2, "async", []string{"btl", btl, "mpi_async_progress", mode}, []string{asyncVar + "=" + file})
			if want := fmt.Sprintln("moved", mode != "none"); out != want {
				t.Errorf("%s, %s: %q, want %q", btl, mode, out, want)
			}
		}
	}
}

// TestAsyncOneCore: a core for the agent alone, of a rank that has only one.
func TestAsyncOneCore(t *testing.T) {
	n := runtime.NumCPU()
	_, said, err := launch(t, n, "async", []string{"--bind-to", "core", "--mca", "mpi_async_progress", "core"}, nil)
	if err == nil {
		t.Skip("the cores have several hardware threads")
	}
	if !strings.Contains(said, "may use only core") {
		t.Errorf("it said %q", said)
	}
}

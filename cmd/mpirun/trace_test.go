package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
	"github.com/ompi-go/ompi-go/trace/tracetest"
)

// tracedSizes are those of the messages that traced sends; their tags are their places.
var tracedSizes = []int{8, 4096, 1 << 20}

// traced: every rank sends a message of each size around a ring; of "die", the last rank dies then, and the others say goodbye.
func traced(args []string) error {
	inst, err := ompi.Init()
	if err != nil {
		return err
	}
	w := inst.World()
	w.SetErrhandler(ompi.ErrorsReturn)
	next, last := (w.Rank()+1)%w.Size(), (w.Rank()+w.Size()-1)%w.Size()
	for tag, n := range tracedSizes {
		if _, err := w.Sendrecv(ompi.Slice(make([]byte, n)), next, tag, ompi.Slice(make([]byte, n)), last, tag); err != nil {
			return err
		}
	}
	if err := w.Barrier(); err != nil {
		return err
	}
	if len(args) > 0 && args[0] == "die" {
		dead := w.Size() - 1
		if w.Rank() == dead {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		if _, err := w.Recv(ompi.Slice(make([]byte, 8)), dead, 99); !errors.Is(err, ompi.ErrProcFailed) {
			return fmt.Errorf("a receive from the dead gave %v", err)
		}
		_ = inst.Finalize() // tells of the death, too
		return nil
	}
	return inst.Finalize()
}

// runTraced gives the trace of traced with three ranks.
func runTraced(t *testing.T, status int, words ...string) *tracetest.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "trace.json")
	newJob(t, append([]string{"-n", "3", "--trace", name, "--mca", "btl_sm_eager_limit", "8k"}, words...)...).Run(status)
	f, err := tracetest.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// checkRing checks the messages of one rank of a ring.
func checkRing(t *testing.T, f *tracetest.File, rank, size int) {
	t.Helper()
	for tag, n := range tracedSizes {
		for name, peer := range map[string]int{"send": (rank + 1) % size, "receive": (rank + size - 1) % size} {
			i := slices.IndexFunc(f.Messages, func(m *tracetest.Message) bool { return m.Rank == rank && m.Name == name && m.Tag == tag })
			if i < 0 {
				t.Errorf("rank %d: no %s of %d bytes", rank, name, n)
				continue
			}
			m := f.Messages[i]
			// Where the kernel lets nobody read a peer's memory, fragments go.
			want := map[string][]string{"send": {"inline", "eager", "rget"}, "receive": {"eager", "eager", "rget"}}[name][tag]
			if m.Protocol != want && (want != "rget" || m.Protocol != "rndv") || m.Bytes != n || m.Peer != peer || m.Failed || m.Unfinished {
				t.Errorf("rank %d: %s of %d bytes by %s, want %s: %+v", rank, name, n, m.Protocol, want, m)
			}
		}
	}
}

// TestTrace: the messages of processes, whose clocks are one; and of processes whose clocks are not.
func TestTrace(t *testing.T) {
	for _, skew := range []time.Duration{0, 10 * time.Second} {
		f := runTraced(t, 0, "--mca", "mpi_trace_skew", skew.String(), "RANK", "traced")
		for r := range 3 {
			checkRing(t, f, r, 3)
		}
		if want := 3 * len(tracedSizes); len(f.Arrows) != want || len(f.Messages) != 2*want || f.Halves != 0 {
			t.Errorf("%d arrows and %d halves, %d ends of messages; want %d, none, %d", len(f.Arrows), f.Halves, len(f.Messages), want, 2*want)
		}
		clocks := 0
		for _, e := range f.Events {
			offset, ok := e.Args["clock_offset_ns"].(float64)
			if !ok {
				continue
			}
			clocks++
			wrong, _ := e.Args["clock_error_ns"].(float64)
			if d := offset + float64(skew)*float64(e.Pid); skew == 0 && d != 0 || d < -wrong || d > wrong {
				t.Errorf("skew %v: rank %d is set by %v, its error is %v", skew, e.Pid, time.Duration(offset), time.Duration(wrong))
			}
		}
		if clocks != 3 {
			t.Errorf("%d ranks tell of their clocks", clocks)
		}
	}
}

// TestTraceOfTheLiving: the tracks of those that live on are whole when a rank dies.
func TestTraceOfTheLiving(t *testing.T) {
	f := runTraced(t, 128+int(syscall.SIGKILL), "--on-failure", "continue", "RANK", "traced", "die")
	for r := range 2 {
		checkRing(t, f, r, 3)
	}
	for _, e := range f.Events {
		if e.Pid == 2 {
			t.Fatalf("a line of the dead: %+v", e)
		}
	}
	if want := len(tracedSizes); len(f.Arrows) != want || f.Halves != 2*want { // from 0 to 1; from 1 to 2 and from 2 to 0
		t.Errorf("%d arrows, %d halves; want %d and %d", len(f.Arrows), f.Halves, want, 2*want)
	}
	if i := slices.IndexFunc(f.Messages, func(m *tracetest.Message) bool { return m.Tag == 99 && m.Failed }); i < 0 {
		t.Error("the receive that the death has ended is missing")
	}
}

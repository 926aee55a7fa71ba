package ompi_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestCollectivesFailed: when a process dies, non-blocking and persistent collectives that it belongs to end, whatever they were waiting
// for, and those of the others go on.
func TestCollectivesFailed(t *testing.T) {
	for _, btl := range []string{"self,sm", "self,tcp"} {
		out, errOut, err := launch(t, 4, "collectives-failed", []string{"--on-failure", "continue", "--mca", "btl", btl}, nil)
		if err == nil || strings.Count(out, "good") != 3 {
			t.Errorf("%s: %v\n%s%s", btl, err, out, errOut)
		}
	}
}

func collectivesFailedRank(w *ompi.Comm) error {
	var m must
	const victim = 1
	color := 0
	if w.Rank() == victim {
		color = 1
	}
	sub, err := w.Split(color, 0)
	m.ok(err)
	dup, err := w.Dup()
	m.ok(err)
	n := w.Size()
	big, all := make([]int64, 50_000), make([]int64, 50_000*n)
	sum := make([]int64, len(big))
	page := make([]int64, 512) // a message of 4 KiB
	start := func() []ompi.Request {
		p := w.AllreduceInit(ompi.Slice(big), ompi.Slice(sum), ompi.Sum)
		m.ok(p.Start())
		return []ompi.Request{p, w.Ibarrier(), w.Iallgather(ompi.Slice(big), ompi.Slice(all)), w.Ibcast(ompi.Slice(make([]int64, 512)), victim),
			dup.Ibcast(ompi.Slice(make([]int64, 50_000)), 0), dup.Igather(ompi.Slice(page), ompi.Slice(make([]int64, 512*n)), victim), dup.Ibarrier()}
	}
	if w.Rank() == victim {
		for range n - 1 { // nobody is in a collective that must not fail
			_, err := w.Recv(ompi.Slice[byte](nil), ompi.AnySource, 5)
			m.ok(err)
		}
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	m.ok(w.Send(ompi.Slice[byte](nil), victim, 5))
	reqs := start()
	mine, total := int64(w.Rank()), int64(0)
	living := sub.Iallreduce(ompi.Value(&mine), ompi.Value(&total), ompi.Sum)
	for i, r := range reqs {
		_, err := r.Wait()
		complete := i == 4 || i == 5 // a rank's part of a bcast or a gather may be over
		m.that(errors.Is(err, ompi.ErrProcFailed) || complete && err == nil, "request %d: %v", i, err)
	}
	m.ok(reqs[0].Start())
	_, err = reqs[0].Wait()
	m.that(errors.Is(err, ompi.ErrProcFailed), "the persistent one, again: %v", err)
	_, err = w.Ibarrier().Wait()
	m.that(errors.Is(err, ompi.ErrProcFailed), "a later one: %v", err)
	err = w.Gather(ompi.Slice(page), ompi.Slice(make([]int64, 512*n)), 0)
	m.that(errors.Is(err, ompi.ErrProcFailed) || err == nil && w.Rank() != 0, "a blocking one: %v", err)
	_, err = living.Wait()
	m.that(err == nil && total == 0+2+3, "the living: %v, sum %d", err, total)
	err = dup.Free()
	m.that(errors.Is(err, ompi.ErrProcFailed), "Free: %v", err)
	m.ok(sub.Free())
	if m.err == nil {
		fmt.Println("good")
	}
	return m.err
}

package ompi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestRequestsProcesses: the forms of requests between processes.
func TestRequestsProcesses(t *testing.T) {
	for _, btl := range []string{"self,sm", "self,tcp"} {
		if out := processes(t, 2, "requests", []string{"btl", btl}, nil); strings.Count(out, "good") != 2 {
			t.Errorf("%s: %s", btl, out)
		}
	}
}

func requestsRank(w *ompi.Comm) error {
	for _, c := range [][3]int{{4, 6, 24}, {100, 3, 9}, {3, 2, 50_000}, {0, 0, 0}} {
		if err := partitionedRounds(w, c[0], c[1], c[2]); err != nil {
			return fmt.Errorf("partitioned %v: %w", c, err)
		}
	}
	var m must
	peer := 1 - w.Rank()
	b := make([]int64, 3)
	m.ok(w.Barrier())
	v := int64(10 + w.Rank())
	g := w.Instance().GrequestStart(ompi.GrequestFuncs{})
	reqs := []ompi.Request{g, w.Isendrecv(ompi.Value(&v), peer, 1, ompi.Value(&b[0]), peer, 1), w.Irecv(ompi.Value(&b[1]), peer, 2)}
	m.ok(w.Send(ompi.Value(&v), peer, 2))
	got := 0
	for i, x := range ompi.Completed(context.Background(), reqs...) {
		if got++; got == 2 {
			time.AfterFunc(100*time.Millisecond, func() { m.ok(g.GrequestComplete()) }) // the driver sleeps by then
		}
		m.that(x.Err == nil && (i == 0) == (got == 3), "%d: %+v", i, x)
	}
	m.that(got == 3 && b[0] == int64(10+peer) && b[1] == int64(10+peer), "got %d, %v", got, b)
	if m.err == nil {
		fmt.Println("good")
	}
	return m.err
}

// TestRequestsFailed: when a process dies, waits for several requests end, and what was not complete can be waited for again.
func TestRequestsFailed(t *testing.T) {
	for _, btl := range []string{"self,sm", "self,tcp"} {
		out, errOut, err := launch(t, 3, "requests-failed", []string{"--on-failure", "continue", "--mca", "btl", btl}, nil)
		if err == nil || strings.Count(out, "good") != 2 {
			t.Errorf("%s: %v\n%s%s", btl, err, out, errOut)
		}
	}
}

func requestsFailedRank(w *ompi.Comm) error {
	var m must
	if w.Rank() == 2 { // waits until rank 0 has seen the death
		_, err := w.Recv(ompi.Slice[byte](nil), 0, 5)
		m.ok(err)
		m.ok(w.Send(ompi.Slice([]byte{1}), 0, 6))
		fmt.Println("good")
		return m.err
	}
	big := make([]byte, 1<<20)
	s, p := w.PsendInit(ompi.Slice(big), 4, 1-w.Rank(), 0), w.PrecvInit(ompi.Slice(make([]byte, 1<<20)), 2, 1-w.Rank(), 0)
	m.ok(ompi.StartAll(s, p))
	if w.Rank() == 1 {
		_, err := w.Recv(ompi.Slice[byte](nil), 0, 5)
		m.ok(err)
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	m.ok(s.Pready(0))
	reqs := []ompi.Request{w.Irecv(ompi.Slice(big[:1]), 2, 6), w.Irecv(ompi.Slice(big[1:2]), 1, 6)}
	m.ok(w.Send(ompi.Slice[byte](nil), 1, 5))
	sts := make([]ompi.Status, 2)
	err := ompi.WaitAllStatus(reqs, sts)
	m.that(errors.Is(err, ompi.ErrProcFailed) && errors.Is(err, ompi.ErrPending) && errors.Is(err, ompi.ErrInStatus), "WaitAll: %v", err)
	m.that(errors.Is(sts[0].Err, ompi.ErrPending) && errors.Is(sts[1].Err, ompi.ErrProcFailed), "statuses %+v", sts)
	_, err = p.Wait()
	m.that(errors.Is(err, ompi.ErrProcFailed), "partitioned receive: %v", err)
	for k := 1; k < 4; k++ {
		m.ok(s.Pready(k))
	}
	_, err = s.Wait()
	m.that(errors.Is(err, ompi.ErrProcFailed), "partitioned send: %v", err)
	m.ok(p.Start())
	_, err = p.Wait()
	m.that(errors.Is(err, ompi.ErrProcFailed), "partitioned receive, again: %v", err)
	m.ok(w.Send(ompi.Slice[byte](nil), 2, 5))
	st, err := reqs[0].Wait()
	m.that(err == nil && st.Source == 2, "what was pending: %+v, %v", st, err)
	if m.err == nil {
		fmt.Println("good")
	}
	return m.err
}

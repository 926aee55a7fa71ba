package ompi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/internal/invariants"
	"github.com/ompi-go/ompi-go/ompi"
)

// must collects the first thing that is wrong in a rank.
type must struct{ err error }

func (m *must) that(ok bool, format string, args ...any) {
	if !ok && m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

func (m *must) ok(err error) { m.that(err == nil, "%w", err) }

// TestNullRequests: the zero Request, one that has been waited for, and one whose slot serves another operation are all
// MPI_REQUEST_NULL (MPI-3.1 §3.7.3); under the tag invariants, calls on the last one tell.
func TestNullRequests(t *testing.T) {
	job(t, 1, func(w *ompi.Comm) error {
		var m must
		var b [1]byte
		old := w.Irecv(ompi.Slice(b[:]), 0, 1)
		m.ok(w.Send(ompi.Slice(b[:]), 0, 1))
		st, err := old.Wait()
		m.that(err == nil && st.Source == 0 && st.Tag == 1, "Wait: %+v, %v", st, err)
		fresh := w.Irecv(ompi.Slice(b[:]), 0, 2) // takes the slot
		for name, r := range map[string]ompi.Request{"zero": {}, "stale": old} {
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			for call, f := range map[string]func() (ompi.Status, bool, error){
				"Wait":        func() (ompi.Status, bool, error) { st, err := r.Wait(); return st, true, err },
				"WaitContext": func() (ompi.Status, bool, error) { st, err := r.WaitContext(ctx); return st, true, err },
				"Test":        r.Test,
				"Status":      r.Status,
			} {
				st, ok, err := f()
				if invariants.On && name == "stale" {
					m.that(errors.Is(err, ompi.ErrRequest), "%s of a stale request: %v", call, err)
					continue
				}
				m.that(ok && err == nil && st.Source == ompi.AnySource && st.Tag == ompi.AnyTag && st.Bytes() == 0, "%s of a %s request: %+v, %v, %v", call, name, st, ok, err)
			}
			cancel()
			m.ok(ompi.WaitAll(r, r))
			all, err := ompi.TestAll(r)
			m.that(all && err == nil, "TestAll of a %s request: %v, %v", name, all, err)
			n, _, err := ompi.WaitAny(r)
			m.that(n == ompi.Undefined && err == nil, "WaitAny of a %s request: %d, %v", name, n, err)
			n, _, ok, err := ompi.TestAny(r)
			m.that(n == ompi.Undefined && ok && err == nil, "TestAny of a %s request: %d, %v, %v", name, n, ok, err)
			k, err := ompi.WaitSome([]ompi.Request{r}, make([]int, 1), nil)
			m.that(k == ompi.Undefined && err == nil, "WaitSome of a %s request: %d, %v", name, k, err)
			m.that(errors.Is(r.Free(), ompi.ErrRequest), "Free of a %s request", name)
			m.that(errors.Is(r.Start(), ompi.ErrRequest), "Start of a %s request", name)
			m.that(errors.Is(r.Cancel(), ompi.ErrRequest), "Cancel of a %s request", name)
			for range ompi.Completed(context.Background(), r) {
				m.that(false, "Completed yields a %s request", name)
			}
		}
		_, done, err := fresh.Test()
		m.that(!done && err == nil, "the slot's new operation was disturbed")
		m.ok(w.Send(ompi.Slice(b[:]), 0, 2))
		st, err = fresh.Wait()
		m.that(err == nil && st.Tag == 2, "the slot's new operation: %+v, %v", st, err)
		return m.err
	})
}

// TestPersistent: Start, Wait and again; inactive ones are as null requests, Free retires them (MPI-3.1 §3.9).
func TestPersistent(t *testing.T) {
	for _, n := range []int{0, 8, 100_000} {
		job(t, 2, func(w *ompi.Comm) error {
			var m must
			peer := 1 - w.Rank()
			out, in := make([]byte, n), make([]byte, n)
			send, recv := w.SendInit(ompi.Slice(out), peer, 3), w.RecvInit(ompi.Slice(in), ompi.AnySource, ompi.AnyTag)
			st, err := recv.Wait()
			m.that(err == nil && st.Source == ompi.AnySource, "Wait before Start: %+v, %v", st, err)
			for round := range 5 {
				for i := range out {
					out[i] = byte(i + round + w.Rank())
				}
				m.ok(recv.Start())
				m.that(errors.Is(recv.Start(), ompi.ErrRequest), "Start of an active request is allowed")
				m.ok(ompi.StartAll(send))
				st, err := recv.Wait()
				m.that(err == nil && st.Source == peer && st.Tag == 3 && st.Bytes() == int64(n), "round %d: %+v, %v", round, st, err)
				m.that(n == 0 || in[n-1] == byte(n-1+round+peer), "round %d: wrong data", round)
				_, err = send.Wait()
				m.ok(err)
			}
			// Freed while active: the operation goes on.
			m.ok(recv.Start())
			m.ok(send.Start())
			m.ok(send.Free())
			_, err = recv.Wait()
			m.ok(err)
			m.ok(recv.Free())
			m.that(errors.Is(recv.Start(), ompi.ErrRequest), "Start of a freed request is allowed")
			for _, r := range []ompi.Request{w.SendInit(ompi.Slice(out), ompi.ProcNull, 0), w.RecvInit(ompi.Slice(in), ompi.ProcNull, 0)} {
				for range 2 {
					m.ok(r.Start())
					_, err := r.Wait()
					m.ok(err)
				}
				m.ok(r.Free())
			}
			return m.err
		})
	}
}

// TestAnySomeAll: which request completed, and all of them in the end, by every way of waiting for several.
func TestAnySomeAll(t *testing.T) {
	const n = 12
	takers := map[string]func(reqs []ompi.Request, got func(i int, st ompi.Status)) error{
		"WaitAny": func(reqs []ompi.Request, got func(int, ompi.Status)) error {
			for {
				i, st, err := ompi.WaitAny(reqs...)
				if i == ompi.Undefined || err != nil {
					return err
				}
				got(i, st)
			}
		},
		"TestAny": func(reqs []ompi.Request, got func(int, ompi.Status)) error {
			for {
				i, st, ok, err := ompi.TestAny(reqs...)
				if ok && i == ompi.Undefined || err != nil {
					return err
				}
				if ok {
					got(i, st)
				}
			}
		},
		"WaitSome": func(reqs []ompi.Request, got func(int, ompi.Status)) error {
			idx, sts := make([]int, 5), make([]ompi.Status, 5)
			for {
				k, err := ompi.WaitSome(reqs, idx, sts)
				if k == ompi.Undefined || err != nil {
					return err
				}
				if k == 0 {
					return errors.New("WaitSome returns nothing")
				}
				for j := range k {
					got(idx[j], sts[j])
				}
			}
		},
		"TestSome": func(reqs []ompi.Request, got func(int, ompi.Status)) error {
			idx, sts := make([]int, n), make([]ompi.Status, n)
			for {
				k, err := ompi.TestSome(reqs, idx, sts)
				if k == ompi.Undefined || err != nil {
					return err
				}
				for j := range k {
					got(idx[j], sts[j])
				}
			}
		},
		"Completed": func(reqs []ompi.Request, got func(int, ompi.Status)) error {
			for i, r := range ompi.Completed(context.Background(), reqs...) {
				if r.Err != nil {
					return r.Err
				}
				got(i, r.Status)
			}
			return nil
		},
		"WaitAllStatus": func(reqs []ompi.Request, got func(int, ompi.Status)) error {
			sts := make([]ompi.Status, n)
			err := ompi.WaitAllStatus(reqs, sts)
			for i, st := range sts {
				if reqs[i] != (ompi.Request{}) {
					got(i, st)
				}
			}
			return err
		},
		"TestAllStatus": func(reqs []ompi.Request, got func(int, ompi.Status)) error {
			sts := make([]ompi.Status, n)
			for {
				all, err := ompi.TestAllStatus(reqs, sts)
				if err != nil {
					return err
				}
				if !all {
					continue
				}
				for i, st := range sts {
					if reqs[i] != (ompi.Request{}) {
						got(i, st)
					}
				}
				return nil
			}
		},
	}
	for name, take := range takers {
		t.Run(name, func(t *testing.T) {
			job(t, 2, func(w *ompi.Comm) error {
				var m must
				in, out := make([]int32, n), int32(0)
				if w.Rank() == 0 {
					order := []int{7, 0, 11, 3, 1, 9, 5, 2, 10, 8, 6} // 4 stays a null request
					for _, i := range order {
						out = int32(100 + i)
						m.ok(w.Send(ompi.Value(&out), 1, i))
					}
					return m.err
				}
				reqs := make([]ompi.Request, n)
				for i := range reqs {
					if i != 4 {
						reqs[i] = w.Irecv(ompi.Value(&in[i]), 0, i)
					}
				}
				var seen []int
				m.ok(take(reqs, func(i int, st ompi.Status) {
					seen = append(seen, i)
					m.that(st.Tag == i && in[i] == int32(100+i), "request %d completed with %+v, %d", i, st, in[i])
				}))
				slices.Sort(seen)
				m.that(slices.Equal(seen, []int{0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11}), "completed %v", seen)
				m.that(ompi.WaitAll(reqs...) == nil, "they are not retired")
				return m.err
			})
		})
	}
}

// TestFailuresOfSeveral: each failure says which request, and the others complete.
func TestFailuresOfSeveral(t *testing.T) {
	job(t, 1, func(w *ompi.Comm) error {
		var m must
		var b [3][1]byte
		reqs := []ompi.Request{
			w.Irecv(ompi.Slice(b[0][:]), 0, 0),
			w.Irecv(ompi.Slice(b[1][:]), 0, 1),
			w.Irecv(ompi.Slice(b[2][:]), 0, 2),
			w.Isend(ompi.Slice(b[0][:]), 5, 0),
		}
		two := []byte{1, 2}
		m.ok(w.Send(ompi.Slice(two), 0, 2))
		m.ok(w.Send(ompi.Slice(two), 0, 0))
		m.ok(w.Send(ompi.Slice(two[:1]), 0, 1))
		err := ompi.WaitAll(reqs...)
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok {
			return fmt.Errorf("WaitAll: %v", err)
		}
		var index []int
		for _, err := range joined.Unwrap() {
			var e *ompi.Error
			m.that(errors.As(err, &e), "%T is no *Error", err)
			if e != nil {
				index = append(index, e.Index)
			}
		}
		m.that(slices.Equal(index, []int{0, 2, 3}) && errors.Is(err, ompi.ErrTruncate) && errors.Is(err, ompi.ErrRank), "failures of %v: %v", index, err)
		m.that(b[1][0] == 1, "the good one did not complete")
		return m.err
	})
}

// TestWaitContext gives up the wait, not the operation.
func TestWaitContext(t *testing.T) {
	job(t, 2, func(w *ompi.Comm) error {
		var m must
		v := int64(0)
		if w.Rank() == 0 {
			_, err := w.Recv(ompi.Slice[byte](nil), 1, 9)
			m.ok(err)
			v = 42
			m.ok(w.Send(ompi.Value(&v), 1, 1))
			return m.err
		}
		r := w.Irecv(ompi.Value(&v), 0, 1)
		ctx, cancel := context.WithCancelCause(context.Background())
		mine := errors.New("tired of waiting")
		time.AfterFunc(2*time.Millisecond, func() { cancel(mine) })
		_, err := r.WaitContext(ctx)
		m.that(errors.Is(err, mine) && errors.Is(err, ompi.ErrPending), "WaitContext that gives up: %v", err)
		_, err = r.WaitContext(ctx) // ended before
		m.that(errors.Is(err, mine), "WaitContext of a context that has ended: %v", err)
		for range ompi.Completed(ctx, r) {
			m.that(false, "Completed yields what is not complete")
		}
		_, ok, err := r.Status()
		m.that(!ok && err == nil, "the operation is over: %v", err)
		m.ok(w.Send(ompi.Slice[byte](nil), 0, 9))
		live, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		st, err := r.WaitContext(live)
		m.that(err == nil && st.Source == 0 && v == 42, "WaitContext: %+v, %v, %d", st, err, v)
		return m.err
	})
}

// TestCancel: a receive that has not matched is cancelled; what has matched, and sends, complete as usual (MPI-3.1 §3.8.4).
func TestCancel(t *testing.T) {
	job(t, 1, func(w *ompi.Comm) error {
		var m must
		var a, b [4]byte
		r := w.Irecv(ompi.Slice(a[:]), 0, 1)
		m.ok(r.Cancel())
		st, err := r.Wait()
		m.that(err == nil && st.Cancelled, "Wait of a cancelled receive: %+v, %v", st, err)
		m.ok(w.Send(ompi.Slice([]byte{5, 6, 7, 8}), 0, 1)) // must not go to it
		r = w.Irecv(ompi.Slice(b[:]), 0, 1)
		for ok := false; !ok; {
			_, ok, err = r.Status()
			m.ok(err)
		}
		m.ok(r.Cancel())
		st, err = r.Wait()
		m.that(err == nil && !st.Cancelled && b == [4]byte{5, 6, 7, 8} && a == [4]byte{}, "Cancel of what is complete: %+v, %v, %v", st, err, b)
		s := w.Issend(ompi.Slice(b[:]), 0, 2)
		m.ok(s.Cancel())
		_, err = w.Recv(ompi.Slice(a[:]), 0, 2)
		m.ok(err)
		st, err = s.Wait()
		m.that(err == nil && (st.Cancelled || a == b), "Cancel of a send: %+v, %v", st, err)
		return m.err
	})
}

// TestProcNull: sends and receives with the peer that is not complete at once (MPI-3.1 §3.11).
func TestProcNull(t *testing.T) {
	job(t, 1, func(w *ompi.Comm) error {
		var m must
		b := ompi.Slice([]byte{1})
		null := func(what string, st ompi.Status, err error) {
			m.that(err == nil && st.Source == ompi.ProcNull && st.Tag == ompi.AnyTag && st.Bytes() == 0, "%s: %+v, %v", what, st, err)
		}
		for _, send := range []func(ompi.Buffer, int, int) error{w.Send, w.Ssend, w.Rsend, w.Bsend} {
			m.ok(send(b, ompi.ProcNull, 0))
		}
		for _, send := range []func(ompi.Buffer, int, int) ompi.Request{w.Isend, w.Issend, w.Irsend, w.Ibsend} {
			_, err := send(b, ompi.ProcNull, 0).Wait()
			m.ok(err)
		}
		st, err := w.Recv(b, ompi.ProcNull, 3)
		null("Recv", st, err)
		st, err = w.Irecv(b, ompi.ProcNull, ompi.AnyTag).Wait()
		null("Irecv", st, err)
		st, err = w.Probe(ompi.ProcNull, 3)
		null("Probe", st, err)
		st, ok, err := w.Iprobe(ompi.ProcNull, 3)
		m.that(ok, "Iprobe finds nothing")
		null("Iprobe", st, err)
		msg, st, err := w.Mprobe(ompi.ProcNull, 3)
		null("Mprobe", st, err)
		st, err = msg.Recv(b)
		null("Message.Recv", st, err)
		st, err = w.Sendrecv(b, ompi.ProcNull, 0, b, ompi.ProcNull, 0)
		null("Sendrecv", st, err)
		st, err = w.SendrecvReplace(b, ompi.ProcNull, 0, ompi.ProcNull, 0)
		null("SendrecvReplace", st, err)
		return m.err
	})
}

// TestProcNullAllocations: what goes nowhere costs no memory.
func TestProcNullAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	job(t, 1, func(w *ompi.Comm) error {
		b := ompi.Slice([]byte{1})
		n := testing.AllocsPerRun(100, func() {
			if err := ompi.WaitAll(w.Irecv(b, ompi.ProcNull, 0), w.Isend(b, ompi.ProcNull, 0)); err != nil {
				t.Error(err)
			}
			if st, err := w.Irecv(b, ompi.ProcNull, 0).Wait(); err != nil || st.Source != ompi.ProcNull {
				t.Error(st, err)
			}
		})
		if n > 0 {
			t.Errorf("%v allocations", n)
		}
		return nil
	})
}

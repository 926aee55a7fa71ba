package ompi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// calls counts the callbacks of a generalized request.
type calls struct {
	query, free, cancel atomic.Int32
	complete            atomic.Bool // as Cancel was told
	queryErr, freeErr   error
}

func (k *calls) funcs() ompi.GrequestFuncs {
	return ompi.GrequestFuncs{
		Query: func(st *ompi.Status) error {
			k.query.Add(1)
			if k.free.Load() != 0 {
				return errors.New("query after free")
			}
			st.Source, st.Tag = 5, 6
			st.SetElements(datatype.Int32, 7)
			st.Err = errors.New("ignored")
			return k.queryErr
		},
		Free:   func() error { k.free.Add(1); return k.freeErr },
		Cancel: func(complete bool) error { k.cancel.Add(1); k.complete.Store(complete); return nil },
	}
}

// TestGrequestForms: every way of waiting calls query once and free once, also where no status is wanted (MPI-3.1 §12.2).
func TestGrequestForms(t *testing.T) {
	forms := map[string]func(r ompi.Request) (ompi.Status, bool, error){
		"Wait": func(r ompi.Request) (ompi.Status, bool, error) { st, err := r.Wait(); return st, true, err },
		"WaitContext": func(r ompi.Request) (ompi.Status, bool, error) {
			st, err := r.WaitContext(context.Background())
			return st, true, err
		},
		"Test": ompi.Request.Test,
		"WaitAny": func(r ompi.Request) (ompi.Status, bool, error) {
			_, st, err := ompi.WaitAny(ompi.Request{}, r)
			return st, true, err
		},
		"TestAny": func(r ompi.Request) (ompi.Status, bool, error) { _, st, ok, err := ompi.TestAny(r); return st, ok, err },
		"WaitSome": func(r ompi.Request) (ompi.Status, bool, error) {
			st := make([]ompi.Status, 1)
			_, err := ompi.WaitSome([]ompi.Request{r}, make([]int, 1), st)
			return st[0], true, err
		},
		"TestSome": func(r ompi.Request) (ompi.Status, bool, error) {
			st := make([]ompi.Status, 1)
			n, err := ompi.TestSome([]ompi.Request{r}, make([]int, 1), st)
			return st[0], n == 1, err
		},
		"WaitAllStatus": func(r ompi.Request) (ompi.Status, bool, error) {
			st := make([]ompi.Status, 1)
			err := ompi.WaitAllStatus([]ompi.Request{r}, st)
			return st[0], true, err
		},
		"TestAllStatus": func(r ompi.Request) (ompi.Status, bool, error) {
			st := make([]ompi.Status, 1)
			ok, err := ompi.TestAllStatus([]ompi.Request{r}, st)
			return st[0], ok, err
		},
		"Completed": func(r ompi.Request) (st ompi.Status, ok bool, err error) {
			for _, x := range ompi.Completed(context.Background(), r) {
				st, ok, err = x.Status, true, x.Err
			}
			return st, ok, err
		},
		"WaitAll": func(r ompi.Request) (ompi.Status, bool, error) { return ompi.Status{}, true, ompi.WaitAll(r) },
		"TestAll": func(r ompi.Request) (ompi.Status, bool, error) {
			ok, err := ompi.TestAll(r)
			return ompi.Status{}, ok, err
		},
	}
	job(t, 1, func(w *ompi.Comm) error {
		var m must
		for name, form := range forms {
			for _, before := range []bool{true, false} {
				var k calls
				r := w.Instance().GrequestStart(k.funcs())
				if before {
					m.ok(r.GrequestComplete())
				} else {
					if name[0] == 'T' {
						_, ok, err := form(r)
						m.that(!ok && err == nil && k.query.Load() == 0, "%s of one under way: %v, %v", name, ok, err)
					}
					time.AfterFunc(time.Millisecond, func() { m.ok(r.GrequestComplete()) })
				}
				var st ompi.Status
				var err error
				for ok := false; !ok && err == nil; {
					st, ok, err = form(r)
				}
				m.that(err == nil && k.query.Load() == 1 && k.free.Load() == 1, "%s: %v, query called %d times, free %d", name, err, k.query.Load(), k.free.Load())
				if st != (ompi.Status{}) {
					m.that(st.Source == 5 && st.Tag == 6 && st.Count(datatype.Int32) == 7 && st.Err == nil, "%s: status %+v", name, st)
				}
				_, err = r.Wait()
				m.that(err == nil && k.query.Load() == 1, "%s: it is not retired, %v", name, err)
				m.that(errors.Is(r.GrequestComplete(), ompi.ErrRequest), "%s: completed twice", name)
			}
		}
		return m.err
	})
}

// TestGrequestLife: get_status queries without freeing; Free before and after completion; Cancel tells whether it is complete.
func TestGrequestLife(t *testing.T) {
	job(t, 1, func(w *ompi.Comm) error {
		var m must
		i := w.Instance()
		var k calls
		r := i.GrequestStart(k.funcs())
		m.ok(r.Cancel())
		m.that(k.cancel.Load() == 1 && !k.complete.Load(), "Cancel before it is complete")
		_, ok, err := r.Status()
		m.that(!ok && err == nil && k.query.Load() == 0, "Status before it is complete: %v", err)
		m.ok(r.GrequestComplete())
		st, ok, err := r.Status()
		m.that(ok && err == nil && st.Tag == 6 && k.query.Load() == 1 && k.free.Load() == 0, "Status: %+v, %v", st, err)
		m.ok(r.Cancel())
		m.that(k.cancel.Load() == 2 && k.complete.Load(), "Cancel of what is complete")
		m.ok(r.Free())
		m.that(k.free.Load() == 1 && k.query.Load() == 1, "Free: query %d, free %d", k.query.Load(), k.free.Load())
		m.that(errors.Is(r.Free(), ompi.ErrRequest), "freed twice")

		var early calls
		r = i.GrequestStart(early.funcs())
		m.ok(r.Free())
		m.that(early.free.Load() == 0, "free called before it is complete")
		m.ok(r.GrequestComplete())
		m.that(early.free.Load() == 1 && early.query.Load() == 0, "GrequestComplete after Free: query %d, free %d", early.query.Load(), early.free.Load())

		m.that(errors.Is(ompi.Request{}.GrequestComplete(), ompi.ErrRequest), "GrequestComplete of a null request")
		x := w.Irecv(ompi.Slice[byte](nil), 0, 0)
		m.that(errors.Is(x.GrequestComplete(), ompi.ErrRequest), "GrequestComplete of a receive")
		m.ok(x.Cancel())
		_, err = x.Wait()
		m.ok(err)
		r = i.GrequestStart(ompi.GrequestFuncs{})
		m.that(errors.Is(r.Start(), ompi.ErrRequest), "Start of a generalized request")
		m.ok(r.GrequestComplete())
		_, err = r.Wait()
		m.ok(err)
		return m.err
	})
}

// TestGrequestErrors: what callbacks return comes out of the call; free's error before query's.
func TestGrequestErrors(t *testing.T) {
	job(t, 1, func(w *ompi.Comm) error {
		var m must
		first, second := errors.New("first"), errors.New("second")
		k := calls{queryErr: first}
		r := w.Instance().GrequestStart(k.funcs())
		m.ok(r.GrequestComplete())
		_, _, err := r.Status()
		m.that(errors.Is(err, first), "Status: %v", err)
		st, err := r.Wait()
		m.that(errors.Is(err, first) && errors.Is(st.Err, first) && k.free.Load() == 1, "Wait: %v", err)
		k = calls{queryErr: first, freeErr: second}
		a, b := w.Instance().GrequestStart(k.funcs()), w.Instance().GrequestStart(ompi.GrequestFuncs{})
		m.ok(a.GrequestComplete())
		m.ok(b.GrequestComplete())
		err = ompi.WaitAll(b, a)
		var e *ompi.Error
		m.that(errors.Is(err, second) && errors.As(err, &e) && e.Index == 1, "WaitAll: %v", err)
		return m.err
	})
}

// TestGrequestParked: completion wakes who waits, driving or parked, also while messages are under way.
func TestGrequestParked(t *testing.T) {
	job(t, 2, func(w *ompi.Comm) error {
		var m must
		r := w.Instance().GrequestStart(ompi.GrequestFuncs{})
		in := w.Irecv(ompi.Slice(make([]byte, 8)), 1-w.Rank(), 0)
		done := make(chan error, 3)
		go func() { _, err := r.Wait(); done <- err }()
		go func() { done <- ompi.WaitAll(in, r) }()
		go func() { _, err := in.Wait(); done <- err }()
		time.Sleep(30 * time.Millisecond) // the driver sleeps now
		m.ok(r.GrequestComplete())
		m.ok(<-done)
		m.ok(w.Send(ompi.Slice(make([]byte, 8)), 1-w.Rank(), 0))
		m.ok(<-done)
		m.ok(<-done)
		return m.err
	})
}

// TestGrequestCancelled: the end of the job ends what waits for the program.
func TestGrequestCancelled(t *testing.T) {
	mine := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	var g, p error
	err := ompi.Run(ctx, 1, func(w *ompi.Comm) error {
		r := w.Instance().GrequestStart(ompi.GrequestFuncs{})
		s := w.PsendInit(ompi.Slice(make([]byte, 2)), 2, 0, 0)
		if err := s.Start(); err != nil {
			return err
		}
		time.AfterFunc(time.Millisecond, func() { cancel(mine) })
		_, g = r.Wait()
		_, p = s.Wait()
		return g
	})
	if !errors.Is(err, mine) || !errors.Is(g, mine) || !errors.Is(p, mine) {
		t.Errorf("Run: %v; waits: %v, %v", err, g, p)
	}
}

// TestCompletedOrder: by time of completion, not by position; a break leaves the rest as it is.
func TestCompletedOrder(t *testing.T) {
	job(t, 1, func(w *ompi.Comm) error {
		var m must
		const n = 10
		b := make([]int32, n)
		var reqs []ompi.Request
		for i := range n {
			reqs = append(reqs, w.Irecv(ompi.Value(&b[i]), 0, i))
		}
		order := []int{7, 2, 9, 0, 4, 1, 8, 3, 6, 5}
		for _, i := range order {
			v := int32(i)
			m.ok(w.Send(ompi.Value(&v), 0, i))
		}
		for _, r := range reqs { // all are complete before Completed looks
			for ok := false; !ok; {
				_, ok, _ = r.Status()
			}
		}
		var got []int
		for i, x := range ompi.Completed(context.Background(), reqs...) {
			m.that(x.Err == nil && x.Status.Tag == i && b[i] == int32(i), "request %d: %+v", i, x)
			if got = append(got, i); len(got) == 4 {
				break
			}
		}
		m.that(slices.Equal(got, order[:4]), "came in order %v, sent in %v", got, order)
		for i := range ompi.Completed(context.Background(), reqs...) {
			got = append(got, i)
		}
		m.that(slices.Equal(got, order), "came in order %v, sent in %v", got, order)
		return m.err
	})
}

// TestSameRequest: of many goroutines that wait for one request exactly one gets the outcome, and it is that request's, though the
// slots are used again at once.
func TestSameRequest(t *testing.T) {
	const rounds, goroutines = 150, 4
	job(t, 2, func(w *ompi.Comm) error {
		var m must
		for round := range rounds {
			v := int64(round)
			if w.Rank() == 0 {
				for tag := range 3 {
					m.ok(w.Send(ompi.Value(&v), 1, 3*round+tag))
				}
				continue
			}
			in := make([]int64, 3)
			var reqs [3]ompi.Request
			for k := range reqs {
				reqs[k] = w.Irecv(ompi.Value(&in[k]), 0, 3*round+k)
			}
			var won [3]atomic.Int32
			got := func(k int, st ompi.Status, err error) error {
				if err != nil {
					return err
				}
				if st.Source == ompi.AnySource {
					return nil // somebody else has it
				}
				if st.Tag != 3*round+k || st.Bytes() != 8 {
					return fmt.Errorf("request %d of round %d has %+v", k, round, st)
				}
				won[k].Add(1)
				return nil
			}
			m.ok(threads(goroutines, func(g int) error {
				switch (g + round) % 4 {
				case 0, 1:
					for k := range reqs {
						st, err := reqs[k].Wait()
						if err := got(k, st, err); err != nil {
							return err
						}
					}
				case 2:
					for {
						k, st, err := ompi.WaitAny(reqs[:]...)
						if k == ompi.Undefined {
							return err
						}
						if err := got(k, st, err); err != nil {
							return err
						}
					}
				case 3:
					sts := make([]ompi.Status, 3)
					if err := ompi.WaitAllStatus(reqs[:], sts); err != nil {
						return err
					}
					for k, st := range sts {
						if err := got(k, st, nil); err != nil {
							return err
						}
					}
				}
				return nil
			}))
			for k := range won {
				m.that(won[k].Load() == 1, "round %d: %d goroutines got request %d", round, won[k].Load(), k)
			}
		}
		return m.err
	})
}

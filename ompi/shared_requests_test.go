package ompi_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestSharedRequests: the goroutines of a rank all wait for the same requests, each in another way, with and without somebody who
// drives beside them. Every outcome goes to one goroutine, and all come back.
func TestSharedRequests(t *testing.T) {
	for _, mode := range []string{"none", "agent"} {
		for _, c := range [][2]string{{"sm", "20ms"}, {"sm", "1us"}, {"tcp", "1us"}} {
			t.Run(mode+" "+c[0]+" "+c[1], func(t *testing.T) {
				job(t, 4, sharedRequests, ompi.WithParam("mpi_async_progress", mode), ompi.WithParam("btl", "self,"+c[0]), ompi.WithParam("mpi_sleep_after", c[1]))
			})
		}
	}
}

func sharedRequests(w *ompi.Comm) error {
	const goroutines, rounds, n = 4, 60, 6
	to, from := (w.Rank()+1)%w.Size(), (w.Rank()+w.Size()-1)%w.Size()
	reqs := make([]ompi.Request, 2*n)
	in, out := make([][]byte, n), make([][]byte, n)
	var taken atomic.Int32
	var wrong sync.Map
	start, end := make([]chan struct{}, goroutines), make(chan struct{}, goroutines)
	for k := range goroutines {
		start[k] = make(chan struct{}, 1)
		go func() {
			rnd := rand.New(rand.NewPCG(uint64(w.Rank()), uint64(k)))
			for range start[k] {
				got, err := takeSomehow(reqs, from, rnd)
				if err != nil {
					wrong.Store(err.Error(), err)
				}
				taken.Add(int32(got))
				end <- struct{}{}
			}
		}()
		defer close(start[k])
	}
	for round := range rounds {
		taken.Store(0)
		for i := range n {
			size := []int{0, 8, 1000, 100_000}[(round+i)%4]
			in[i], out[i] = make([]byte, size), make([]byte, size)
			fillMessage(out[i], w.Rank()*1000+i)
			reqs[i] = w.Irecv(ompi.Slice(in[i]), from, i)
			reqs[n+i] = w.Isend(ompi.Slice(out[i]), to, i)
		}
		for k := range goroutines {
			start[k] <- struct{}{}
		}
		for range goroutines {
			<-end
		}
		var err error
		wrong.Range(func(_, e any) bool { err = e.(error); return false })
		if err != nil {
			return err
		}
		// Those that got nothing of a request have seen it as null, so that nobody may be waiting for it any more.
		for i := range reqs {
			if st, done, err := reqs[i].Test(); !done || err != nil || st.Source != ompi.AnySource {
				return fmt.Errorf("round %d: request %d is left: %+v, %v, %w", round, i, st, done, err)
			}
		}
		if got := taken.Load(); got > n { // WaitAll says nothing of whose it took
			return fmt.Errorf("round %d: %d outcomes of %d receives", round, got, n)
		}
		for i := range n {
			want := make([]byte, len(in[i]))
			fillMessage(want, from*1000+i)
			if string(in[i]) != string(want) {
				return fmt.Errorf("round %d: message %d is wrong", round, i)
			}
		}
	}
	return nil
}

// takeSomehow takes what it gets of the requests, until all are over, and counts receives from a rank that it knows to have taken.
func takeSomehow(all []ompi.Request, from int, rnd *rand.Rand) (got int, err error) {
	reqs := append([]ompi.Request(nil), all...)
	count := func(st ompi.Status) {
		if st.Source == from {
			got++
		}
	}
	switch rnd.IntN(7) {
	case 0:
		for _, i := range rnd.Perm(len(reqs)) {
			st, err := reqs[i].Wait()
			if err != nil {
				return got, err
			}
			count(st)
		}
	case 1:
		for _, i := range rnd.Perm(len(reqs)) {
			for done := false; !done; {
				var st ompi.Status
				if st, done, err = reqs[i].Test(); err != nil {
					return got, err
				}
				count(st)
			}
		}
	case 2:
		return 0, ompi.WaitAll(reqs...)
	case 3:
		st := make([]ompi.Status, len(reqs))
		err = ompi.WaitAllStatus(reqs, st)
		for i := range st {
			count(st[i])
		}
	case 4:
		for {
			i, st, err := ompi.WaitAny(reqs...)
			if i == ompi.Undefined || err != nil {
				return got, err
			}
			count(st)
		}
	case 5:
		idx, st := make([]int, len(reqs)), make([]ompi.Status, len(reqs))
		for {
			k, err := ompi.WaitSome(reqs, idx, st)
			if k == ompi.Undefined || err != nil {
				return got, err
			}
			for i := range k {
				count(st[i])
			}
		}
	case 6:
		for done := false; !done; {
			if done, err = ompi.TestAll(reqs...); err != nil {
				return got, err
			}
		}
	}
	return got, err
}

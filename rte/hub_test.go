package rte_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ompi-go/ompi-go/rte"
)

func TestHub(t *testing.T) {
	for _, n := range []int{1, 2, 7} {
		h := rte.NewHub(n)
		var all sync.WaitGroup
		for rank := range n {
			all.Go(func() {
				if err := ringOfTrust(h.Job(rank)); err != nil {
					t.Errorf("rank %d of %d: %v", rank, n, err)
				}
			})
		}
		all.Wait()
		if h.Err() != nil {
			t.Error(h.Err())
		}
	}
	j := rte.NewHub(2).Job(1)
	if j.Rank() != 1 || j.Size() != 2 || j.Launcher() != "in-process" || j.Locality(0) != rte.SameProcess {
		t.Errorf("rank %d of %d by %s, rank 0 is %v", j.Rank(), j.Size(), j.Launcher(), j.Locality(0))
	}
}

func TestHubAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := rte.NewHub(3)
		fence := make(chan error, 1)
		go func() { fence <- h.Job(0).Fence() }()
		synctest.Wait()
		select {
		case <-h.Done():
			t.Fatal("done before Abort")
		default:
		}
		h.Job(2).Abort(7, "enough")
		h.Job(1).Abort(8, "too late")
		want := rte.AbortError{Rank: 2, Code: 7, Msg: "enough"}
		for _, err := range []error{<-fence, h.Job(1).Fence(), h.Err()} {
			var a *rte.AbortError
			if !errors.As(err, &a) || *a != want {
				t.Errorf("error %v, want %v", err, &want)
			}
		}
		<-h.Done()
	})
}

func TestHubFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := rte.NewHub(4)
		cause := errors.New("lost")
		heard := make([][]int, 4)
		for rank := range 3 {
			h.Job(rank).OnFailure(func(dead int, err error) {
				if !errors.Is(err, cause) {
					t.Errorf("rank %d hears of %d: %v", rank, dead, err)
				}
				heard[rank] = append(heard[rank], dead)
			})
		}
		fences := make(chan error, 2)
		for _, rank := range []int{0, 2} {
			go func() { fences <- h.Job(rank).Fence() }()
		}
		synctest.Wait()
		h.Fail(1, cause)
		h.Fail(1, cause)
		synctest.Wait()
		if len(fences) != 0 {
			t.Fatal("the fence did not wait for rank 3")
		}
		if err := h.Job(3).Finalize(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := <-fences; err != nil {
				t.Error(err)
			}
		}
		h.Job(3).OnFailure(func(dead int, _ error) { heard[3] = append(heard[3], dead) })
		for rank, want := range []int{1, 0, 1, 1} { // the dead are not told of themselves
			if len(heard[rank]) != want {
				t.Errorf("rank %d heard of %v", rank, heard[rank])
			}
		}
		if err := h.Job(1).Fence(); !errors.Is(err, cause) {
			t.Errorf("fence of the dead: %v", err)
		}
		if err := h.Job(3).Fence(); !errors.Is(err, rte.ErrFinalized) {
			t.Errorf("fence after Finalize: %v", err)
		}
		if err := h.Job(3).Put("late", nil); !errors.Is(err, rte.ErrFinalized) {
			t.Errorf("put after Finalize: %v", err)
		}
	})
}

// TestHubLastOnes: whoever fails inside a fence is let go when nobody else is left.
func TestHubLastOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := rte.NewHub(2)
		fence := make(chan error, 1)
		go func() { fence <- h.Job(0).Fence() }()
		synctest.Wait()
		h.Fail(0, errors.New("lost"))
		h.Fail(1, errors.New("lost"))
		<-fence
	})
}

package ompi

import (
	"context"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/core"
)

// A death waits for the launcher's word, but not for ever, and each only once.
func TestDeathNews(t *testing.T) {
	err := Run(context.Background(), 3, func(w *Comm) error {
		if w.Rank() != 0 {
			return nil
		}
		failed := func(rank int) error { return &core.Error{Class: ErrProcFailed, Peer: rank, Index: -1} }
		n := &deathNews{}
		n.init(w.inst.job)
		begin := time.Now()
		n.await(w, failed(1)) // goroutine ranks have nobody to wait for
		if d := time.Since(begin); d >= newsGrace {
			t.Errorf("waited %v in a job without a launcher", d)
		}
		n.launched = true
		n.tell(2)
		n.await(w, failed(2))
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			n.await(w, failed(1))
		}()
		select {
		case <-heard:
			t.Error("did not wait for the launcher")
		case <-time.After(20 * time.Millisecond):
		}
		n.tell(1)
		<-heard
		n.since[0] = time.Now().Add(-newsGrace)
		n.await(w, failed(0)) // the launcher has had its time
		n.await(w, failed(Undefined))
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

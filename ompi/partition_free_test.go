package ompi

import (
	"context"
	"errors"
	"testing"
)

// TestPartitionOfferGivenBack: a communicator that is freed gives back the receives of the offers, whether one came or not.
func TestPartitionOfferGivenBack(t *testing.T) {
	err := Run(context.Background(), 2, func(w *Comm) error {
		for _, sent := range []bool{false, true} {
			c, err := w.Dup()
			if err != nil {
				return err
			}
			peer := 1 - w.Rank()
			b := make([]int64, 2)
			in := c.PrecvInit(Slice(b), 1, peer, 0)
			if sent {
				out := c.PsendInit(Slice(b), 1, peer, 0)
				if err := errors.Join(StartAll(in, out), out.Pready(0), WaitAll(in, out), out.Free()); err != nil {
					return err
				}
			}
			if err := errors.Join(in.Free(), c.Free()); err != nil {
				return err
			}
			poll(c.inst.engine) // what hooks left to be done
			for rank, p := range c.parts.peers {
				if p.offer.Live() {
					t.Errorf("sent %v: the receive of offers from rank %d is held for ever", sent, rank)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

package portals

import (
	"fmt"

	"github.com/ompi-go/ompi-go/portals4"
)

// notice is how a rank learns that something is complete: from an event queue or from a counting event.
type notice struct {
	eq   *portals4.EQ
	ct   *portals4.CT
	seen uint64 // of what is counted
	ev   portals4.Event
}

func (r *rank) newNotice() (n *notice, err error) {
	n = &notice{}
	if r.o.Counting {
		n.ct, err = r.ni.CTAlloc()
	} else {
		n.eq, err = r.ni.EQAlloc(queueSize)
	}
	return n, err
}

// wait waits for k more.
func (n *notice) wait(k int) error {
	if n.ct != nil {
		n.seen += uint64(k)
		v, err := n.ct.Wait(n.seen)
		if err == nil && v.Failure != 0 {
			err = fmt.Errorf("%d operations failed", v.Failure)
		}
		return err
	}
	for range k {
		if err := n.eq.Wait(&n.ev); err != nil {
			return err
		}
		if n.ev.NIFail != portals4.OK {
			return fmt.Errorf("%v", &n.ev)
		}
	}
	return nil
}

func (n *notice) free() error {
	if n.ct != nil {
		return n.ct.Free()
	}
	if n.eq != nil {
		return n.eq.Free()
	}
	return nil
}

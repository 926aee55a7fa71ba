package ompi_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// TestCreationsDeath: wherever the making of communicators is when a member dies, it ends at all the others, who then make one among
// themselves.
func TestCreationsDeath(t *testing.T) {
	for round, btl := range []string{"self,sm", "self,tcp", "self,sm", "self,tcp"} {
		out, errOut, err := launch(t, 4, "creations-death", []string{"--on-failure", "continue", "--mca", "btl", btl},
			[]string{fmt.Sprintf("%s=%d", deathVar, 500+3000*round)})
		if err == nil || strings.Count(out, "good") != 3 {
			t.Errorf("%s: %v\n%s%s", btl, err, out, errOut)
		}
	}
}

// deathVar is when rank 1 dies, in microseconds.
const deathVar = "OMPI_GO_OMPI_TEST_DEATH"

func creationsDeathRank(w *ompi.Comm) error {
	const each = 3
	comms := make([]*ompi.Comm, each)
	for n := range comms {
		var err error
		if comms[n], err = w.Dup(); err != nil {
			return err
		}
	}
	if w.Rank() == 1 {
		var us int
		if _, err := fmt.Sscan(os.Getenv(deathVar), &us); err != nil {
			return err
		}
		time.AfterFunc(time.Duration(us)*time.Microsecond, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) })
	}
	living, err := w.Group().Excl([]int{1})
	if err != nil {
		return err
	}
	err = threads(each, func(n int) error {
		for c := comms[n]; ; {
			if _, _, err := c.Idup(); err != nil { // never waited for
				return err
			}
			d, r, err := c.Idup()
			if err != nil {
				return err
			}
			x, err := c.CreateGroup(c.Group(), n)
			if err != nil {
				return errors.Join(err, waited(r))
			}
			if err := waited(r); err != nil {
				return err
			}
			if err := errors.Join(x.Free(), d.Free()); err != nil {
				return err
			}
		}
	})
	var m must
	m.that(errors.Is(err, ompi.ErrProcFailed), "the creations end with %v", err)
	err = threads(each, func(n int) error {
		c, err := w.CreateGroup(living, n)
		if err != nil {
			return err
		}
		return errors.Join(works(c, []int{0, 2, 3}), c.Free())
	})
	m.ok(err)
	if m.err == nil {
		fmt.Println("good")
	}
	return m.err
}

func waited(r ompi.Request) error {
	_, err := r.Wait()
	return err
}

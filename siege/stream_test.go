package siege_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// streamRole: rank 0 sends windows of large messages to rank 1, which both ranks copy; rank args[0] is killed in the middle, and the
// other finds everything right until it hears of that.
func streamRole(world *ompi.Comm, args []string) error {
	victim, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	after, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	const window, n = 8, 1 << 17
	bufs := make([][]int64, window)
	for i := range bufs {
		bufs[i] = make([]int64, n)
	}
	if err := world.Barrier(); err != nil {
		return err
	}
	if world.Rank() == victim {
		go func() {
			time.Sleep(after)
			_ = fall(world, "kill")
		}()
	}
	reqs := make([]ompi.Request, window)
	for round := int64(0); ; round++ {
		for i, b := range bufs {
			if world.Rank() == 0 {
				b[0], b[n/2], b[n-1] = round, round+1, round+2
				reqs[i] = world.Isend(ompi.Slice(b), 1, i)
			} else {
				reqs[i] = world.Irecv(ompi.Slice(b), 0, i)
			}
		}
		told := false
		for i, r := range reqs {
			if _, err := r.Wait(); err != nil {
				if err := failed(fmt.Sprint("message ", i), victim, err); err != nil {
					return err
				}
				told = true
			} else if b := bufs[i]; world.Rank() == 1 && (b[0] != round || b[n/2] != round+1 || b[n-1] != round+2) {
				return fmt.Errorf("round %d, message %d: %d, %d, %d", round, i, b[0], b[n/2], b[n-1])
			}
		}
		if told {
			fmt.Printf("rank %d heard of it\n", world.Rank())
			return nil
		}
	}
}

// TestHelperKilled: whoever of the two that copy a message dies, the other does not wait for it.
func TestHelperKilled(t *testing.T) {
	for _, victim := range []string{"0", "1"} {
		for _, after := range []string{"1ms", "3ms", "20ms"} {
			t.Run(victim+"/"+after, func(t *testing.T) {
				j := mpirun(t, "-n 2 --on-failure continue --mca btl self,sm", "stream", victim, after)
				j.Run(137, `^rank \d heard of it`)
			})
		}
	}
}

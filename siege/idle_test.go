package siege_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/ompi"
)

func cpuTime() time.Duration {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// idleRole: rank 0 lets the others wait for a while; they tell how much CPU time that took.
func idleRole(world *ompi.Comm, args []string) error {
	const wait = 3 * time.Second
	if err := world.Barrier(); err != nil {
		return err
	}
	x := make([]byte, 1)
	if world.Rank() == 0 {
		time.Sleep(wait)
		for r := 1; r < world.Size(); r++ {
			if err := world.Send(ompi.Slice(x), r, 0); err != nil {
				return err
			}
		}
		return nil
	}
	before := cpuTime()
	var err error
	if args[0] == "recv" {
		_, err = world.Recv(ompi.Slice(x), 0, 0)
	} else {
		_, err = world.Recv(ompi.Slice(x), ompi.AnySource, ompi.AnyTag)
	}
	used := cpuTime() - before
	fmt.Printf("rank %d used %d permille\n", world.Rank(), used*1000/wait)
	return err
}

// TestIdle: a rank that waits for seconds costs next to nothing. It is below 1 % on a quiet machine.
func TestIdle(t *testing.T) {
	for _, words := range []string{"-n 2 --mca btl self,sm", "-n 2 --mca btl self,tcp", "-n 4 --mca btl self,sm", "-n 2 -x GOMAXPROCS=1 --mca btl self,sm,tcp", "-n 4 --mca pml cm"} {
		for _, op := range []string{"recv", "any"} {
			t.Run(strings.ReplaceAll(words, " ", "_")+"/"+op, func(t *testing.T) {
				t.Parallel()
				j := mpirun(t, words, "idle", op)
				j.Run(0, `^rank 1 used \d+ permille`)
				for line := range strings.Lines(j.Out.String()) {
					var rank, permille int
					if _, err := fmt.Sscanf(line, "rank %d used %d permille", &rank, &permille); err == nil && permille > 50 {
						t.Errorf("rank %d used %d permille of a core", rank, permille)
					}
				}
			})
		}
	}
}

package siege_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// pingPongRole sends small and large messages to and fro between ranks 2k and 2k+1.
func pingPongRole(world *ompi.Comm, _ []string) error {
	rank := world.Rank()
	peer := rank ^ 1
	for _, n := range []int{1, 1000, 1 << 20} {
		data := make([]byte, n)
		rounds := 200
		if n > 1000 {
			rounds = 10
		}
		for round := range rounds {
			var err error
			if rank < peer {
				data[0] = byte(round)
				if err = world.Send(ompi.Slice(data), peer, 0); err == nil {
					_, err = world.Recv(ompi.Slice(data), peer, 0)
				}
				if err == nil && data[0] != byte(round)+1 {
					err = fmt.Errorf("round %d: got %d", round, data[0])
				}
			} else {
				if _, err = world.Recv(ompi.Slice(data), peer, 0); err == nil {
					data[0]++
					err = world.Send(ompi.Slice(data), peer, 0)
				}
			}
			if err != nil {
				return err
			}
		}
	}
	fmt.Printf("rank %d is done, GOMAXPROCS %d\n", rank, runtime.GOMAXPROCS(0))
	return nil
}

// TestNarrow: ranks that have one core, or share one, do not starve each other.
func TestNarrow(t *testing.T) {
	for _, words := range []string{
		"-n 2 -x GOMAXPROCS=1 --mca btl self,sm", "-n 2 -x GOMAXPROCS=1 --mca btl self,tcp",
		"-n 2 --bind-to core", "-n 4 --bind-to core --mca btl self,tcp", "-n 4 --bind-to core --mca mpi_yield_when_idle false",
		"-n 4 --mca mpi_sleep_after 0", "-n 4 -x GOMAXPROCS=1 --mca mpi_sleep_after 1us", "-n 4 --mca btl self,tcp --mca mpi_sleep_after 1us",
		"-n 2 -x GOMAXPROCS=1 --mca pml cm", "-n 4 --bind-to core --mca pml cm", "-n 4 --mca pml cm --mca mpi_sleep_after 1us",
	} {
		t.Run(strings.ReplaceAll(words, " ", "_"), func(t *testing.T) {
			t.Parallel()
			mpirun(t, words, "pingpong").Run(0, `^rank 0 is done`, `^rank 1 is done`)
		})
	}
}

// TestManyRanks: many more ranks than cores.
func TestManyRanks(t *testing.T) {
	mpirun(t, "-n 64", "ring").Run(0, `^ring of 64`)
	mpirun(t, "-n 24 --mca btl self,tcp", "ring").Run(0, `^ring of 24`)
	mpirun(t, "-n 12", "collectives").Run(0, `^collectives of 12`)
	j := mpirun(t, "-n 48", "die", "panic", "barrier")
	j.Run(2, `^mpirun: rank 1 \(pid \d+\) on \S+ exited with status 2; ending the job \(47 other ranks\)`)
	j.Once(`^(mpirun|ompi): `)
	j = mpirun(t, "-n 48", "bad", "tag")
	j.Run(int(ompi.ErrTag), `^mpirun: rank 1 .*tag -7`)
	j.Once(`^(mpirun|ompi): `)
}

// TestManyGoroutines: a job of goroutine ranks.
func TestManyGoroutines(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var n atomic.Int32
	err := ompi.Run(ctx, 300, func(w *ompi.Comm) error {
		sum := []int64{int64(w.Rank())}
		if err := w.Allreduce(ompi.InPlace(), ompi.Slice(sum), ompi.Sum); err != nil {
			return err
		}
		if sum[0] != 300*299/2 {
			return fmt.Errorf("sum %d", sum[0])
		}
		out, in := []int64{int64(w.Rank())}, []int64{0}
		if _, err := w.Sendrecv(ompi.Slice(out), (w.Rank()+1)%300, 0, ompi.Slice(in), (w.Rank()+299)%300, 0); err != nil {
			return err
		}
		n.Add(1)
		return w.Barrier()
	})
	if err != nil || n.Load() != 300 {
		t.Errorf("%v, %d ranks", err, n.Load())
	}
}

// TestGoroutineFailures: what ends a process ends a goroutine rank's job, and Run tells; the process lives on.
func TestGoroutineFailures(t *testing.T) {
	for _, c := range []struct {
		name string
		want []string
		fall func(w *ompi.Comm) error
	}{
		{"panic", []string{"panic in rank 1: enough", "goroutineFall"}, goroutineFall},
		{"error", []string{"gives up"}, func(*ompi.Comm) error { return errors.New("gives up") }},
		{"abort", []string{"rank 1 called Abort with code 9"}, func(w *ompi.Comm) error { w.Abort(9); return nil }},
		{"exit", []string{"rank 1"}, func(*ompi.Comm) error { runtime.Goexit(); return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			err := ompi.Run(ctx, 3, func(w *ompi.Comm) error {
				if w.Rank() == 1 {
					time.Sleep(20 * time.Millisecond)
					return c.fall(w)
				}
				_, err := w.Recv(ompi.Slice(make([]byte, 1)), 1-w.Rank()/2, 0)
				return err
			})
			var e *ompi.Error
			if !errors.As(err, &e) || e.Peer != 1 {
				t.Fatalf("%v, want rank 1's error", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
		})
	}
}

func goroutineFall(*ompi.Comm) error { panic("enough") }

// TestSingleton: without a launcher the program is a job of one.
func TestSingleton(t *testing.T) {
	for _, role := range []string{"ring", "collectives"} {
		singleton(t, role).Run(0, `^`+role+` of 1`)
	}
	singleton(t, "bad", "tag").Run(0)
}

// nestedRole runs a job of goroutines inside each rank.
func nestedRole(world *ompi.Comm, args []string) error {
	err := ompi.Run(context.Background(), 4, func(inner *ompi.Comm) error {
		if inner.Size() != 4 {
			return fmt.Errorf("%d ranks inside", inner.Size())
		}
		if inner.Rank() != 0 {
			inner = nil
		}
		if inner != nil { // the two jobs do not disturb each other
			if err := ringRole(world, args); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = ompi.Run(context.Background(), 4, func(inner *ompi.Comm) error { return collectivesRole(inner, nil) })
	return errors.Join(err, world.Barrier())
}

// TestNested: ompi.Run inside a process that is a rank itself.
func TestNested(t *testing.T) {
	mpirun(t, "-n 2", "nested").Run(0, `^ring of 2`, `^collectives of 4`)
	singleton(t, "nested").Run(0, `^ring of 1`)
}

// twiceRole initialises MPI again, which a process of a launched job may do once only.
func twiceRole(world *ompi.Comm, args []string) error {
	i, err := ompi.Init()
	if err == nil {
		return errors.Join(errors.New("the second Init succeeded"), i.Finalize())
	}
	if world.Rank() == 0 {
		fmt.Println(err)
	}
	if err := ringRole(world, nil); err != nil {
		return err
	}
	if err := world.Instance().Finalize(); err != nil {
		return err
	}
	if _, err = ompi.Init(); err == nil {
		return errors.New("Init after Finalize succeeded")
	}
	if world.Barrier() == nil {
		return errors.New("Barrier after Finalize succeeded")
	}
	return nil
}

// TestTwice: a second Init in a rank is an error that says so, and harms nothing.
func TestTwice(t *testing.T) {
	mpirun(t, "-n 2", "twice").Run(0, `^Init: .*joined`, `^ring of 2`)
	hydra(t, "-n 2", "twice").Run(0, `^Init: .*joined`, `^ring of 2`)
}

package siege_test

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// counts checks that a communicator works and has n ranks.
func counts(c *ompi.Comm, n int) error {
	sum := []int64{1}
	if err := c.Allreduce(ompi.InPlace(), ompi.Slice(sum), ompi.Sum); err != nil || sum[0] != int64(n) {
		return fmt.Errorf("%d ranks, want %d, %w", sum[0], n, err)
	}
	return nil
}

// commsRole makes communicators in every way, some of them from several goroutines at once.
func commsRole(world *ompi.Comm, _ []string) error {
	rank, size := world.Rank(), world.Size()
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for k := range errs {
		wg.Go(func() {
			errs[k] = func() (err error) {
				// Pairs and triples that overlap in all ways, each goroutine in its own order.
				for i := range size {
					first := (i + k + rank*k) % size
					for _, ranks := range [][]int{{first, (first + 1) % size}, {first, (first + 1) % size, (first + 2) % size}} {
						g, err := world.Group().Incl(ranks)
						if err != nil {
							return err
						}
						if g.Rank() == ompi.Undefined {
							continue
						}
						// All members come to every group of this goroutine, in different orders: so each is one of its own.
						c := make(chan error, 1)
						go func() {
							made, err := world.CreateGroup(g, 1000*k+100*len(ranks)+first)
							if err == nil {
								err = errors.Join(counts(made, len(ranks)), made.Free())
							}
							c <- err
						}()
						defer func() { err = errors.Join(err, <-c) }()
					}
				}
				return nil
			}()
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	dups := make([]*ompi.Comm, 10)
	reqs := make([]ompi.Request, len(dups))
	for i := range dups {
		var err error
		if dups[i], reqs[i], err = world.Idup(); err != nil {
			return err
		}
	}
	if err := ompi.WaitAll(reqs...); err != nil {
		return err
	}
	for _, d := range dups {
		if err := errors.Join(counts(d, size), d.Free()); err != nil {
			return err
		}
	}
	half, err := world.Split(rank%2, -rank)
	if err != nil {
		return err
	}
	inter, err := half.CreateIntercomm(half.Size()-1, world, 1-rank%2, 3)
	if err != nil {
		return err
	}
	big := make([]byte, 300_000)
	big[0] = byte(rank)
	r := inter.Irecv(ompi.Slice(make([]byte, len(big))), ompi.AnySource, 0)
	for i := range inter.RemoteSize() {
		if i%inter.Size() == inter.Rank() {
			if err := inter.Send(ompi.Slice(big), i, 0); err != nil {
				return err
			}
		}
	}
	if _, err := r.Wait(); err != nil {
		return err
	}
	merged, err := inter.Merge(rank%2 == 0)
	if err != nil {
		return err
	}
	cart, err := merged.CartCreate([]int{size}, []bool{true}, false)
	if err != nil {
		return err
	}
	if err := errors.Join(counts(cart, size), cart.Free(), merged.Free(), inter.Free(), half.Free()); err != nil {
		return err
	}
	if rank == 0 {
		fmt.Printf("communicators of %d\n", size)
	}
	return nil
}

func TestCommunicators(t *testing.T) {
	for _, btl := range []string{"self,sm", "self,tcp", "self,portals4", "self,sm,tcp -x GOMAXPROCS=1"} {
		mpirun(t, "-n 4 --mca btl "+btl, "comms").Run(0, `^communicators of 4$`)
	}
	mpirun(t, "-n 7", "comms").Run(0, `^communicators of 7$`)
}

// orphansRole: rank args[1] dies while the others are in a call of an intercommunicator or make a communicator with it (args[0]); they
// hear of it, in both groups, and make a new communicator without it.
func orphansRole(world *ompi.Comm, args []string) error {
	rank, size := world.Rank(), world.Size()
	victim, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	half, err := world.Split(rank/2, 0)
	if err != nil {
		return err
	}
	inter, err := half.CreateIntercomm(0, world, 2-rank/2*2, 0)
	if err != nil {
		return err
	}
	if err := inter.Barrier(); err != nil {
		return err
	}
	if rank == victim {
		time.Sleep(200 * time.Millisecond)
		return fall(world, "kill")
	}
	switch args[0] {
	case "any":
		_, err = inter.Recv(ompi.Buffer{}, ompi.AnySource, 0)
	case "barrier":
		err = inter.Barrier()
	case "merge":
		_, err = inter.Merge(false)
	case "dup":
		_, err = inter.Dup()
	case "idup":
		var r ompi.Request
		if _, r, err = inter.Idup(); err == nil {
			_, err = r.Wait()
		}
	case "split":
		_, err = inter.Split(0, 0)
	case "free":
		err = inter.Free()
	case "group":
		_, err = world.CreateGroup(world.Group(), 0)
	case "set":
		_, err = world.Instance().CommFromGroup(world.Group(), "set")
	}
	if !errors.Is(err, ompi.ErrProcFailed) {
		return fmt.Errorf("%s: %v, want ErrProcFailed", args[0], err)
	}
	g, err := world.Group().Excl([]int{victim})
	if err != nil {
		return err
	}
	for tag := range 3 {
		c, err := world.CreateGroup(g, tag)
		if err != nil {
			return fmt.Errorf("without the dead: %w", err)
		}
		d, err := world.Instance().CommFromGroup(g, "living")
		if err != nil {
			return fmt.Errorf("without the dead: %w", err)
		}
		if err := errors.Join(counts(c, size-1), counts(d, size-1), c.Free(), d.Free()); err != nil {
			return err
		}
	}
	fmt.Printf("rank %d survived\n", rank)
	return nil
}

func TestDeathAcrossGroups(t *testing.T) {
	for _, op := range []string{"any", "barrier", "merge", "dup", "idup", "split", "free", "group", "set"} {
		for _, victim := range []string{"0", "3"} { // a leader, and not
			for _, btl := range []string{"self,sm", "self,tcp"} {
				t.Run(op+"/"+victim+"/"+btl, func(t *testing.T) {
					t.Parallel()
					j := mpirun(t, "-n 4 --on-failure continue --mca btl "+btl, "orphans", op, victim)
					j.Run(137, `^rank 1 survived$`, `^rank 2 survived$`, `^mpirun: rank `+victim+` \(pid \d+\) on \S+ \w+`)
				})
			}
		}
	}
}

// handlersRole: an error under a handler that ends the job.
func handlersRole(world *ompi.Comm, args []string) error {
	var h ompi.Errhandler = ompi.ErrorsAreFatal
	if args[0] == "abort" {
		h = ompi.ErrorsAbort
	}
	world.SetErrhandler(h)
	c, err := world.Dup() // it is inherited
	if err != nil {
		return err
	}
	c.SetName("the duplicate")
	if world.Rank() == 1 {
		if args[1] == "instance" {
			world.Instance().SetErrhandler(h)
			_, err = world.Instance().GroupFromPset("mpi://MOON")
		} else {
			_, err = c.Create(nil)
		}
		fmt.Println("rank 1 goes on")
		return err
	}
	return world.Barrier()
}

func TestHandlersThatEndTheJob(t *testing.T) {
	for _, how := range []string{"fatal", "abort"} {
		for on, c := range map[string]struct {
			class ompi.ErrorClass
			text  string
		}{
			"comm":     {ompi.ErrGroup, `Comm_create on the duplicate: invalid group: the group is nil`},
			"instance": {ompi.ErrArg, `there is no process set "mpi://MOON"`},
		} {
			t.Run(how+"/"+on, func(t *testing.T) {
				t.Parallel()
				j := mpirun(t, "-n 3", "handlers", how, on)
				j.Run(int(c.class), c.text)
				if contains(j.Out.String(), "goes on") {
					t.Error("the rank went on")
				}
			})
		}
	}
}

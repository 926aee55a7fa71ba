package siege_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// failed checks that an error is the death of the victim, found in an operation on the world.
func failed(what string, victim int, err error) error {
	var e *ompi.Error
	if !errors.Is(err, ompi.ErrProcFailed) || !errors.As(err, &e) {
		return fmt.Errorf("%s: %v, want ErrProcFailed", what, err)
	}
	if e.Peer != victim || e.Op == "" || e.Comm != "MPI_COMM_WORLD" {
		return fmt.Errorf("%s: %#v: want peer %d", what, e, victim)
	}
	return nil
}

// surviveRole: rank args[3] falls (args[0]), having met the others before or not (args[1]), while they wait in one of the ways there
// are (args[2]); the survivors hear of it, go on talking, and finish well.
func surviveRole(world *ompi.Comm, args []string) error {
	rank, size := world.Rank(), world.Size()
	how, met, op := args[0], args[1] == "met", args[2]
	victim, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	big := make([]int64, 1<<17)
	var part *ompi.Comm // of the survivors alone
	if met {
		color := 0
		if rank == victim {
			color = ompi.Undefined
		}
		if part, err = world.Split(color, 0); err != nil {
			return err
		}
	}
	if rank == victim {
		if op == "announced" { // messages whose bodies will never come
			for r := range size {
				if r != rank {
					world.Isend(ompi.Slice(big), r, 0)
					if _, err := world.Recv(ompi.Slice(big[:1]), r, 1); err != nil {
						return err
					}
				}
			}
		}
		time.Sleep(200 * time.Millisecond)
		return fall(world, how)
	}
	switch op {
	case "recv":
		_, err = world.Recv(ompi.Slice(big), victim, 0)
	case "any":
		_, err = world.Recv(ompi.Slice(big), ompi.AnySource, 0)
	case "announced":
		if _, err := world.Probe(victim, 0); err != nil {
			return err
		}
		if err := world.Send(ompi.Slice(big[:1]), victim, 1); err != nil {
			return err
		}
		time.Sleep(time.Second)
		_, err = world.Recv(ompi.Slice(big), victim, 0)
	case "probe":
		_, err = world.Probe(ompi.AnySource, 0)
	case "send":
		err = world.Send(ompi.Slice(big), victim, 0)
	case "ssend":
		err = world.Ssend(ompi.Slice(big[:1]), victim, 0)
	case "barrier":
		err = world.Barrier()
	case "allreduce":
		err = world.Allreduce(ompi.InPlace(), ompi.Slice(big), ompi.Sum)
	case "iallreduce": // two at once, of which one waits for nothing but the other's messages
		small := []int64{1}
		one, two := world.Iallreduce(ompi.InPlace(), ompi.Slice(big), ompi.Sum), world.Iallreduce(ompi.InPlace(), ompi.Slice(small), ompi.Sum)
		_, err = two.Wait()
		if err := failed("the second", victim, err); err != nil {
			return err
		}
		_, err = one.Wait()
	case "igather": // the survivors only send, to the victim
		_, err = world.Igather(ompi.Slice(big), ompi.Slice(big[:0]), victim).Wait()
	case "persistent":
		r := world.AllreduceInit(ompi.InPlace(), ompi.Slice(big), ompi.Sum)
		if err := r.Start(); err != nil {
			return err
		}
		_, err = r.Wait()
		if e := r.Start(); e == nil {
			_, e = r.Wait()
			if err := failed("started again", victim, e); err != nil {
				return err
			}
		}
	case "dup":
		_, err = world.Dup()
	case "many":
		reqs := []ompi.Request{
			world.Irecv(ompi.Slice(big[:10]), victim, 0),
			world.Isend(ompi.Slice(big[10:]), victim, 0),
			world.Irecv(ompi.Slice(big[:10]), ompi.AnySource, 5),
			world.Issend(ompi.Slice(big[:1]), victim, 6),
		}
		for i, r := range reqs {
			_, e := r.Wait()
			err = errors.Join(err, failed(fmt.Sprint("request ", i), victim, e))
		}
		if err != nil {
			return err
		}
		_, err = world.Recv(ompi.Slice(big), victim, 0)
	}
	if err := failed(op, victim, err); err != nil {
		return err
	}
	// Whoever knows of the death is told again at once, whatever it tries.
	_, again := world.Recv(ompi.Slice(big), victim, 0)
	_, any := world.Recv(ompi.Slice(big), ompi.AnySource, 0)
	for what, err := range map[string]error{
		"recv again": again, "any again": any, "send again": world.Send(ompi.Slice(big), victim, 0), "barrier again": world.Barrier(),
	} {
		if err := failed(what, victim, err); err != nil {
			return err
		}
	}
	// The survivors talk on, small and large.
	next, previous := (rank+1)%size, (rank+size-1)%size
	if next == victim {
		next = (next + 1) % size
	}
	if previous == victim {
		previous = (previous + size - 1) % size
	}
	for _, n := range []int{1, len(big)} {
		out, in := big[:n], make([]int64, n)
		for i := range out {
			out[i] = int64(rank + i)
		}
		if _, err := world.Sendrecv(ompi.Slice(out), next, 9, ompi.Slice(in), previous, 9); err != nil {
			return fmt.Errorf("among survivors: %w", err)
		}
		for i := range in {
			if in[i] != int64(previous+i) {
				return fmt.Errorf("among survivors: element %d is %d", i, in[i])
			}
		}
	}
	if part != nil {
		sum := []int64{1}
		if err := part.Allreduce(ompi.InPlace(), ompi.Slice(sum), ompi.Sum); err != nil || sum[0] != int64(size-1) {
			return fmt.Errorf("survivors' own communicator: sum %d, %w", sum[0], err)
		}
		again, err := part.Dup()
		if err != nil {
			return fmt.Errorf("survivors' own communicator: %w", err)
		}
		if err := errors.Join(again.Barrier(), again.Free()); err != nil {
			return fmt.Errorf("survivors' new communicator: %w", err)
		}
	}
	fmt.Printf("rank %d survived %s in %s\n", rank, how, op)
	return nil
}

// TestSurvivors: with --on-failure continue a death is an error of the calls that concern it, and the exit status is still the
// dead rank's.
func TestSurvivors(t *testing.T) {
	ops := []string{"recv", "any", "probe", "send", "ssend", "barrier", "allreduce", "dup", "many", "announced", "iallreduce", "igather", "persistent"}
	ways := []struct {
		how    string
		status int
	}{{"kill", 137}, {"panic", 2}, {"status", 3}, {"zero", 1}, {"error", int(ompi.ErrOther)}}
	run := func(btl, met, op, how string, status int) {
		victim := "1"
		if strings.HasSuffix(op, "s") || op == "many" || op == "recv" {
			victim = "0"
		}
		t.Run(strings.Join([]string{btl, met, op, how}, "/"), func(t *testing.T) {
			t.Parallel()
			j := mpirun(t, "-n 4 --on-failure continue --mca btl "+btl, "survive", how, met, op, victim)
			j.Run(status, `^rank 2 survived`, `^rank 3 survived`, `^mpirun: rank `+victim+` \(pid \d+\) on \S+ \w+`)
			if n := strings.Count(j.Out.String(), " survived "); n != 3 {
				t.Errorf("%d survivors", n)
			}
			// The others may be done before mpirun is sure that no second report comes.
			j.Once(`^mpirun: .*(; going on with \d other ranks?|gives up)$`)
			j.Once(`^(mpirun|ompi): `)
		})
	}
	for _, btl := range []string{"self,sm", "self,tcp", "self,portals4", "self,sm,tcp -x GOMAXPROCS=1 --mca mpi_sleep_after 0", "self,sm --mca pml cm"} {
		for i, op := range ops {
			w := ways[i%len(ways)]
			run(btl, "met", op, "kill", 137)
			switch op {
			case "barrier", "allreduce", "dup", "announced", "iallreduce", "igather", "persistent":
				continue // these meet
			}
			run(btl, "strangers", op, w.how, w.status)
		}
	}
}

// TestSecondDeath: the exit status is that of the first to fail, and the last survivor finishes alone.
func TestSecondDeath(t *testing.T) {
	j := mpirun(t, "-n 4 --on-failure continue", "deaths")
	j.Run(3, `^mpirun: rank 2 .* exited with status 3; going on with 3 other ranks$`, `^mpirun: rank 1 .* killed by signal 9.*; going on with 2 other ranks$`,
		`^mpirun: rank 3 .* exited with status 2; going on with 1 other rank$`, `^rank 0 is the last$`)
	j.Once(`^goroutine `)
}

// deathsRole: rank 2, 1 and 3 fall one after the other.
func deathsRole(world *ompi.Comm, _ []string) error {
	if err := world.Barrier(); err != nil {
		return err
	}
	x := make([]byte, 1)
	for i, r := range []int{2, 1, 3} {
		if world.Rank() == r {
			time.Sleep(100 * time.Millisecond)
			return fall(world, []string{"status", "kill", "panic"}[i])
		}
		_, err := world.Recv(ompi.Slice(x), r, 0)
		if err := failed(fmt.Sprint("rank ", r), r, err); err != nil {
			return err
		}
	}
	fmt.Println("rank 0 is the last")
	return nil
}

// TestEarlyDeath: a rank that ends before or in Init.
func TestEarlyDeath(t *testing.T) {
	for _, how := range []string{"before", "well", "params"} {
		j := mpirun(t, "-n 3", "early", how)
		j.Run(-1, `^mpirun: rank 1 \(pid \d+\) on \S+ .*; ending the job \(2 other ranks\)`)
		j.Once(`^(mpirun|ompi): `)
		for _, btl := range []string{"self,sm", "self,tcp", "self,portals4", "self,sm,tcp", "self --mca pml cm"} {
			j := mpirun(t, "-n 3 --on-failure continue --mca btl "+btl, "early", how)
			j.Run(-1, `^mpirun: rank 1 \(pid \d+\) on \S+ `, `^rank 0 heard`, `^rank 2 heard`)
			j.Once(`^(mpirun|ompi): `)
		}
		if how == "params" { // Hydra goes on waiting for one that has not yet called it
			hydra(t, "-n 3", "early", how).Run(-1)
		}
	}
}

func earlyProgram(args []string) error {
	var opts []ompi.Option
	if os.Getenv("PMI_RANK") == "1" {
		switch args[0] {
		case "before":
			os.Exit(5)
		case "well":
			os.Exit(0)
		}
		opts = append(opts, ompi.WithParam("btl_sm_fifo_size", "0"))
	}
	i, err := ompi.Init(opts...)
	if err != nil {
		os.Exit(6)
	}
	w := i.World()
	_, err = w.Recv(ompi.Slice(make([]byte, 1)), 1, 0)
	err = errors.Join(failed("recv", 1, err), failed("send", 1, w.Send(ompi.Slice(make([]byte, 1)), 1, 0)))
	if err == nil {
		fmt.Printf("rank %d heard\n", w.Rank())
	}
	return errors.Join(err, i.Finalize())
}

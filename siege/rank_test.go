package siege_test

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ompi-go/ompi-go/ompi"
)

// roles are the programs that ranks run, by name; most are a body for ompi.Main.
var roles = map[string]func(world *ompi.Comm, args []string) error{
	"ring":        ringRole,
	"collectives": collectivesRole,
	"badargs":     badArgsRole,
	"bad":         badRole,
	"truncate":    truncateRole,
	"die":         dieRole,
	"survive":     surviveRole,
	"failover":    failoverRole,
	"deaths":      deathsRole,
	"comms":       commsRole,
	"orphans":     orphansRole,
	"handlers":    handlersRole,
	"hang":        hangRole,
	"large":       largeRole,
	"stream":      streamRole,
	"idle":        idleRole,
	"pingpong":    pingPongRole,
	"flood":       floodRole,
	"nested":      nestedRole,
	"twice":       twiceRole,
}

// programs do something before or instead of ompi.Main.
var programs = map[string]func(args []string) error{
	"withparam": withParamProgram,
	"relayed":   relayedProgram,
	"dumb":      dumbProgram,
	"early":     earlyProgram,
	"sizelimit": sizeLimitProgram,
}

func rankMain(role string, args []string) {
	if f, ok := programs[role]; ok {
		if err := f(args); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	f, ok := roles[role]
	if !ok {
		fmt.Fprintf(os.Stderr, "no role %q\n", role)
		os.Exit(99)
	}
	ompi.Main(func(world *ompi.Comm) error { return f(world, args) })
}

// ringRole passes a token round.
func ringRole(world *ompi.Comm, _ []string) error {
	rank, size := world.Rank(), world.Size()
	token, back := int64(rank), int64(-1)
	if _, err := world.Sendrecv(ompi.Value(&token), (rank+1)%size, 0, ompi.Value(&back), (rank+size-1)%size, 0); err != nil {
		return err
	}
	if want := int64((rank + size - 1) % size); back != want {
		return fmt.Errorf("token %d, want %d", back, want)
	}
	if rank == 0 {
		fmt.Printf("ring of %d\n", size)
	}
	return nil
}

// collectivesRole runs some collectives of small and of large buffers and checks the results.
func collectivesRole(world *ompi.Comm, _ []string) error {
	rank, size := world.Rank(), world.Size()
	for _, n := range []int{1, 1000, 200_000} {
		in, out := make([]int64, n), make([]int64, n)
		for i := range in {
			in[i] = int64(rank + i)
		}
		if err := world.Allreduce(ompi.Slice(in), ompi.Slice(out), ompi.Sum); err != nil {
			return err
		}
		for i := range out {
			if want := int64(size*(size-1)/2 + i*size); out[i] != want {
				return fmt.Errorf("sum %d of %d is %d, want %d", i, n, out[i], want)
			}
		}
		all := make([]int64, n*size)
		if err := world.Allgather(ompi.Slice(in), ompi.Slice(all)); err != nil {
			return err
		}
		for i := range all {
			if want := int64(i/n + i%n); all[i] != want {
				return fmt.Errorf("element %d of %d is %d, want %d", i, n*size, all[i], want)
			}
		}
		if err := world.Bcast(ompi.Slice(in), size-1); err != nil {
			return err
		}
		if in[0] != int64(size-1) {
			return fmt.Errorf("broadcast %d", in[0])
		}
	}
	dup, err := world.Dup()
	if err != nil {
		return err
	}
	if err := errors.Join(dup.Barrier(), dup.Free()); err != nil {
		return err
	}
	if rank == 0 {
		fmt.Printf("collectives of %d\n", size)
	}
	return nil
}

func contains(s, sub string) bool { return strings.Contains(s, sub) }

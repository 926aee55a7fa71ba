// Lattice computes the flow round obstacles in a channel, spread over ranks by rows: a nine-point stencil, of which every rank
// exchanges one row of 8 bytes a cell with both neighbours in every step while it computes the rows in between.
//
//	mpirun -n 2 examples/lattice --steps 2000 --out frames --every 100
//
// The dark pixels of a PNG are the obstacles; without --in it is the picture that ships with the program. The last line on stdout is a
// checksum of the whole field. Arithmetic is in integers, so it does not depend on the number of ranks.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/ompi-go/ompi-go/ompi"
)

func main() {
	os.Exit(start(os.Args[1:]))
}

// start is one rank's life; it gives the exit status.
func start(args []string) int {
	instance, err := ompi.Init()
	if err != nil {
		fmt.Fprintln(os.Stderr, "lattice:", err)
		return 1
	}
	world := instance.World()
	err = run(world, args, os.Stdout)
	var together *agreedError
	switch {
	case err == nil:
	case errors.As(err, &together):
		// Every rank knows of it and ends in good order; one speaks for all.
		if world.Rank() == 0 && !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "lattice:", err)
		}
	default:
		fmt.Fprintln(os.Stderr, "lattice:", err)
		return 1 // the others may be waiting for this rank: the launcher ends the job
	}
	if end := instance.Finalize(); end != nil {
		fmt.Fprintln(os.Stderr, "lattice:", end)
		return 1
	}
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	return 1
}

package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/ompi"
)

// refuse tells the user what is wrong with the command line. Under a launcher all ranks find the same, so one speaks for all.
func refuse(err error) int {
	say := func(*ompi.Comm) error {
		fmt.Fprintf(os.Stderr, "ompi-bench: %v; see ompi-bench --help\n", err)
		return nil
	}
	if join(onRoot(say)) != nil {
		_ = say(nil)
	}
	return 2
}

// launched is the number of ranks that a launcher has started, 0 without one; where it does not say how many, 2.
func launched(getenv func(string) string) int {
	if getenv("PMI_FD") == "" && getenv("PMI_PORT") == "" {
		return 0
	}
	if n, err := strconv.Atoi(getenv("PMI_SIZE")); err == nil {
		return n
	}
	return 2
}

// join runs body as a rank of the launcher's job, or of a job of one.
func join(body func(*ompi.Comm) error) error {
	instance, err := ompi.Init()
	if err != nil {
		return err
	}
	if err := body(instance.World()); err != nil {
		return err
	}
	return instance.Finalize()
}

func onRoot(body func(*ompi.Comm) error) func(*ompi.Comm) error {
	return func(world *ompi.Comm) error {
		var err error
		if world.Rank() == 0 {
			err = body(world)
		}
		if err != nil {
			return err
		}
		return world.Barrier()
	}
}

// alone runs body on one rank only: what needs no MPI may still have been started by mpirun.
func alone(body func() error) error {
	return join(onRoot(func(*ompi.Comm) error { return body() }))
}

// runTest measures one test and gives the exit status.
func runTest(ctx context.Context, c commandLine, started time.Time) int {
	// What makes the test unfit is the same on every rank: rank 0 says it, none goes on.
	var unfit error
	status := 0
	body := func(world *ompi.Comm) error {
		b := newBench(world, c, started, os.Stdout)
		err := b.fits()
		if err == nil {
			return b.run()
		}
		if b.rank == 0 {
			unfit = err
		}
		if c.goroutines == 0 {
			status = 2
		}
		return world.Barrier()
	}
	var err error
	if c.goroutines > 0 {
		err = ompi.Run(ctx, c.goroutines, body)
	} else {
		err = join(body)
	}
	switch {
	case unfit != nil:
		fmt.Fprintln(os.Stderr, "ompi-bench:", unfit)
		return 2
	case err != nil:
		fmt.Fprintln(os.Stderr, "ompi-bench:", err)
		return 1
	}
	return status
}

// finish writes the files that were asked for.
func (b *bench) finish(rows []report.Row) error {
	result := report.Result{Test: b.test.Name, Ranks: b.ranks, Params: b.describe(), Rows: rows}
	if b.cmd.json != "" {
		if err := report.WriteJSON(b.cmd.json, result); err != nil {
			return err
		}
	}
	if b.cmd.plot != "" {
		return report.Plot(b.cmd.plot, b.test, result)
	}
	return nil
}

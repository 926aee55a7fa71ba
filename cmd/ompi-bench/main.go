// Ompi-bench measures this MPI, holds it against the machine's own limits and against other implementations.
//
//	mpirun -n 2 ompi-bench latency          ranks are processes
//	ompi-bench latency -n 2                 ranks are goroutines of one process
//	ompi-bench limits                       what the machine gives without any MPI
//	ompi-bench compare -n 2 latency bw      ours and others in turn
//	ompi-bench tune -n 8 --out rules        measure collective algorithms, write a decision table
//	ompi-bench portals4 put_latency         the Portals interface, without MPI
//	ompi-bench paper kim-2018 --out DIR     repeat the measurements of a paper
//
// Tests carry the names and the columns of the OSU micro-benchmarks: `#` comment lines, then a size and a value.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/compare"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/limits"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
)

func main() {
	started := time.Now()
	limits.ServeChild() // does not return in the second process of the limits
	// A cancelled comparison ends its programs; a second signal ends this one.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], started))
}

// run gives the exit status: 0, 1 when a measurement failed, 2 for a command line that cannot be followed.
func run(ctx context.Context, args []string, started time.Time) int {
	if len(args) > 0 && args[0] == "tune" {
		return runTune(ctx, args[1:])
	}
	if len(args) > 0 && args[0] == "paper" {
		return runPaper(ctx, args[1:])
	}
	if len(args) > 0 && args[0] == "portals4" {
		return runPortals(ctx, args[1:])
	}
	cmd, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage())
		return 0
	case err != nil:
		return refuse(err)
	}
	switch {
	case cmd.compare == nil && cmd.goroutines > 0 && launched(os.Getenv) > 1:
		// Each of the launcher's ranks would run the whole test beside the others.
		return refuse(fmt.Errorf("-n %d makes goroutine ranks of one process, but a launcher has started several; leave out either", cmd.goroutines))
	case cmd.compare != nil:
		err = runCompare(ctx, *cmd.compare)
	case cmd.limits:
		err = runLimits(ctx, *cmd)
	default:
		return runTest(ctx, *cmd, started)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ompi-bench:", err)
		return 1
	}
	return 0
}

func runCompare(ctx context.Context, o compare.Options) error {
	r, cleanup, err := compare.NewRunner()
	if err != nil {
		return err
	}
	defer cleanup()
	return r.Run(ctx, o)
}

func runLimits(ctx context.Context, c commandLine) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("limits: find this program: %w", err)
	}
	return alone(func() error {
		all, err := limits.Measure(ctx, self)
		if err != nil {
			return err
		}
		fmt.Println("# limits: what the machine gives without any MPI; median (least to greatest)")
		result := report.Result{Test: "limits", Ranks: 1, Params: map[string]any{}, Limits: all}
		for _, l := range all {
			report.LimitLine(os.Stdout, "", l)
			if l.Missing == "" {
				result.Rows = append(result.Rows, report.Row{
					Series: l.Name, Size: l.Size, Value: l.Median, Unit: l.Unit, Reps: limits.Repetitions, Min: l.Min, Median: l.Median, Max: l.Max,
				})
			}
		}
		if c.json == "" {
			return nil
		}
		return report.WriteJSON(c.json, result)
	})
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/paper"
)

const paperUsage = `usage: ompi-bench paper NAME --out DIR [-n RANKS] [--reps R] [-i ITER] [--osc NAMES]

  repeats the measurements of a paper and writes its figures, as tables and SVG. It needs no launcher: it starts the ranks itself

  kim-2018  Kim et al., "Toward Developing a Unimem OFI Provider for MPI Support", EuroMPI 2018: figure 1, latency and bandwidth of
            each step of the implementation, over btl/unimem, a software model of that network
  hassani-2013
            Hassani et al., "Design, Implementation, and Performance Evaluation of MPI 3.0 on Portals 4.0", 2013: figures 2 to 5, the cost
            of each synchronisation for 2 to 8 ranks, bandwidth and latency of put and get beside send and receive, many puts in an epoch
  christgau-2012
            Christgau and Schnor, "One-Sided Communication in RCKMPI for the Single-Chip Cloud Computer", 2012: figure 3, the speedup of
            examples/lattice with one-sided and with two-sided exchange
  --out     the folder for the files
  -n        ranks, at most (default: the paper's, 2 or 8; christgau-2012: one for each core)
  --reps    interleaved repetitions (default: kim-2018 3, hassani-2013 1, christgau-2012 1)
  -i        iterations of one measurement (hassani-2013: default 400), or time steps (christgau-2012: default 200)
  --osc     one-sided components, with commas between (default portals4,rdma,pt2pt,sm); each beside the point to point of its transport
`

// runPaper gives the exit status of ompi-bench paper.
func runPaper(ctx context.Context, args []string) int {
	o, err := parsePaper(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(paperUsage)
		return 0
	case err != nil:
		fmt.Fprintf(os.Stderr, "ompi-bench: paper: %v; see ompi-bench paper -h\n", err)
		return 2
	}
	if err := paper.Run(ctx, *o); err != nil {
		fmt.Fprintln(os.Stderr, "ompi-bench:", err)
		return 1
	}
	return 0
}

func parsePaper(args []string) (*paper.Options, error) {
	o := paper.Options{}
	flags := flag.NewFlagSet("ompi-bench paper", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.Dir, "out", "", "")
	flags.IntVar(&o.Ranks, "n", 0, "")
	flags.IntVar(&o.Reps, "reps", 0, "")
	flags.IntVar(&o.Iterations, "i", 0, "")
	flags.StringVar(&o.OSC, "osc", "", "")
	names, err := positional(flags, args)
	if err != nil {
		return nil, err
	}
	if len(names) != 1 {
		return nil, fmt.Errorf("name one paper, got %q; there are %s", names, strings.Join(paper.Names(), ", "))
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]int{"n": o.Ranks, "reps": o.Reps, "i": o.Iterations} {
		if given[name] && value < 1 {
			return nil, fmt.Errorf("-%s %d: want at least 1", name, value)
		}
	}
	o.Paper = names[0]
	o, err = o.Complete()
	return &o, err
}

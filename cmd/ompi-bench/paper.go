package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/paper"
)

const paperUsage = `usage: ompi-bench paper kim-2018 --out DIR [-n 2] [--reps R]

  repeats the measurements of a paper and writes its figures, as CSV and SVG. It needs no launcher: it starts the ranks itself

  kim-2018  Kim et al., "Toward Developing a Unimem OFI Provider for MPI Support", EuroMPI 2018: figure 1, latency and bandwidth of
            each step of the implementation, over btl/unimem, a software model of that network
  --out     the folder for the files
  -n        ranks; the paper has 2
  --reps    interleaved repetitions (default 3)
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
	if err := paper.Kim2018(ctx, *o); err != nil {
		fmt.Fprintln(os.Stderr, "ompi-bench:", err)
		return 1
	}
	return 0
}

func parsePaper(args []string) (*paper.Options, error) {
	o := &paper.Options{}
	flags := flag.NewFlagSet("ompi-bench paper", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.Dir, "out", "", "")
	flags.IntVar(&o.Ranks, "n", 2, "")
	flags.IntVar(&o.Reps, "reps", 3, "")
	names, err := positional(flags, args)
	switch {
	case err != nil:
		return nil, err
	case len(names) != 1:
		return nil, fmt.Errorf("name one paper, got %q; there is kim-2018", names)
	case names[0] != "kim-2018":
		return nil, fmt.Errorf("unknown paper %q; there is kim-2018", names[0])
	}
	return o, o.Check()
}

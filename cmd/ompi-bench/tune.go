package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/tune"
	"github.com/ompi-go/ompi-go/coll/alg"
)

const tuneUsage = `usage: ompi-bench tune --out FILE [-n N] [--ranks LIST] [--ops LIST] [-m MIN:MAX] [--budget TIME]

  measures the algorithms of collective operations and writes a decision table, for --mca coll_tuned_rules_file FILE

  --out     the file to write
  -n        ranks as goroutines of this process; without it the ranks are those of the launcher, such as mpirun
  --ranks   numbers of ranks to measure, such as 2,4,8 (default powers of two, and all)
  --ops     operations, such as bcast,allreduce (default all that have a choice); the others are left to the built-in table
  -m        sizes in bytes, four times as large in each step (default 4:1048576); operations that need as much for every
            rank are measured up to 8 MiB for all, less where many ranks share a process
  --budget  time for one algorithm at one size (default 20ms)
`

// runTune gives the exit status of `ompi-bench tune`.
func runTune(ctx context.Context, args []string) int {
	o, err := parseTune(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(tuneUsage)
		return 0
	case err != nil:
		return refuse(fmt.Errorf("tune: %w", err))
	}
	if err := tune.Run(ctx, *o); err != nil {
		fmt.Fprintln(os.Stderr, "ompi-bench:", err)
		return 1
	}
	return 0
}

func parseTune(args []string) (*tune.Options, error) {
	o := &tune.Options{}
	sizes := suite.Range{Min: 4, Max: 1 << 20}
	var ranks, ops string
	flags := flag.NewFlagSet("ompi-bench tune", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.Out, "out", "", "")
	flags.IntVar(&o.Goroutines, "n", 0, "")
	flags.StringVar(&ranks, "ranks", "", "")
	flags.StringVar(&ops, "ops", "", "")
	flags.Var(&sizes, "m", "")
	flags.DurationVar(&o.Budget, "budget", 20*time.Millisecond, "")
	rest, err := positional(flags, args)
	if err != nil {
		return nil, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case len(rest) > 0:
		return nil, fmt.Errorf("it takes no arguments, got %q", rest)
	case o.Out == "":
		return nil, errors.New("--out FILE is missing")
	case given["n"] && o.Goroutines < 2:
		return nil, fmt.Errorf("-n %d: want two ranks or more", o.Goroutines)
	case sizes.Min < 4 || sizes.Min%4 != 0:
		return nil, fmt.Errorf("-m %d:%d: sizes must be multiples of 4", sizes.Min, sizes.Max)
	case o.Budget <= 0:
		return nil, fmt.Errorf("--budget %v: want a time", o.Budget)
	}
	o.Min, o.Max = sizes.Min, sizes.Max
	for _, word := range split(ranks) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 2 {
			return nil, fmt.Errorf("--ranks %s: want numbers from 2 on", ranks)
		}
		o.Ranks = append(o.Ranks, n)
	}
	slices.Sort(o.Ranks)
	o.Ranks = slices.Compact(o.Ranks)
	for _, word := range split(ops) {
		k, ok := alg.KindNamed(word)
		if !ok || !slices.Contains(tune.DefaultKinds(), k) {
			return nil, fmt.Errorf("--ops %s: %s has no choice of algorithms; want some of %v", ops, word, tune.DefaultKinds())
		}
		o.Kinds = append(o.Kinds, k)
	}
	return o, nil
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

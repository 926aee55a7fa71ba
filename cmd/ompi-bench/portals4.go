package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/portals"
)

func portalsUsage() string {
	var names []string
	for _, t := range portals.Tests() {
		names = append(names, t.Name)
	}
	return `usage: ompi-bench portals4 TEST... [-n N] [--nal NAMES] [--event eq|ct] [--entry me|le] [-m MIN:MAX] [-i ITER] [-x WARMUP] [--json FILE]

  measures the Portals 4 interface with no MPI above it: one rank that sends to itself, or two

  TEST      ` + wrap(names) + `.
            Latency is one way for put and atomic, which two ranks play as ping-pong, and that of the whole operation
            for get and fetch. Atomic operations are sums of 64-bit numbers. put_latency to itself has a second column:
            a plain call of a function that copies and counts. match puts to the last and the first entry of a list
  -n        ranks as goroutines of this process, 1 or 2; without it the ranks are those of the launcher, such as mpirun
  --nal     network abstraction layers for 2 ranks, the preferred first: local, shm, tcp, udp (default: portals4_nal)
  --event   completion by event queue or by counting event (default eq)
  --entry   match list entries, or list entries on a non-matching interface (default me)
  -m        sizes in bytes, doubled from MIN to MAX; match: entries of the list, ten times as many in each step
  -i, -x    iterations of one size and, before them, of the warm-up
`
}

// runPortals gives the exit status of ompi-bench portals4.
func runPortals(ctx context.Context, args []string) int {
	o, err := parsePortals(args)
	if err == nil && o.Goroutines > 0 && launched(os.Getenv) > 1 {
		err = fmt.Errorf("-n %d makes goroutine ranks of one process, but a launcher has started several; leave out either", o.Goroutines)
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(portalsUsage())
		return 0
	case err != nil:
		return refuse(fmt.Errorf("portals4: %w", err))
	}
	if err := portals.Run(ctx, *o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ompi-bench: portals4:", err)
		return 1
	}
	return 0
}

func parsePortals(args []string) (*portals.Options, error) {
	o := &portals.Options{}
	o.Params.Warmup = -1
	event, entry := "eq", "me"
	flags := flag.NewFlagSet("ompi-bench portals4", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Var(&o.Params.Range, "m", "")
	flags.IntVar(&o.Params.Iterations, "i", 0, "")
	flags.IntVar(&o.Params.Warmup, "x", -1, "")
	flags.IntVar(&o.Goroutines, "n", 0, "")
	flags.StringVar(&o.NAL, "nal", "", "")
	flags.StringVar(&event, "event", event, "")
	flags.StringVar(&entry, "entry", entry, "")
	flags.StringVar(&o.JSON, "json", "", "")
	names, err := positional(flags, args)
	if err != nil {
		return nil, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case given["n"] && (o.Goroutines < 1 || o.Goroutines > 2):
		return nil, fmt.Errorf("-n %d: want 1 or 2 ranks", o.Goroutines)
	case given["n"] && o.Goroutines == 1 && o.NAL != "":
		return nil, fmt.Errorf("--nal %s: a rank reaches itself without; want -n 2", o.NAL)
	case given["i"] && o.Params.Iterations < 1:
		return nil, fmt.Errorf("-i %d: want at least one iteration", o.Params.Iterations)
	case given["x"] && o.Params.Warmup < 0:
		return nil, fmt.Errorf("-x %d: want 0 or more iterations", o.Params.Warmup)
	case event != "eq" && event != "ct":
		return nil, fmt.Errorf("--event %s: want eq or ct", event)
	case entry != "me" && entry != "le":
		return nil, fmt.Errorf("--entry %s: want me or le", entry)
	}
	o.Counting, o.NoMatching = event == "ct", entry == "le"
	for _, name := range names {
		t, err := portals.Lookup(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		o.Tests = append(o.Tests, t)
	}
	return o, o.Check()
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/compare"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
)

// commandLine is what the user asked for: one test, the limits, or a comparison.
type commandLine struct {
	test       suite.Test
	limits     bool
	compare    *compare.Options
	params     suite.Params
	goroutines int  // ranks as goroutines; 0: join the job of a launcher
	allocMem   bool // buffers of ompi.AllocMem
	json, plot string
}

// parse reads the arguments; flags and names may come in any order.
func parse(args []string) (*commandLine, error) {
	if len(args) == 0 {
		return nil, errors.New("name a test, such as latency, or limits or compare")
	}
	c := &commandLine{params: suite.Params{Warmup: -1}}
	o := compare.Options{Reps: 5, BTL: "sm"}
	comparing := args[0] == "compare"
	if comparing {
		args = args[1:]
	}
	flags := flag.NewFlagSet("ompi-bench", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Var(&c.params.Range, "m", "")
	flags.IntVar(&c.params.Iterations, "i", 0, "")
	flags.IntVar(&c.params.Warmup, "x", -1, "")
	flags.StringVar(&c.json, "json", "", "")
	flags.StringVar(&c.plot, "plot", "", "")
	flags.IntVar(&c.goroutines, "n", 0, "")
	flags.StringVar(&c.params.OneSided.Window, "window", "", "")
	flags.StringVar(&c.params.OneSided.Sync, "sync", "", "")
	flags.IntVar(&c.params.OneSided.Calls, "calls", 0, "")
	with, own := "openmpi,mpich", ""
	if comparing {
		flags.StringVar(&with, "with", with, "")
		flags.IntVar(&o.Reps, "reps", o.Reps, "")
		flags.StringVar(&o.BTL, "btl", o.BTL, "")
		flags.StringVar(&o.Bind, "bind-to", "", "")
		flags.StringVar(&own, "ours", "", "")
	} else {
		flags.BoolVar(&c.allocMem, "alloc-mem", false, "")
	}
	names, err := positional(flags, args)
	if slices.Contains(args, "--mca") {
		return nil, errors.New("--mca is an option of mpirun and stands before ompi-bench; with -n set OMPI_MCA_NAME=VALUE in the environment")
	}
	if err != nil {
		return nil, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case given["n"] && c.goroutines < 1:
		return nil, fmt.Errorf("-n %d: want at least one rank", c.goroutines)
	case given["i"] && c.params.Iterations < 1:
		return nil, fmt.Errorf("-i %d: want at least one iteration", c.params.Iterations)
	case given["x"] && c.params.Warmup < 0:
		return nil, fmt.Errorf("-x %d: want 0 or more iterations", c.params.Warmup)
	case given["calls"] && c.params.OneSided.Calls < 1:
		return nil, fmt.Errorf("--calls %d: want at least one call", c.params.OneSided.Calls)
	}
	if err := c.params.Check(); err != nil {
		return nil, err
	}
	for _, set := range strings.Fields(own) {
		name, value, ok := strings.Cut(set, "=")
		if !ok {
			return nil, fmt.Errorf("--ours %q: want NAME=VALUE, several with spaces between", own)
		}
		o.Ours = append(o.Ours, "--mca", name, value)
	}
	if comparing {
		return c, c.asComparison(o, names, with)
	}
	return c, c.asTest(names)
}

// positional gathers the arguments that are no flags, wherever they stand.
func positional(flags *flag.FlagSet, args []string) ([]string, error) {
	var names []string
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		if args = flags.Args(); len(args) > 0 {
			names = append(names, args[0])
			args = args[1:]
		}
	}
	return names, nil
}

func (c *commandLine) asTest(names []string) (err error) {
	if len(names) != 1 {
		return fmt.Errorf("want one test, got %d: %q", len(names), names)
	}
	if names[0] == "limits" {
		c.limits = true
		if c.plot != "" || c.goroutines != 0 || c.allocMem || c.params != (suite.Params{Warmup: -1}) {
			return errors.New("limits takes no option but --json")
		}
		return nil
	}
	if c.test, err = suite.Lookup(names[0]); err != nil {
		return err
	}
	if err := suite.CheckOneSided([]suite.Test{c.test}, c.params.OneSided); err != nil {
		return err
	}
	if c.plot != "" {
		return report.CheckPlotPath(c.plot)
	}
	return nil
}

func (c *commandLine) asComparison(o compare.Options, names []string, with string) error {
	for _, name := range names {
		t, err := suite.Lookup(name)
		if err != nil {
			return err
		}
		o.Tests = append(o.Tests, t)
	}
	o.With = strings.FieldsFunc(with, func(r rune) bool { return r == ',' })
	o.Ranks = max(c.goroutines, 0)
	if o.Ranks == 0 {
		o.Ranks = 2
	}
	o.Params, o.JSON, o.Plot = c.params, c.json, c.plot
	c.compare = &o
	return o.Check()
}

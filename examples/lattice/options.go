package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

const usage = `usage: lattice [--in F.png] [--steps N] [--out DIR] [--every K] [--exchange two-sided|one-sided] [--speedup]

  --in        picture whose dark pixels are obstacles; default: the channel that ships with the program
  --steps     time steps (default 1000)
  --out       folder for frames of the flow, named frame-000100.png and so on
  --every     steps between two frames (default 100); the last step always gives one
  --exchange  how rows travel to the neighbours: by sends and receives (two-sided, the default), or by puts between post, start,
              complete and wait (one-sided)
  --speedup   rank 0 first computes the whole field alone; says how much faster all are together, with either exchange
`

type options struct {
	in       string
	steps    int
	out      string
	every    int
	exchange string
	speedup  bool
}

// parse reads the arguments; flag.ErrHelp asks for the usage.
func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("lattice", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.in, "in", "", "")
	flags.IntVar(&o.steps, "steps", 1000, "")
	flags.StringVar(&o.out, "out", "", "")
	flags.IntVar(&o.every, "every", 0, "")
	flags.StringVar(&o.exchange, "exchange", isTwoSided, "")
	flags.BoolVar(&o.speedup, "speedup", false, "")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	everyGiven := false
	flags.Visit(func(f *flag.Flag) { everyGiven = everyGiven || f.Name == "every" })
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q\n%s", flags.Arg(0), usage)
	case o.steps < 1:
		return o, fmt.Errorf("--steps %d: want at least one step", o.steps)
	case o.exchange != isTwoSided && o.exchange != isOneSided:
		return o, fmt.Errorf("--exchange %s: want two-sided or one-sided", o.exchange)
	case everyGiven && o.out == "":
		return o, errors.New("--every needs --out, the folder for the frames")
	case everyGiven && o.every < 1:
		return o, fmt.Errorf("--every %d: want at least one step between frames", o.every)
	}
	if !everyGiven {
		o.every = 100
	}
	return o, nil
}

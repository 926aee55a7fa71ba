// Package paper repeats the measurements of papers on what is here: it starts the jobs, and writes tables and figures. Ompi-bench's main
// package calls it.
package paper

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// Options are what the user may choose; zeros are the paper's own.
type Options struct {
	Paper      string
	Dir        string // where the files go; it is made
	Ranks      int    // the most
	Reps       int    // repetitions, interleaved
	Iterations int    // of one measurement; christgau-2012: time steps
	OSC        string // one-sided components with commas between
}

// article is a paper that can be repeated.
type article struct {
	name               string
	least, ranks, most int // ranks: the least, the paper's own, the most
	reps, iterations   int
	onesided           bool // takes --osc and -i
	run                func(ctx context.Context, o Options) error
}

func articles() []article {
	return []article{
		{name: "kim-2018", least: 2, ranks: 2, most: 2, reps: 3, run: Kim2018},
		{name: "hassani-2013", least: 2, ranks: 8, most: 64, reps: 1, iterations: 400, onesided: true, run: Hassani2013},
		{name: "christgau-2012", least: 2, ranks: max(2, runtime.NumCPU()), most: 64, reps: 1, iterations: 200, onesided: true, run: Christgau2012},
	}
}

// Names lists the papers.
func Names() []string {
	var names []string
	for _, a := range articles() {
		names = append(names, a.name)
	}
	return names
}

func find(name string) (article, error) {
	all := articles()
	i := slices.IndexFunc(all, func(a article) bool { return a.name == name })
	if i < 0 {
		return article{}, fmt.Errorf("unknown paper %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return all[i], nil
}

// Complete fills in what is the paper's own.
func (o Options) Complete() (Options, error) {
	a, err := find(o.Paper)
	if err != nil {
		return o, err
	}
	if o.Ranks == 0 {
		o.Ranks = a.ranks
	}
	if o.Reps == 0 {
		o.Reps = a.reps
	}
	if o.Iterations == 0 {
		o.Iterations = a.iterations
	}
	return o, o.Check()
}

// Check says why this cannot be done.
func (o Options) Check() error {
	a, err := find(o.Paper)
	if err != nil {
		return err
	}
	switch {
	case o.Dir == "":
		return errors.New("--out DIR is missing")
	case o.Ranks < a.least || o.Ranks > a.most:
		if a.least == a.most {
			return fmt.Errorf("-n %d: the measurements of the paper are between %d ranks", o.Ranks, a.least)
		}
		return fmt.Errorf("-n %d: want %d to %d ranks", o.Ranks, a.least, a.most)
	case o.Reps < 1:
		return fmt.Errorf("--reps %d: want at least one repetition", o.Reps)
	case !a.onesided && o.Iterations != 0:
		return fmt.Errorf("-i %d: %s has its own iterations", o.Iterations, a.name)
	case !a.onesided && o.OSC != "":
		return fmt.Errorf("--osc %s: %s is not about one-sided communication", o.OSC, a.name)
	case a.onesided && o.Iterations < 10:
		return fmt.Errorf("-i %d: want at least 10 iterations", o.Iterations)
	}
	_, err = choose(o.OSC)
	return err
}

// Run repeats the paper.
func Run(ctx context.Context, o Options) error {
	a, err := find(o.Paper)
	if err != nil {
		return err
	}
	return a.run(ctx, o)
}

// Package compare measures ours and other MPI implementations in turn, on the same machine, in the same minutes, and puts both in one
// table.
//
// It is called by ompi-bench's main package. It starts every side as a program of its own through that side's own launcher, so it
// knows nothing of MPI; the runs of all sides are interleaved, because a machine's speed drifts within the hour.
package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
)

// Options say what to compare.
type Options struct {
	Tests  []suite.Test
	Ranks  int
	With   []string // peers: see Peers
	Ours   []string // further parameters of ours, as "--mca", NAME, VALUE
	Reps   int
	BTL    string // "sm" or "tcp"
	Bind   string // "core", "none", or "" for what suits the number of ranks
	Params suite.Params
	JSON   string
	Plot   string
}

// Peers lists what With may hold: other libraries, openmpi-cm being Open MPI over pml cm and mtl ofi, and ours as it is without the parameters of Ours (plain)
// or in goroutines.
func Peers() []string { return []string{"openmpi", "openmpi-cm", "mpich", plain, goroutines} }

// Check refuses what cannot be run.
func (o Options) Check() error {
	switch {
	case len(o.Tests) == 0:
		return fmt.Errorf("compare: name a test: %s", strings.Join(suite.Names(), " "))
	case o.Ranks < 1:
		return fmt.Errorf("compare: -n %d: want at least one rank", o.Ranks)
	case o.Reps < 1:
		return fmt.Errorf("compare: --reps %d: want at least one repetition", o.Reps)
	case o.BTL != "sm" && o.BTL != "tcp":
		return fmt.Errorf("compare: --btl %s: want sm or tcp", o.BTL)
	case o.Bind != "" && o.Bind != "core" && o.Bind != "none":
		return fmt.Errorf("compare: --bind-to %s: want core or none", o.Bind)
	}
	for _, p := range o.With {
		if !slices.Contains(Peers(), p) {
			return fmt.Errorf("compare: --with %s: want some of %s", p, strings.Join(Peers(), ","))
		}
	}
	for _, t := range o.Tests {
		if t.OursOnly && slices.ContainsFunc(o.With, func(p string) bool { return p != plain && p != goroutines }) {
			return fmt.Errorf("compare: the others have no test %s; compare it --with %s", t.Name, plain)
		}
		if err := t.CheckRanks(o.Ranks); err != nil {
			return fmt.Errorf("compare: %w", err)
		}
	}
	if err := suite.CheckOneSided(o.Tests, o.Params.OneSided); err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	if o.Plot != "" {
		return report.CheckPlotPath(o.Plot)
	}
	return nil
}

// Runner is the world that a comparison needs; the tests put their own in its place.
type Runner struct {
	Cores    int                                                         // usable ones
	Ours     func(ctx context.Context) (mpirun, bench string, err error) // our two programs
	Peer     func(ctx context.Context, name string) (peer, error)        // says why a peer cannot take part
	Start    func(ctx context.Context, c command) (output, error)        // runs a program to its end
	Limits   func(ctx context.Context) ([]report.Limit, error)
	Out      io.Writer
	Progress *report.Progress
}

// output is what a finished program left.
type output struct {
	stdout string
	wall   time.Duration
}

// peer is another implementation that is ready to run.
type peer struct {
	launcher, program string
}

// Run compares all tests and writes tables, JSON and charts. A failing peer is reported and left out; a failure of ours is returned.
func (r *Runner) Run(ctx context.Context, o Options) error {
	mpirun, bench, err := r.Ours(ctx)
	if err != nil {
		return err
	}
	peers := map[string]peer{}
	for _, name := range o.With {
		if name == goroutines || name == plain {
			continue
		}
		p, err := r.Peer(ctx, strings.TrimSuffix(name, viaCM))
		if err != nil {
			fmt.Fprintf(r.Out, "# %s is left out: %v\n", name, err)
			continue
		}
		peers[name] = p
	}
	var results []report.Result
	all := newTally()
	for _, t := range o.Tests {
		s := setting{o: o, test: t, cores: r.Cores, mpirun: mpirun, bench: bench, peers: peers}
		result, err := r.test(ctx, s)
		if err != nil {
			return err
		}
		results = append(results, result)
		all.add(result.Rows, t.HigherBetter)
		if o.Plot != "" {
			if err := report.Plot(plotPath(o, t), t, result); err != nil {
				return err
			}
		}
	}
	if len(results) > 1 {
		writeMeans(r.Out, fmt.Sprintf(" over %d tests, below 1 ours is better", len(results)), all.means(false))
	}
	switch {
	case o.JSON == "":
		return nil
	case len(results) == 1:
		return report.WriteJSON(o.JSON, results[0])
	}
	return report.WriteJSON(o.JSON, results)
}

// plotPath gives every test of several a chart of its own.
func plotPath(o Options, t suite.Test) string {
	if len(o.Tests) == 1 {
		return o.Plot
	}
	ext := filepath.Ext(o.Plot)
	return strings.TrimSuffix(o.Plot, ext) + "-" + t.Name + ext
}

// measured holds the values of one command: for every point one value a repetition.
type measured map[point][]float64

// test interleaves the repetitions of all sides of one test and reports.
func (r *Runner) test(ctx context.Context, s setting) (report.Result, error) {
	commands := s.commands()
	values := make(map[string]measured)
	limits := newLimitLog()
	failed := map[string]error{} // by command
	var mine map[point]float64   // what ours measured last; it is the first of the first repetition
	for rep := range s.o.Reps {
		r.Progress.Show("%s: repetition %d of %d: raw limits", s.test.Name, rep+1, s.o.Reps)
		limits.add(r.Limits(ctx))
		for i := range commands {
			// every repetition begins with another side, so that none always follows the same
			c := commands[(i+rep)%len(commands)]
			if failed[c.id()] != nil {
				continue
			}
			r.Progress.Show("%s: repetition %d of %d: %s", s.test.Name, rep+1, s.o.Reps, c.id())
			got, err := r.once(ctx, s, c)
			if c.side == ours {
				mine = got
			} else if err == nil {
				err = sameAs(mine, got)
			}
			switch {
			case ctx.Err() != nil:
				r.Progress.Clear()
				return report.Result{}, context.Cause(ctx)
			case err != nil && c.side == ours:
				r.Progress.Clear()
				return report.Result{}, fmt.Errorf("%s: ours failed: %w", s.test.Name, err)
			case err != nil:
				failed[c.id()] = err
				delete(values, c.id())
				continue
			}
			if values[c.id()] == nil {
				values[c.id()] = measured{}
			}
			for p, v := range got {
				values[c.id()][p] = append(values[c.id()][p], v)
			}
		}
	}
	r.Progress.Clear()
	result := s.result(commands, values)
	result.Limits = limits.summary()
	writeTable(r.Out, s, commands, failed, result)
	return result, nil
}

// once runs a command and gives its values by point.
func (r *Runner) once(ctx context.Context, s setting, c command) (map[point]float64, error) {
	out, err := r.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	if s.test.Wall {
		return map[point]float64{{size: int64(s.o.Ranks)}: out.wall.Seconds() * 1e3}, nil
	}
	got, err := parseColumns(out.stdout, s.test)
	if err == nil && len(got) == 0 {
		err = errors.New("the run printed no results")
	}
	return got, err
}

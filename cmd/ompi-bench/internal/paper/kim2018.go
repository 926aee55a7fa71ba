package paper

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/compare"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
)

// step is a state of the implementation: each has what the one before has, and one thing more.
type step struct {
	name     string
	set      string // parameter of btl_unimem_ and its value
	allocMem bool   // with buffers of AllocMem from here on
	future   bool   // not measured in the paper, but named there as future work
}

// Steps of Kim et al., "Toward Developing a Unimem OFI Provider for MPI Support", EuroMPI 2018, and of its section 6.
func kimSteps() []step {
	return []step{
		{name: "naive", set: "copies=naive"},
		{name: "+ one copy removed", set: "copies=direct"},
		{name: "+ registration cache", set: "rcache=1"},
		{name: "+ eager", set: "eager=1", future: true},
		{name: "+ inline", set: "inline=1", future: true},
		{name: "+ dmable user buffers", set: "dmable_user=1", allocMem: true, future: true},
		{name: "+ native RMA", set: "rma=1", future: true},
	}
}

// paperRatio is what the paper reached at 0 bytes: 14.47 us of 23.41 us.
const paperRatio = 14.47 / 23.41

const (
	rawMailbox = "raw mailbox"
	rawDMA     = "raw DMA"
)

// run is one job: a part of the sizes of one test.
type run struct {
	test string
	args []string
}

// runs cut a figure so that small and large sizes have loops that fit them.
func runs() []run {
	return []run{
		{"latency", []string{"-m", "0:8192", "-i", "1000", "-x", "100"}},
		{"latency", []string{"-m", "16384:4194304", "-i", "50", "-x", "5"}},
		{"bw", []string{"-m", "1:8192", "-i", "20", "-x", "2"}},
		{"bw", []string{"-m", "16384:4194304", "-i", "5", "-x", "1"}},
	}
}

// arguments of mpirun for the step that is last in steps.
func arguments(mpirun, bench string, steps []step, r run) []string {
	on := map[string]string{"copies": "naive", "rcache": "0", "eager": "0", "inline": "0", "dmable_user": "0", "rma": "0"}
	allocMem := false
	for _, s := range steps {
		name, value, _ := strings.Cut(s.set, "=")
		on[name] = value
		allocMem = allocMem || s.allocMem
	}
	argv := []string{mpirun, "-n", "2", "--bind-to", "none", "--mca", "btl", "self,unimem"}
	for _, name := range []string{"copies", "rcache", "eager", "inline", "dmable_user", "rma"} {
		argv = append(argv, "--mca", "btl_unimem_"+name, on[name])
	}
	argv = append(append(argv, bench, r.test), r.args...)
	if allocMem {
		argv = append(argv, "--alloc-mem")
	}
	return argv
}

// sides are how the measuring is done, for tests to change.
type sides struct {
	output   func(ctx context.Context, argv []string) (string, error)
	raw      func() (rawValues, error)
	out      io.Writer
	progress *report.Progress
}

// Kim2018 measures figure 1 of the paper with the Unimem model of this machine.
func Kim2018(ctx context.Context, o Options) error {
	mpirun, bench, cleanup, err := compare.Launcher(ctx)
	if err != nil {
		return err
	}
	defer cleanup()
	s := sides{output: compare.Output, raw: measureRaw, out: os.Stdout, progress: report.NewProgress(os.Stderr)}
	return s.kim(ctx, o, mpirun, bench)
}

func (x sides) kim(ctx context.Context, o Options, mpirun, bench string) error {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return fmt.Errorf("paper: %w", err)
	}
	v := newValues()
	steps := kimSteps()
	for rep := range o.Reps {
		x.progress.Show("repetition %d of %d: the raw hardware model", rep+1, o.Reps)
		raw, err := x.raw()
		if err != nil {
			x.progress.Clear()
			return fmt.Errorf("paper: the raw model: %w", err)
		}
		raw.enter(v)
		for k := range steps {
			i := (k + rep) % len(steps) // every repetition begins with another
			for _, r := range runs() {
				x.progress.Show("repetition %d of %d: %s: %s %s", rep+1, o.Reps, steps[i].name, r.test, r.args[1])
				out, err := x.output(ctx, arguments(mpirun, bench, steps[:i+1], r))
				if err == nil {
					err = v.parse(r.test, steps[i].name, out)
				}
				if err != nil {
					x.progress.Clear()
					return fmt.Errorf("paper: %s: %w", steps[i].name, err)
				}
			}
		}
	}
	x.progress.Clear()
	names := []string{}
	for _, s := range steps {
		names = append(names, s.name)
	}
	names = append(names, rawMailbox, rawDMA)
	latency, bandwidth := v.rows("latency", names, "us"), v.rows("bw", names, "MB/s")
	tables(x.out, names, latency, bandwidth)
	verdict(x.out, latency, bandwidth, names)
	return files(o.Dir, latency, bandwidth)
}

// files writes the figure: its numbers, and a chart of each half.
func files(dir string, latency, bandwidth []report.Row) error {
	if err := writeCSV(filepath.Join(dir, "figure1.csv"), latency, bandwidth); err != nil {
		return err
	}
	for _, half := range []struct {
		test string
		rows []report.Row
	}{{"latency", latency}, {"bw", bandwidth}} {
		t, err := suite.Lookup(half.test)
		if err != nil {
			return err
		}
		t.Name = "kim-2018 figure 1, " + half.test
		name := map[string]string{"latency": "figure1-latency.svg", "bw": "figure1-bandwidth.svg"}[half.test]
		if err := report.Plot(filepath.Join(dir, name), t, report.Result{Test: t.Name, Ranks: 2, Rows: half.rows}); err != nil {
			return err
		}
	}
	return nil
}

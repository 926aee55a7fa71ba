package paper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/compare"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
)

// Series of the figures.
const (
	putEpoch, getEpoch = "put", "get"             // inside a lock epoch, less the cost of an empty one
	putFlush, getFlush = "put+flush", "get+flush" // inside a lock of all, whole
	sendReceive        = "send/receive"
)

// batches are the numbers of puts in an epoch of figure 5.
var batches = [...]int{1, 4, 16, 64}

// Hassani2013 measures figures 2 to 5 of Hassani, Skjellum et al., "Design, Implementation, and Performance Evaluation of MPI 3.0 on Portals 4.0" (2013), with
// each one-sided component, on this machine in place of the paper's network.
func Hassani2013(ctx context.Context, o Options) error {
	mpirun, bench, cleanup, err := compare.Launcher(ctx)
	if err != nil {
		return err
	}
	defer cleanup()
	s := sides{output: compare.Output, out: os.Stdout, progress: report.NewProgress(os.Stderr)}
	return s.hassani(ctx, o, mpirun, bench)
}

// hassaniRun is one component's share of the paper.
type hassaniRun struct {
	sides
	o             Options
	c             sided
	mpirun, bench string
	v             values
}

func (x sides) hassani(ctx context.Context, o Options, mpirun, bench string) error {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return fmt.Errorf("paper: %w", err)
	}
	chosen, err := choose(o.OSC)
	if err != nil {
		return err
	}
	measured, missing := map[string]values{}, map[string]error{}
	for rep := range o.Reps {
		for k := range chosen {
			c := chosen[(k+rep)%len(chosen)] // every repetition begins with another
			if missing[c.osc] != nil {
				continue
			}
			if measured[c.osc] == nil {
				measured[c.osc] = newValues()
			}
			h := hassaniRun{x, o, c, mpirun, bench, measured[c.osc]}
			if err := h.measure(ctx, rep); ctx.Err() != nil {
				x.progress.Clear()
				return context.Cause(ctx)
			} else if err != nil {
				missing[c.osc] = err
			}
		}
	}
	x.progress.Clear()
	var text strings.Builder
	fmt.Fprintf(&text, "# MPI-3 one-sided operations: the figures of Hassani et al., 2013\n\nMedians on this machine, %d repetitions.\n\n", o.Reps)
	var parts []part
	var errs []error
	done := 0
	for _, c := range chosen {
		if err := missing[c.osc]; err != nil {
			fmt.Fprintf(&text, "## osc/%s\n\nNot measured: %s\n\n", c.osc, reason(err))
			errs = append(errs, fmt.Errorf("osc/%s: %w", c.osc, err))
			continue
		}
		f := newFigures(c, measured[c.osc])
		f.write(&text)
		parts = append(parts, f.parts()...)
		if err := f.plot(o.Dir); err != nil {
			return err
		}
		done++
	}
	if _, err := io.WriteString(x.out, text.String()); err != nil {
		return err
	}
	if done == 0 {
		return fmt.Errorf("paper: nothing could be measured: %w", errors.Join(errs...))
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "hassani-2013.md"), []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("paper: %w", err)
	}
	return writeParts(filepath.Join(o.Dir, "hassani-2013.csv"), "size_or_ranks", parts)
}

// measure is one repetition.
func (h hassaniRun) measure(ctx context.Context, rep int) error {
	show := func(what string) { h.progress.Show("repetition %d of %d: osc/%s: %s", rep+1, h.o.Reps, h.c.osc, what) }
	small := []string{"-m", "1:65536", "-i", strconv.Itoa(h.o.Iterations), "-x", strconv.Itoa(h.o.Iterations / 10)}
	large := []string{"-m", "8:1048576", "-i", strconv.Itoa(max(5, h.o.Iterations/20)), "-x", "2"}
	for n := 2; n <= h.o.Ranks; n++ {
		show(fmt.Sprintf("synchronisation of %d ranks", n))
		out, err := h.run(ctx, n, "sync", "-i", strconv.Itoa(h.o.Iterations), "-x", strconv.Itoa(h.o.Iterations/10))
		if err == nil {
			err = h.v.parseEpochs(out, int64(n))
		}
		if err != nil {
			return err
		}
	}
	for _, job := range hassaniJobs() {
		loop, metric := small, "latency"
		if strings.HasSuffix(job.test, "bw") {
			loop, metric = large, "bandwidth"
		} else if slices.Contains(job.args, "--calls") {
			metric = "puts"
		}
		show(strings.Join(append([]string{job.test}, job.args...), " "))
		out, err := h.run(ctx, 2, append(append([]string{job.test}, loop...), job.args...)...)
		if err == nil {
			err = h.v.parse(metric, job.series, out)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hassaniJob is a job of two ranks whose values are those of a series.
type hassaniJob struct {
	series, test string
	args         []string
}

func hassaniJobs() []hassaniJob {
	jobs := []hassaniJob{
		{putEpoch, "put_latency", []string{"--sync", suite.SyncLock}},
		{getEpoch, "get_latency", []string{"--sync", suite.SyncLock}},
		{putFlush, "put_latency", []string{"--sync", suite.SyncLockAllFlush}},
		{getFlush, "get_latency", []string{"--sync", suite.SyncLockAllFlush}},
		{sendReceive, "latency", nil},
		{putEpoch, "put_bw", nil},
		{getEpoch, "get_bw", nil},
		{sendReceive, "bw", nil},
	}
	for _, n := range batches {
		jobs = append(jobs, hassaniJob{strconv.Itoa(n), "put_latency", []string{"--sync", suite.SyncLock, "--calls", strconv.Itoa(n)}})
	}
	return jobs
}

func (h hassaniRun) run(ctx context.Context, ranks int, args ...string) (string, error) {
	return h.output(ctx, h.c.job(h.mpirun, ranks, append([]string{h.bench}, args...)...))
}

// parseEpochs enters what the test sync has printed on so many ranks.
func (v values) parseEpochs(out string, ranks int64) error {
	n := 0
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) < 2 {
			return fmt.Errorf("output has the line %.80q, want SYNCHRONISATION:PUTS and a value", line)
		}
		kind, puts, named := strings.Cut(f[0], ":")
		value, err := strconv.ParseFloat(f[1], 64)
		if !named || err != nil || !(value >= 0 && value < 1e15) || puts != "0" && puts != "1" {
			return fmt.Errorf("output has the line %.80q, want SYNCHRONISATION:PUTS and a value", line)
		}
		metric := "empty epoch"
		if puts == "1" {
			metric = "epoch of one put"
		}
		v.add(metric, kind, ranks, value)
		n++
	}
	if n == 0 {
		return errors.New("the job printed no results")
	}
	return nil
}

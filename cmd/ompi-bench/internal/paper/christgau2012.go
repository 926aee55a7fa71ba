package paper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/compare"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
)

// Christgau2012 measures figure 3 of Christgau and Schnor, "One-sided communication in RCKMPI for the Single-Chip Cloud Computer" (2012): the speedup of a
// nine-point stencil, examples/lattice, with one-sided and with two-sided exchange of rows, here with each one-sided component.
func Christgau2012(ctx context.Context, o Options) error {
	mpirun, bench, cleanup, err := compare.Launcher(ctx)
	if err != nil {
		return err
	}
	defer cleanup()
	work, err := os.MkdirTemp("", "ompi-bench-")
	if err != nil {
		return fmt.Errorf("paper: %w", err)
	}
	defer os.RemoveAll(work)
	lattice, err := findLattice(ctx, filepath.Dir(bench), work)
	if err != nil {
		return err
	}
	s := sides{output: compare.Output, out: os.Stdout, progress: report.NewProgress(os.Stderr)}
	return s.christgau(ctx, o, mpirun, lattice)
}

// findLattice takes the program beside this one, or builds it.
func findLattice(ctx context.Context, beside, work string) (string, error) {
	path := filepath.Join(beside, "lattice")
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		return path, nil
	}
	made := filepath.Join(work, "lattice")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", made, "github.com/ompi-go/ompi-go/examples/lattice")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("paper: there is no lattice beside this program, and building it failed (run inside the source tree): %w\n%s", err, bytes.TrimSpace(out))
	}
	return made, nil
}

func (x sides) christgau(ctx context.Context, o Options, mpirun, lattice string) error {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return fmt.Errorf("paper: %w", err)
	}
	chosen, err := choose(o.OSC)
	if err != nil {
		return err
	}
	v, missing := newValues(), map[string]error{}
	for rep := range o.Reps {
		for n := 1; n <= o.Ranks; n++ {
			for k := range chosen {
				c := chosen[(k+rep)%len(chosen)]
				if missing[c.osc] != nil {
					continue
				}
				x.progress.Show("repetition %d of %d: osc/%s on %d ranks", rep+1, o.Reps, c.osc, n)
				out, err := x.output(ctx, c.job(mpirun, n, lattice, "--steps", strconv.Itoa(o.Iterations), "--speedup"))
				if err == nil {
					err = v.parseSpeedups(c, out, int64(n))
				}
				if ctx.Err() != nil {
					x.progress.Clear()
					return context.Cause(ctx)
				}
				if err != nil {
					missing[c.osc] = err
				}
			}
		}
	}
	x.progress.Clear()
	var names []string
	var errs []error
	for _, c := range chosen {
		if err := missing[c.osc]; err != nil {
			errs = append(errs, fmt.Errorf("osc/%s: %w", c.osc, err))
			continue
		}
		names = append(names, c.speedupSeries("two-sided"), c.speedupSeries("one-sided"))
	}
	if len(names) == 0 {
		return fmt.Errorf("paper: nothing could be measured: %w", errors.Join(errs...))
	}
	return x.speedups(o, names, v.rows("speedup", names, "times"), errs)
}

// speedups writes the figure.
func (x sides) speedups(o Options, names []string, rows []report.Row, errs []error) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# Speedup of examples/lattice: figure 3 of the RCKMPI paper (Christgau and Schnor, 2012)\n\n"+
		"%d time steps, medians of %d repetitions, each against one rank alone in the same job.\n\n", o.Iterations, o.Reps)
	table(&text, "ranks", names, rows)
	for i := 0; i+1 < len(names); i += 2 {
		two, ok2 := at(rows, names[i], int64(o.Ranks))
		one, ok1 := at(rows, names[i+1], int64(o.Ranks))
		if ok1 && ok2 && two.Value > 0 {
			fmt.Fprintf(&text, "- %s against %s on %d ranks: %.2f times\n", names[i+1], names[i], o.Ranks, one.Value/two.Value)
		}
	}
	for _, err := range errs {
		fmt.Fprintf(&text, "- not measured: %s\n", reason(err))
	}
	if _, err := io.WriteString(x.out, text.String()); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "christgau-2012.md"), []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("paper: %w", err)
	}
	t := chart("christgau-2012 figure 3, speedup of lattice", "Speedup", "Ranks")
	if err := report.Plot(filepath.Join(o.Dir, "figure3.svg"), t, report.Result{Test: t.Name, Ranks: o.Ranks, Rows: rows}); err != nil {
		return err
	}
	return writeParts(filepath.Join(o.Dir, "figure3.csv"), "ranks", []part{{"speedup", rows}})
}

// speedupSeries names what one exchange has given beside this component.
func (s sided) speedupSeries(exchange string) string {
	if exchange == "two-sided" {
		return fmt.Sprintf("two-sided, pml/%s beside osc/%s", s.pml, s.osc)
	}
	return "one-sided, osc/" + s.osc
}

// parseSpeedups enters the two lines of lattice --speedup: "one-sided: speedup 1.95 on 2 ranks: …".
func (v values) parseSpeedups(c sided, out string, ranks int64) error {
	for _, exchange := range []string{"two-sided", "one-sided"} {
		_, rest, ok := strings.Cut(out, exchange+": speedup ")
		word, _, _ := strings.Cut(rest, " ")
		value, err := strconv.ParseFloat(word, 64)
		if !ok || err != nil || !(value >= 0 && value < 1e6) {
			return fmt.Errorf("lattice did not print the speedup of the %s exchange", exchange)
		}
		v.add("speedup", c.speedupSeries(exchange), ranks, value)
	}
	return nil
}

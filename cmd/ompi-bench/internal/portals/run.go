package portals

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/portals4"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/shm"
)

// Run measures as a rank of the launcher's job, or with goroutine ranks, and writes what rank 0 has to say to out.
func Run(ctx context.Context, o Options, out io.Writer) error {
	if o.Goroutines == 0 {
		job, err := rte.Join(rte.Options{})
		if err != nil {
			return err
		}
		if err := bench(ctx, o, &portals4.Config{Job: job}, out); err != nil {
			job.Abort(1, "ompi-bench: portals4: "+err.Error()) // it does not return: the other rank is not to wait
		}
		return job.Finalize()
	}
	hub, memory, awake := rte.NewHub(o.Goroutines), shm.NewHub(o.Goroutines), &progress.Runnable{}
	ends := make(chan error, o.Goroutines)
	for r := range o.Goroutines {
		go func() {
			awake.Enter()
			defer awake.Leave()
			job := hub.Job(r)
			err := bench(ctx, o, &portals4.Config{Job: job, Hub: memory, Runnable: awake}, out)
			ends <- err
			if err != nil {
				job.Abort(1, err.Error())
			}
		}()
	}
	for range o.Goroutines {
		select {
		case err := <-ends:
			if err != nil {
				return err // the other may wait for this one for ever
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// bench is one rank's part in all measurements.
func bench(ctx context.Context, o Options, cfg *portals4.Config, out io.Writer) error {
	job := cfg.Job
	if job.Size() > 2 {
		return fmt.Errorf("want 1 or 2 ranks, this job has %d", job.Size())
	}
	reg, err := mca.NewRegistry()
	if err != nil {
		return err
	}
	in := mca.DefaultInput()
	if o.NAL != "" {
		in.Settings = append(in.Settings, mca.Setting{Name: "portals4_nal", Value: o.NAL, Layer: mca.LayerAPI, Where: "--nal"})
	}
	params, err := mca.Load(reg, in)
	if err != nil {
		return err
	}
	cfg.Registry, cfg.Params = reg, params
	iface, err := portals4.Open(*cfg)
	if err != nil {
		return err
	}
	all, err := measureAll(ctx, o, job, iface, how(o, cfg.Hub != nil, job.Size(), params), out)
	if err != nil {
		return err // and the job is aborted: the others are not there to close the interface with
	}
	if err := iface.Close(); err != nil {
		return err
	}
	if o.JSON == "" || job.Rank() != 0 {
		return nil
	}
	if len(all) == 1 {
		return report.WriteJSON(o.JSON, all[0])
	}
	return report.WriteJSON(o.JSON, all)
}

func measureAll(ctx context.Context, o Options, job rte.Job, iface *portals4.Interface, how string, out io.Writer) ([]report.Result, error) {
	var all []report.Result
	for _, t := range o.Tests {
		if t.op == matching && job.Size() > 1 {
			return nil, fmt.Errorf("%s is a matter of one rank, this job has %d", t.Name, job.Size())
		}
		result, err := measure(ctx, o, t, job, iface, out, how)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		all = append(all, result)
	}
	return all, nil
}

// how tells what the numbers are of.
func how(o Options, goroutines bool, ranks int, params *mca.Params) string {
	where := "to itself"
	if ranks > 1 {
		nal, _, _ := params.Lookup("portals4_nal")
		where = "ranks are processes, portals4_nal " + nal
		if goroutines {
			where = "ranks are goroutines, portals4_nal " + nal
		}
	}
	return fmt.Sprintf("Portals, %s, %s, %s", where, o.entry(), o.event())
}

func (o *Options) entry() string {
	if o.NoMatching {
		return "le"
	}
	return "me"
}

func (o *Options) event() string {
	if o.Counting {
		return "ct"
	}
	return "eq"
}

// measure runs one test over its sizes.
func measure(ctx context.Context, o Options, t Test, job rte.Job, iface *portals4.Interface, out io.Writer, how string) (report.Result, error) {
	root := job.Rank() == 0
	result := report.Result{Test: "portals4_" + t.Name, Ranks: job.Size(),
		Params: map[string]any{"mode": how, "entry": o.entry(), "event": o.event(), "window": suite.Window}}
	calls := t.op == put && t.shape == latency && job.Size() == 1
	if calls {
		t.More = append(t.More, callColumn)
	}
	r, err := newRank(o, t, job, iface)
	if err != nil {
		return result, err
	}
	defer func() { _ = r.free() }() // after an error, which is the one to tell
	sizes, err := r.fitting(t.sizes(o.Params), o.Params.Range.Given)
	if err != nil {
		return result, err
	}
	progress := report.NewProgress(os.Stderr)
	if root {
		report.Head(out, t.Test, job.Size(), how)
	}
	for i, size := range sizes {
		if err := ctx.Err(); err != nil {
			return result, err
		}
		if root {
			progress.Show("%s: %s %d, %d of %d", t.Name, t.Size, size, i+1, len(sizes))
		}
		row, err := r.row(size)
		if err != nil {
			return result, err
		}
		if !root {
			continue
		}
		if calls {
			row.More = map[string]float64{callColumn: callAndCopy(int(size))}
		}
		progress.Clear()
		report.Line(out, t.Test, row)
		result.Rows = append(result.Rows, row)
	}
	if err := r.meet(); err != nil { // the peer may still have something under way to this one
		return result, err
	}
	return result, r.free()
}

// repeat runs a loop in repetitions after a warm-up, which decides its length where the user does not. Both ranks call it.
func (r *rank) repeat(size int64, loop func(n int) (float64, error)) (report.Row, error) {
	l, fixed := r.test.Loop(size, r.o.Params)
	if l.Warmup > 0 {
		start := time.Now()
		if err := r.meet(); err != nil {
			return report.Row{}, err
		}
		if _, err := loop(l.Warmup); err != nil {
			return report.Row{}, err
		}
		if !fixed {
			l = l.Fit(time.Since(start).Seconds() / float64(l.Warmup))
		}
		n, err := r.agree(uint64(l.Iterations))
		if err != nil {
			return report.Row{}, err
		}
		l.Iterations = int(n)
	}
	reps := min(suite.Repetitions, l.Iterations)
	values := make([]float64, 0, reps)
	for range reps {
		if err := r.meet(); err != nil {
			return report.Row{}, err
		}
		v, err := loop(l.Iterations / reps)
		if err != nil {
			return report.Row{}, err
		}
		values = append(values, v)
	}
	return report.NewRow(size, r.test.Unit, values), nil
}

package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
	"github.com/ompi-go/ompi-go/ompi"
)

// bench is one rank's part of a measurement.
type bench struct {
	cmd         commandLine
	test        suite.Test
	world       *ompi.Comm
	rank, ranks int
	started     time.Time
	out         io.Writer
	send, recv  []byte // made once: nothing is allocated while the clock runs
	reqs        []ompi.Request
	progress    *report.Progress
	ring        *ompi.Comm // of neighbour collectives, made when first needed
	win         *window    // of one-sided tests
	sink        float64    // where computations leave their result, so that they are not left out
}

// measurement runs `iterations` rounds of one size and gives the result in the test's unit; only rank 0's value counts.
type measurement func(b *bench, size, iterations int) (float64, error)

// measurements are the tests that are timed loops.
func measurements() map[string]measurement {
	all := map[string]measurement{
		"latency":     (*bench).latency,
		"multi_lat":   (*bench).multiLat,
		"latency_mt":  (*bench).latencyMT,
		"bw":          (*bench).bw,
		"bibw":        (*bench).bibw,
		"mbw_mr":      (*bench).mbwMR,
		"match_depth": (*bench).matchDepth,
	}
	for _, name := range []string{"put", "get", "acc", "get_acc", "fop", "cas"} {
		all[name+"_latency"] = (*bench).rmaLatency
	}
	all["put_bw"], all["get_bw"], all["put_bibw"] = (*bench).rmaBandwidth, (*bench).rmaBandwidth, (*bench).putBibw
	for _, name := range suite.Epochs() {
		all["sync_"+name] = (*bench).syncEpoch
	}
	for _, c := range suite.Collectives() {
		all[c.TestName(suite.Blocking)] = (*bench).collective
		all[c.TestName(suite.Persistent)] = (*bench).collective
	}
	return all
}

// courses are the tests that have a course of their own.
func courses() map[string]func(b *bench) ([]report.Row, error) {
	all := map[string]func(b *bench) ([]report.Row, error){
		"startup":      single((*bench).startup),
		"idle":         single((*bench).idle),
		"memory":       single((*bench).memory),
		"ddt":          (*bench).layouts,
		"overlap":      (*bench).overlaps,
		"overlap_recv": (*bench).recvOverlaps,
		"sync":         (*bench).syncs,
		"passive":      (*bench).passive,
		"hammer":       (*bench).hammer,
	}
	for _, c := range suite.Collectives() {
		all[c.TestName(suite.NonBlocking)] = (*bench).overlaps
	}
	return all
}

// single is a course of one row.
func single(course func(b *bench) (report.Row, error)) func(b *bench) ([]report.Row, error) {
	return func(b *bench) ([]report.Row, error) {
		return rows(b, []string{b.test.Size}, func(string) (report.Row, error) { return course(b) })
	}
}

func newBench(world *ompi.Comm, c commandLine, started time.Time, out io.Writer) *bench {
	return &bench{
		cmd: c, test: c.test, world: world, rank: world.Rank(), ranks: world.Size(), started: started,
		out: out, progress: report.NewProgress(os.Stderr),
	}
}

// memoryLimit bounds the buffers of this process.
const memoryLimit = 8 << 30

// fits says why the test cannot run in this job; every rank finds the same.
func (b *bench) fits() error {
	if err := b.test.CheckRanks(b.ranks); err != nil {
		return err
	}
	if b.test.Layouts && len(b.chosen()) == 0 {
		return fmt.Errorf("test %s has no layout of -m %s bytes", b.test.Name, &b.cmd.params.Range)
	}
	here := int64(1) // ranks that share this process's memory
	if b.cmd.goroutines > 0 {
		here = int64(b.ranks)
	}
	if n := b.bufferBytes(); n > memoryLimit/2/here {
		return fmt.Errorf("test %s with %d ranks needs two buffers of %d bytes a rank; limit the size with -m MIN:MAX", b.test.Name, b.ranks, n)
	}
	return nil
}

func (b *bench) bufferBytes() int64 {
	_, hi := b.test.Bounds(b.cmd.params)
	n := max(hi, 8)
	if b.test.Name == "match_depth" {
		n *= 8 // every receive its own eight bytes
	}
	if b.test.PerPeer {
		n *= int64(b.ranks)
	}
	if b.test.Collective.Neighbours {
		n *= 2
	}
	return n
}

// allocate makes both buffers, page by page.
func (b *bench) allocate() (err error) {
	n := b.bufferBytes()
	if b.cmd.allocMem { // Finalize frees it
		if b.send, err = ompi.AllocMem[byte](b.world.Instance(), int(n)); err != nil {
			return err
		}
		if b.recv, err = ompi.AllocMem[byte](b.world.Instance(), int(n)); err != nil {
			return err
		}
	} else {
		b.send, b.recv = make([]byte, n), make([]byte, n)
	}
	for i := range b.send {
		b.send[i], b.recv[i] = 'a', 'b'
	}
	b.reqs = make([]ompi.Request, 2*suite.Window)
	return nil
}

func (b *bench) run() error {
	if err := b.allocate(); err != nil {
		return err
	}
	if b.test.Window {
		if err := b.openWindow(); err != nil {
			return err
		}
	}
	if b.rank == 0 {
		report.Head(b.out, b.test, b.ranks, b.mode())
	}
	course, ok := courses()[b.test.Name]
	if !ok {
		course = (*bench).sweep
	}
	rows, err := course(b)
	if err == nil {
		err = b.closeWindow()
	}
	if err == nil && !b.test.Once {
		err = b.world.Barrier()
	}
	if err == nil && b.rank == 0 {
		err = b.finish(rows)
	}
	return err
}

func (b *bench) mode() string {
	how := "ranks are processes"
	if b.cmd.goroutines > 0 {
		how = "ranks are goroutines"
	}
	if b.test.Window {
		o := b.test.OneSidedOf(b.cmd.params)
		how += ", window: " + o.Window
		if o.Sync != "" {
			how += ", synchronised by " + o.Sync
		}
	}
	return how
}

// rows measures one row after the other; rank 0 prints them.
func rows[T any](b *bench, items []T, measure func(T) (report.Row, error)) ([]report.Row, error) {
	var all []report.Row
	for i, item := range items {
		if b.rank == 0 && !b.test.Once {
			b.progress.Show("%s: %s %v, %d of %d", b.test.Name, b.test.Size, item, i+1, len(items))
		}
		row, err := measure(item)
		if err != nil {
			return nil, err
		}
		if b.rank == 0 {
			all = append(all, row)
			b.progress.Clear()
			report.Line(b.out, b.test, row)
		}
	}
	return all, nil
}

// sweep measures every size.
func (b *bench) sweep() ([]report.Row, error) {
	measure := measurements()[b.test.Name]
	return rows(b, b.test.Sizes(b.cmd.params), func(size int64) (report.Row, error) {
		values, err := b.repeat(measure, size)
		return report.NewRow(size, b.test.Unit, values), err
	})
}

// repeat measures one size in repetitions, each after a barrier.
func (b *bench) repeat(measure measurement, size int64) ([]float64, error) {
	loop, fixed := b.test.Loop(size, b.cmd.params)
	if loop.Warmup > 0 {
		var err error
		if loop, err = b.warmUp(measure, size, loop, fixed); err != nil {
			return nil, err
		}
	}
	reps := min(suite.Repetitions, loop.Iterations)
	values := make([]float64, 0, reps)
	for range reps {
		if err := b.world.Barrier(); err != nil {
			return nil, err
		}
		v, err := measure(b, int(size), loop.Iterations/reps)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// warmUp runs the untimed iterations and, where the length is ours to choose, lets rank 0 fit the loop to what they took.
func (b *bench) warmUp(measure measurement, size int64, loop suite.Loop, fixed bool) (suite.Loop, error) {
	if err := b.world.Barrier(); err != nil {
		return loop, err
	}
	start := time.Now()
	if _, err := measure(b, int(size), loop.Warmup); err != nil {
		return loop, err
	}
	if err := b.world.Barrier(); err != nil {
		return loop, err
	}
	if !fixed {
		loop = loop.Fit(time.Since(start).Seconds() / float64(loop.Warmup))
	}
	n := int64(loop.Iterations)
	err := b.world.Bcast(ompi.Value(&n), 0)
	loop.Iterations = int(n)
	return loop, err
}

// describe are the parameters that the JSON records.
func (b *bench) describe() map[string]any {
	lo, hi := b.test.Bounds(b.cmd.params)
	p := map[string]any{"min": lo, "max": hi, "mode": b.mode(), "window": suite.Window}
	if b.cmd.params.Iterations > 0 {
		p["iterations"] = b.cmd.params.Iterations
	}
	if b.cmd.params.Warmup >= 0 {
		p["warmup"] = b.cmd.params.Warmup
	}
	if b.test.Window {
		o := b.test.OneSidedOf(b.cmd.params)
		p["window_kind"], p["sync"], p["calls"] = o.Window, o.Sync, o.Calls
	}
	return p
}

// mean is the sum of all ranks' values divided by n, at rank 0.
func (b *bench) mean(mine float64, n int) (float64, error) {
	var sum float64
	if err := b.world.Reduce(ompi.Value(&mine), ompi.Value(&sum), ompi.Sum, 0); err != nil {
		return 0, err
	}
	return sum / float64(n), nil
}

// micros is the microseconds since start, divided by n.
func micros(start time.Time, n int) float64 {
	return time.Since(start).Seconds() * 1e6 / float64(n)
}

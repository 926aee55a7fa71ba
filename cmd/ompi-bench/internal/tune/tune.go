package tune

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/ompi"
)

// Options are what the user asked for.
type Options struct {
	Out        string
	Goroutines int        // ranks as goroutines; 0: the launcher's
	Ranks      []int      // numbers of ranks to measure; nil: powers of two, and all
	Kinds      []alg.Kind // operations; nil: all that have a choice
	Min, Max   int64      // sizes in bytes, four times as large in each step
	Budget     time.Duration
}

// DefaultKinds are the operations that have more than one algorithm.
func DefaultKinds() []alg.Kind {
	var list []alg.Kind
	for k := range alg.Kinds {
		if len(alg.List(k)) > 1 {
			list = append(list, k)
		}
	}
	return list
}

// Run measures and writes the table.
func Run(ctx context.Context, o Options) error {
	t := new(component)
	body := func(w *ompi.Comm) error {
		pick, err := t.of(w)
		if err != nil {
			return err
		}
		return (&tuner{Options: o, world: w, pick: pick}).run()
	}
	if o.Goroutines > 0 {
		return ompi.Run(ctx, o.Goroutines, body, ompi.WithComponent(t))
	}
	instance, err := ompi.Init(ompi.WithComponent(t))
	if err != nil {
		return err
	}
	if err := body(instance.World()); err != nil {
		return err
	}
	return instance.Finalize()
}

// tuner is one rank's part.
type tuner struct {
	Options
	world    *ompi.Comm
	pick     *picker
	mem      memory
	results  results // at rank 0
	progress *report.Progress
}

func (t *tuner) run() error {
	if t.Kinds == nil {
		t.Kinds = DefaultKinds()
	}
	if t.Ranks == nil {
		t.Ranks = rankCounts(t.world.Size())
	}
	if n := slices.Max(t.Ranks); n > t.world.Size() {
		return fmt.Errorf("tune: %d ranks are to be measured, the job has %d", n, t.world.Size())
	}
	t.mem = memory{make([]float32, t.room()/4), make([]float32, t.room()/4)}
	t.results = results{}
	t.progress = report.NewProgress(os.Stderr)
	for _, n := range t.Ranks {
		if err := t.on(n); err != nil {
			return err
		}
	}
	if t.world.Rank() == 0 {
		t.progress.Clear()
		if err := t.write(); err != nil {
			return err
		}
	}
	return t.world.Barrier()
}

// rankCounts are 2, 4, 8, ... and n.
func rankCounts(n int) []int {
	var list []int
	for k := 2; k < n; k *= 2 {
		list = append(list, k)
	}
	return append(list, n)
}

// on measures the first n ranks; the others wait, and sleep soon.
func (t *tuner) on(n int) error {
	color := 0
	if t.world.Rank() >= n {
		color = ompi.Undefined
	}
	c, err := t.world.Split(color, 0)
	if err != nil {
		return err
	}
	if c != nil {
		time.Sleep(settle)
		for _, p := range t.points(n) {
			if err := t.measure(c, p); err != nil {
				return err
			}
		}
		if err := c.Free(); err != nil {
			return err
		}
	}
	return t.world.Barrier()
}

// settle is how long those who do not take part are given to go to sleep.
const settle = 50 * time.Millisecond

// points are what is measured on n ranks.
func (t *tuner) points(n int) []point {
	var list []point
	for _, k := range t.Kinds {
		orders := []bool{true}
		if k.Reduces() {
			orders = []bool{true, false}
		}
		for _, commutative := range orders {
			if !sized(k) {
				size := int64(0)
				if k != alg.Barrier {
					size = min(max(t.Min, unsizedBytes), t.Max, t.room()/int64(n)/4*4)
				}
				list = append(list, point{k, commutative, n, size})
				continue
			}
			for size := t.Min; size <= t.Max; size *= 4 {
				if elements(k, n, size)*4 <= t.room() {
					list = append(list, point{k, commutative, n, size})
				}
			}
		}
	}
	return list
}

// unsizedBytes is the block with which operations are measured that are not chosen by size.
const unsizedBytes = 4096

// segments are those that pipelines are tried with where the data is larger.
var segments = []int64{8 << 10, 32 << 10, 128 << 10}

// candidates are the ways to serve a point.
func candidates(p point) []candidate {
	var list []candidate
	for _, g := range alg.List(p.kind) {
		if !p.commutative && !g.Ordered || g.Fits != nil && !g.Fits(p.ranks) {
			continue
		}
		before := len(list)
		for _, s := range segments {
			if g.Segmented && s < p.bytes {
				list = append(list, candidate{g, s})
			}
		}
		if len(list) == before {
			list = append(list, candidate{g, 0})
		}
	}
	return list
}

// inOrder is a sum of which the library must believe that it does not commute.
var inOrder = ompi.NewOp(false, func(in, inout []float32) {
	for i, x := range in {
		inout[i] += x
	}
})

// rounds is how often each candidate is measured, in turn with the others. The least counts: whatever else the machine does only adds.
const rounds = 5

// measure compares the candidates at a point. Each call is followed by a barrier, the same for all: so a root that runs ahead gains
// nothing.
func (t *tuner) measure(c *ompi.Comm, p point) error {
	op := ompi.Sum
	if !p.commutative {
		op = inOrder
	}
	call, err := t.mem.call(c, p, op)
	if err != nil {
		return err
	}
	list := candidates(p)
	iterations := make([]int, len(list))
	times := make([][]float64, len(list))
	for i, cand := range list {
		if iterations[i], err = t.calibrate(c, p, cand, call); err != nil {
			return err
		}
	}
	for range rounds {
		for i, cand := range list {
			us, err := t.loop(c, p, cand, call, iterations[i])
			if err != nil {
				return err
			}
			times[i] = append(times[i], us)
		}
	}
	if c.Rank() == 0 {
		t.results[p] = map[candidate]float64{}
		for i, cand := range list {
			t.results[p][cand] = slices.Min(times[i])
		}
		t.progress.Clear()
		t.say(os.Stdout, p)
	}
	return nil
}

// calibrate says how many iterations fill a candidate's part of the budget; rank 0's clock counts.
func (t *tuner) calibrate(c *ompi.Comm, p point, cand candidate, call func() error) (int, error) {
	if c.Rank() == 0 {
		t.progress.Show("%s on %d ranks, %d bytes: %s", p.kind, p.ranks, p.bytes, cand)
	}
	if _, err := t.loop(c, p, cand, call, 1); err != nil { // memory is touched, connections are made
		return 0, err
	}
	us, err := t.loop(c, p, cand, call, 2)
	if err != nil {
		return 0, err
	}
	n := int64(min(max(float64(t.Budget.Microseconds())/rounds/max(us, 0.01), 2), 100_000))
	err = c.Bcast(ompi.Value(&n), 0)
	return int(n), err
}

// loop gives the microseconds of a call and its barrier.
func (t *tuner) loop(c *ompi.Comm, p point, cand candidate, call func() error, iterations int) (float64, error) {
	t.pick.forced = candidate{}
	if err := c.Barrier(); err != nil {
		return 0, err
	}
	t.pick.forced = cand
	defer func() { t.pick.forced = candidate{} }()
	start := time.Now()
	for range iterations {
		if err := call(); err != nil {
			return 0, err
		}
		if p.kind != alg.Barrier {
			if err := c.Barrier(); err != nil {
				return 0, err
			}
		}
	}
	return time.Since(start).Seconds() * 1e6 / float64(iterations), nil
}

func (c candidate) String() string {
	if c.segment > 0 {
		return fmt.Sprintf("%s/%dk", c.algorithm.Name, c.segment>>10)
	}
	return c.algorithm.Name
}

// say prints a point, the fastest first.
func (t *tuner) say(w io.Writer, p point) {
	var b strings.Builder
	name := p.kind.String()
	if !p.commutative {
		name += " in order"
	}
	fmt.Fprintf(&b, "%s  ranks %d  bytes %d ", name, p.ranks, p.bytes)
	for _, c := range t.results.ranked(p) {
		fmt.Fprintf(&b, "  %s %.2f", c, t.results[p][c])
	}
	fmt.Fprintln(w, b.String())
}

// write makes the file.
func (t *tuner) write() error {
	table, err := t.results.table()
	if err != nil {
		return err
	}
	where := "processes"
	if t.Goroutines > 0 {
		where = "goroutines of one process"
	}
	text := fmt.Sprintf("# Written by ompi-bench tune. Ranks were %s, numbers of ranks %v, sizes %d to %d bytes.\n%s", where, t.Ranks, t.Min, t.Max, table)
	if err := os.WriteFile(t.Out, []byte(text), 0o644); err != nil {
		return fmt.Errorf("tune: %w", err)
	}
	fmt.Printf("# %s: use it with --mca coll_tuned_rules_file %s\n", t.Out, t.Out)
	return nil
}

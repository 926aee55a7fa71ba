package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ompi-go/ompi-go/examples/lattice/d2q9"
	"github.com/ompi-go/ompi-go/examples/lattice/picture"
	"github.com/ompi-go/ompi-go/ompi"
)

// flow is one rank's rows and its talk with the neighbours.
type flow struct {
	world    *ompi.Comm
	field    *picture.Field
	out      io.Writer
	strip    *d2q9.Strip
	exchange exchange
	levels   []byte // of the whole field, at rank 0
	mine     []byte
	counts   []int // cells of every rank
}

// newFlow cuts the field into bands of rows that differ by one row at most.
func newFlow(world *ompi.Comm, field *picture.Field, way string, out io.Writer) (*flow, error) {
	f := &flow{world: world, field: field, out: out}
	ranks, rank, w := world.Size(), world.Rank(), field.Width
	first := func(r int) int { return field.Height * r / ranks }
	for r := range ranks {
		f.counts = append(f.counts, (first(r+1)-first(r))*w)
	}
	var err error
	f.strip, err = d2q9.NewStrip(w, first(rank), field.Solid[first(rank)*w:first(rank+1)*w])
	if err != nil {
		return nil, err
	}
	if f.exchange, err = newExchange(way, world, f.strip.HaloWords()); err != nil {
		return nil, err
	}
	f.mine = make([]byte, f.counts[rank])
	if rank == 0 {
		f.levels = make([]byte, w*field.Height)
	}
	return f, nil
}

// step advances the field once. The inner rows are computed while the messages are on their way.
func (f *flow) step() error {
	s, x := f.strip, f.exchange.rows()
	s.PackUp(x.toUp)
	s.PackDown(x.toDown)
	if err := f.exchange.begin(); err != nil {
		return err
	}
	s.StepInner()
	if err := f.exchange.end(); err != nil {
		return err
	}
	if x.hasUp {
		s.UnpackUp(x.fromUp)
	} else {
		s.WallUp()
	}
	if x.hasDown {
		s.UnpackDown(x.fromDown)
	} else {
		s.WallDown()
	}
	s.StepEdges()
	return nil
}

// computeTogether runs all steps on all ranks and gives the time they took, without that of the frames.
func (f *flow) computeTogether(o options) (time.Duration, error) {
	p := newProgress(fmt.Sprintf("%d ranks", f.world.Size()), o.steps)
	if f.world.Rank() != 0 {
		p = &progress{}
	}
	defer p.clear()
	if err := f.world.Barrier(); err != nil {
		return 0, err
	}
	var spent time.Duration
	start := time.Now()
	for step := 1; step <= o.steps; step++ {
		if err := f.step(); err != nil {
			return 0, err
		}
		if o.out != "" && (step%o.every == 0 || step == o.steps) {
			spent += time.Since(start)
			if err := f.frame(o.out, step); err != nil {
				return 0, err
			}
			start = time.Now()
		}
		p.show(step)
	}
	// The slowest rank's time counts.
	if err := f.world.Barrier(); err != nil {
		return 0, err
	}
	return spent + time.Since(start), nil
}

// frame gathers what every rank sees and lets rank 0 write it.
func (f *flow) frame(dir string, step int) error {
	f.strip.Levels(f.mine)
	if err := f.world.Gatherv(ompi.Slice(f.mine), ompi.Slice(f.levels), f.counts, nil, 0); err != nil {
		return err
	}
	var err error
	if f.world.Rank() == 0 {
		err = picture.WriteFrame(dir, step, f.field.Width, f.levels)
	}
	return agree(f.world, err)
}

// outcome is what one way of exchange has led to.
type outcome struct {
	way   string
	spent time.Duration
	sum   uint64 // checksum, at rank 0
}

// conclude adds up the checksum and frees the exchange.
func (f *flow) conclude() (sum uint64, err error) {
	var unstable error
	if !f.strip.Stable() {
		unstable = errors.New("the flow became unstable: populations left their 21-bit range")
	}
	if err := agree(f.world, unstable); err != nil {
		return 0, err
	}
	mine := f.strip.Checksum()
	if err := f.world.Reduce(ompi.Value(&mine), ompi.Value(&sum), ompi.Sum, 0); err != nil {
		return 0, err
	}
	return sum, f.exchange.close()
}

// report is rank 0's: the line of every way, and the checksum, which is the same for all.
func report(out io.Writer, cells float64, ranks int, o options, ways []outcome, alone sequential) error {
	for _, w := range ways {
		label := ""
		if len(ways) > 1 {
			label = w.way + ": "
		}
		fmt.Fprintf(out, "%s%.2f s, %.1f million cells a second\n", label, w.spent.Seconds(), cells/w.spent.Seconds()/1e6)
		if w.sum != ways[0].sum {
			return fmt.Errorf("checksum %016x of exchange %s differs from %016x of %s", w.sum, w.way, ways[0].sum, ways[0].way)
		}
		if !o.speedup {
			continue
		}
		if alone.checksum != w.sum {
			return fmt.Errorf("checksum %016x of %d ranks differs from %016x of one", w.sum, ranks, alone.checksum)
		}
		fmt.Fprintf(out, "%sspeedup %.2f on %d ranks: one alone took %.2f s\n", label, alone.spent.Seconds()/w.spent.Seconds(), ranks, alone.spent.Seconds())
	}
	fmt.Fprintf(out, "checksum %016x\n", ways[0].sum)
	return nil
}

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
	exchange *twoSided
	levels   []byte // of the whole field, at rank 0
	mine     []byte
	counts   []int // cells of every rank
}

// newFlow cuts the field into bands of rows that differ by one row at most.
func newFlow(world *ompi.Comm, field *picture.Field, out io.Writer) (*flow, error) {
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
	f.exchange = newTwoSided(world, f.strip.HaloWords())
	f.mine = make([]byte, f.counts[rank])
	if rank == 0 {
		f.levels = make([]byte, w*field.Height)
	}
	return f, nil
}

// step advances the field once. The inner rows are computed while the messages are on their way.
func (f *flow) step() error {
	s, x := f.strip, f.exchange
	s.PackUp(x.toUp)
	s.PackDown(x.toDown)
	x.begin()
	s.StepInner()
	if err := x.end(); err != nil {
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

// conclude adds up the checksum and reports.
func (f *flow) conclude(o options, spent time.Duration, alone sequential) error {
	var unstable error
	if !f.strip.Stable() {
		unstable = errors.New("the flow became unstable: populations left their 21-bit range")
	}
	if err := agree(f.world, unstable); err != nil {
		return err
	}
	mine, sum := f.strip.Checksum(), uint64(0)
	if err := f.world.Reduce(ompi.Value(&mine), ompi.Value(&sum), ompi.Sum, 0); err != nil {
		return err
	}
	var err error
	if f.world.Rank() == 0 {
		err = f.report(o, spent, alone, sum)
	}
	return agree(f.world, err)
}

func (f *flow) report(o options, spent time.Duration, alone sequential, sum uint64) error {
	cells := float64(f.field.Width) * float64(f.field.Height) * float64(o.steps)
	fmt.Fprintf(f.out, "%.2f s, %.1f million cells a second\n", spent.Seconds(), cells/spent.Seconds()/1e6)
	if o.speedup {
		if alone.checksum != sum {
			return fmt.Errorf("checksum %016x of %d ranks differs from %016x of one", sum, f.world.Size(), alone.checksum)
		}
		fmt.Fprintf(f.out, "speedup %.2f on %d ranks: one alone took %.2f s\n", alone.spent.Seconds()/spent.Seconds(), f.world.Size(), alone.spent.Seconds())
	}
	fmt.Fprintf(f.out, "checksum %016x\n", sum)
	return nil
}

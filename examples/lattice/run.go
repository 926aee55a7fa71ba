package main

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ompi-go/ompi-go/examples/lattice/d2q9"
	"github.com/ompi-go/ompi-go/examples/lattice/picture"
	"github.com/ompi-go/ompi-go/ompi"
)

//go:embed channel.png
var channel []byte

// run is the program on one rank; rank 0 writes the results to out.
func run(world *ompi.Comm, args []string, out io.Writer) error {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) && world.Rank() == 0 {
		fmt.Fprint(out, usage)
	}
	if err := agree(world, err); err != nil {
		return err
	}
	field, err := distribute(world, o)
	if err != nil {
		return err
	}
	alone := sequential{}
	if o.speedup && world.Rank() == 0 {
		alone, err = computeAlone(field, o.steps)
	}
	if err := agree(world, err); err != nil {
		return err
	}
	if world.Rank() == 0 {
		fmt.Fprintf(out, "%d x %d cells, %d steps, %d ranks\n", field.Width, field.Height, o.steps, world.Size())
	}
	ways := []string{o.exchange}
	if o.speedup {
		ways = []string{isTwoSided, isOneSided}
	}
	var all []outcome
	for _, way := range ways {
		done, err := compute(world, field, o, way, out)
		if err != nil {
			return err
		}
		all = append(all, done)
	}
	if world.Rank() == 0 {
		cells := float64(field.Width) * float64(field.Height) * float64(o.steps)
		err = report(out, cells, world.Size(), o, all, alone)
	}
	return agree(world, err)
}

// compute runs the flow with one way of exchange. Frames are those of the way that was asked for.
func compute(world *ompi.Comm, field *picture.Field, o options, way string, out io.Writer) (outcome, error) {
	if way != o.exchange {
		o.out = ""
	}
	f, err := newFlow(world, field, way, out)
	if err := agree(world, err); err != nil {
		return outcome{}, err
	}
	spent, err := f.computeTogether(o)
	if err != nil {
		return outcome{}, err
	}
	sum, err := f.conclude()
	return outcome{way, spent, sum}, err
}

// distribute lets rank 0 read the picture and gives it to all.
func distribute(world *ompi.Comm, o options) (*picture.Field, error) {
	field := &picture.Field{}
	var err error
	if world.Rank() == 0 {
		field, err = open(o, world.Size())
	}
	if err := agree(world, err); err != nil {
		return nil, err
	}
	size := []int64{int64(field.Width), int64(field.Height)}
	if err := world.Bcast(ompi.Slice(size), 0); err != nil {
		return nil, err
	}
	field.Width, field.Height = int(size[0]), int(size[1])
	if world.Rank() != 0 {
		field.Solid = make([]bool, field.Width*field.Height)
	}
	return field, world.Bcast(ompi.Slice(field.Solid), 0)
}

// open reads the picture and makes the folder for frames.
func open(o options, ranks int) (*picture.Field, error) {
	field, name := (*picture.Field)(nil), "the built-in picture"
	var err error
	if o.in == "" {
		field, err = picture.Read(bytes.NewReader(channel))
	} else {
		name = o.in
		var file *os.File
		if file, err = os.Open(o.in); err != nil {
			return nil, fmt.Errorf("--in: %w", err)
		}
		defer file.Close()
		field, err = picture.Read(file)
	}
	if err != nil {
		return nil, fmt.Errorf("--in %s: %w", name, err)
	}
	if ranks > field.Height {
		return nil, fmt.Errorf("%d ranks for %d rows: every rank needs a row of its own, start at most %d", ranks, field.Height, field.Height)
	}
	if o.out != "" {
		if err := os.MkdirAll(o.out, 0o755); err != nil {
			return nil, fmt.Errorf("--out: %w", err)
		}
	}
	return field, nil
}

// sequential is what one rank found alone.
type sequential struct {
	spent    time.Duration
	checksum uint64
}

// computeAlone runs the whole field on this rank.
func computeAlone(field *picture.Field, steps int) (sequential, error) {
	s, err := d2q9.NewStrip(field.Width, 0, field.Solid)
	if err != nil {
		return sequential{}, err
	}
	p := newProgress("one rank alone", steps)
	defer p.clear()
	start := time.Now()
	for step := range steps {
		s.StepInner()
		s.WallUp()
		s.WallDown()
		s.StepEdges()
		p.show(step + 1)
	}
	return sequential{time.Since(start), s.Checksum()}, nil
}

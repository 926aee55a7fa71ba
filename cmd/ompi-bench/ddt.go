package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/patterns"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
	"github.com/ompi-go/ompi-go/ompi"
)

// layouts measures the ping-pong of ranks 0 and 1 with every chosen layout, in microseconds one way: once with a datatype at both ends,
// and for comparison with loops that pack and unpack around a contiguous message.
func (b *bench) layouts() ([]report.Row, error) { return rows(b, b.chosen(), b.layout) }

// chosen are the layouts whose size is within -m.
func (b *bench) chosen() []patterns.Layout {
	lo, hi := b.test.Bounds(b.cmd.params)
	return slices.DeleteFunc(patterns.All(), func(l patterns.Layout) bool {
		n := int64(l.Bytes())
		return n < lo || n > hi
	})
}

// layout checks one layout, then measures it.
func (b *bench) layout(l patterns.Layout) (report.Row, error) {
	e := exchange{bench: b, layout: l}
	if b.rank < 2 {
		if err := e.prepare(); err != nil {
			return report.Row{}, err
		}
		if err := e.check(); err != nil {
			return report.Row{}, err
		}
	}
	size := int64(l.Bytes())
	typed, err := b.repeat(func(_ *bench, _, iterations int) (float64, error) { return e.typed(iterations) }, size)
	if err != nil {
		return report.Row{}, err
	}
	packed, err := b.repeat(func(_ *bench, _, iterations int) (float64, error) { return e.packed(iterations) }, size)
	if err != nil {
		return report.Row{}, err
	}
	row := report.NewRow(size, b.test.Unit, typed)
	row.Case, row.Checksum = l.Name, fmt.Sprintf("%016x", l.Checksum())
	row.More = map[string]float64{suite.HandPacked: report.Summarise(packed).Median}
	return row, nil
}

// exchange is the ping-pong of one layout.
type exchange struct {
	*bench
	layout  patterns.Layout
	mem, in []byte      // what is sent from and received into
	out, to ompi.Buffer // the same with the datatype
}

func (e *exchange) prepare() error {
	t, err := e.layout.Type()
	if err != nil {
		return err
	}
	e.mem, e.in = make([]byte, e.layout.Span), make([]byte, e.layout.Span)
	patterns.Fill(e.mem)
	e.out, e.to = ompi.Typed(e.layout.At(e.mem), 1, t), ompi.Typed(e.layout.At(e.in), 1, t)
	return nil
}

// check exchanges one message and compares what came, byte by byte, with what loops would have put there.
func (e *exchange) check() error {
	peer := 1 - e.rank
	if _, err := e.world.Sendrecv(e.out, peer, 1, e.to, peer, 1); err != nil {
		return err
	}
	return e.layout.Check(e.in)
}

func (e *exchange) typed(iterations int) (float64, error) {
	if e.rank > 1 {
		return 0, nil
	}
	return e.rounds(iterations, func(peer int) error {
		return e.world.Send(e.out, peer, 1)
	}, func(peer int) error {
		_, err := e.world.Recv(e.to, peer, 1)
		return err
	})
}

func (e *exchange) packed(iterations int) (float64, error) {
	if e.rank > 1 {
		return 0, nil
	}
	n := e.layout.Bytes()
	out, in := ompi.Slice(e.bench.send[:n]), ompi.Slice(e.recv[:n])
	return e.rounds(iterations, func(peer int) error {
		e.layout.Pack(e.mem, e.bench.send)
		return e.world.Send(out, peer, 1)
	}, func(peer int) error {
		if _, err := e.world.Recv(in, peer, 1); err != nil {
			return err
		}
		e.layout.Unpack(e.recv, e.in)
		return nil
	})
}

// rounds plays ping-pong and gives the microseconds one way.
func (e *exchange) rounds(iterations int, send, recv func(peer int) error) (float64, error) {
	peer, first, second := 1-e.rank, send, recv
	if e.rank == 1 {
		first, second = recv, send
	}
	start := time.Now()
	for range iterations {
		if err := first(peer); err != nil {
			return 0, err
		}
		if err := second(peer); err != nil {
			return 0, err
		}
	}
	return micros(start, 2*iterations), nil
}

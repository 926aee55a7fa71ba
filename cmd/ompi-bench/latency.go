package main

import (
	"errors"
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
	"github.com/ompi-go/ompi-go/ompi"
)

// latency is the ping-pong of ranks 0 and 1, in microseconds one way.
func (b *bench) latency(size, iterations int) (float64, error) {
	if b.rank > 1 {
		return 0, nil
	}
	return b.pingPong(1-b.rank, b.rank == 0, size, iterations)
}

// multiLat is the mean ping-pong of all pairs at once: ranks of the first half with those of the second.
func (b *bench) multiLat(size, iterations int) (float64, error) {
	pairs := b.ranks / 2
	peer, first := b.pair()
	mine, err := b.pingPong(peer, first, size, iterations)
	if err != nil {
		return 0, err
	}
	if !first {
		mine = 0
	}
	return b.mean(mine, pairs)
}

// pair gives the other rank of this rank's pair, and whether this one begins.
func (b *bench) pair() (peer int, first bool) {
	pairs := b.ranks / 2
	if b.rank < pairs {
		return b.rank + pairs, true
	}
	return b.rank - pairs, false
}

func (b *bench) pingPong(peer int, first bool, size, iterations int) (float64, error) {
	out, in := ompi.Slice(b.send[:size]), ompi.Slice(b.recv[:size])
	world := b.world
	start := time.Now()
	for range iterations {
		if first {
			if err := world.Send(out, peer, 1); err != nil {
				return 0, err
			}
			if _, err := world.Recv(in, peer, 1); err != nil {
				return 0, err
			}
			continue
		}
		if _, err := world.Recv(in, peer, 1); err != nil {
			return 0, err
		}
		if err := world.Send(out, peer, 1); err != nil {
			return 0, err
		}
	}
	return micros(start, 2*iterations), nil
}

// latencyMT is the ping-pong between one sender at rank 0 and several receivers at rank 1 that all wait for the same tag.
func (b *bench) latencyMT(size, iterations int) (float64, error) {
	switch b.rank {
	case 0:
		return b.senderMT(size, iterations)
	case 1:
		return 0, b.receiversMT(size, iterations)
	}
	return 0, nil
}

func (b *bench) senderMT(size, iterations int) (float64, error) {
	out, in := ompi.Slice(b.send[:size]), ompi.Slice(b.recv[:size])
	start := time.Now()
	for range iterations {
		if err := b.world.Send(out, 1, 1); err != nil {
			return 0, err
		}
		if _, err := b.world.Recv(in, 1, 2); err != nil {
			return 0, err
		}
	}
	return micros(start, 2*iterations), nil
}

func (b *bench) receiversMT(size, iterations int) error {
	const n = suite.ReceiverThreads
	done := make(chan error, n)
	for t := range n {
		rounds := iterations / n
		if t < iterations%n {
			rounds++
		}
		// every goroutine its own part: two receives may not fill the same memory
		in := ompi.Slice(b.recv[t*size : (t+1)*size])
		go func() {
			done <- b.answer(in, ompi.Slice(b.send[:size]), rounds)
		}()
	}
	var errs []error
	for range n {
		errs = append(errs, <-done)
	}
	return errors.Join(errs...)
}

func (b *bench) answer(in, out ompi.Buffer, rounds int) error {
	for range rounds {
		if _, err := b.world.Recv(in, 0, 1); err != nil {
			return err
		}
		if err := b.world.Send(out, 0, 2); err != nil {
			return err
		}
	}
	return nil
}

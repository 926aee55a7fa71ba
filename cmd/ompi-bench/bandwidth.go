package main

import (
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
	"github.com/ompi-go/ompi-go/ompi"
)

// bw streams windows of messages from rank 0 to rank 1, in MB/s of 1,000,000 bytes.
func (b *bench) bw(size, iterations int) (float64, error) {
	if b.rank > 1 {
		return 0, nil
	}
	seconds, err := b.stream(1-b.rank, b.rank == 0, size, iterations)
	return megabytes(size, iterations) / seconds, err
}

// mbwMR streams in all pairs at once; the rate is that of the mean sender's time.
func (b *bench) mbwMR(size, iterations int) (float64, error) {
	pairs := b.ranks / 2
	peer, sender := b.pair()
	seconds, err := b.stream(peer, sender, size, iterations)
	if err != nil {
		return 0, err
	}
	if !sender {
		seconds = 0
	}
	mean, err := b.mean(seconds, pairs)
	if err != nil || b.rank != 0 {
		return 0, err
	}
	return megabytes(size, iterations) * float64(pairs) / mean, nil
}

func megabytes(size, iterations int) float64 {
	return float64(size) * suite.Window * float64(iterations) / 1e6
}

// stream runs one direction: a window of messages, then a four-byte answer. It gives seconds.
func (b *bench) stream(peer int, sender bool, size, iterations int) (float64, error) {
	const data, answer = 100, 101
	world, reqs := b.world, b.reqs[:suite.Window]
	out, in := ompi.Slice(b.send[:size]), ompi.Slice(b.recv[:size])
	ackOut, ackIn := ompi.Slice(b.send[:4]), ompi.Slice(b.recv[:4])
	start := time.Now()
	for range iterations {
		for w := range reqs {
			if sender {
				reqs[w] = world.Isend(out, peer, data)
			} else {
				reqs[w] = world.Irecv(in, peer, data)
			}
		}
		if err := ompi.WaitAll(reqs...); err != nil {
			return 0, err
		}
		if sender {
			if _, err := world.Recv(ackIn, peer, answer); err != nil {
				return 0, err
			}
		} else if err := world.Send(ackOut, peer, answer); err != nil {
			return 0, err
		}
	}
	return time.Since(start).Seconds(), nil
}

// bibw streams windows both ways at once and counts both.
func (b *bench) bibw(size, iterations int) (float64, error) {
	if b.rank > 1 {
		return 0, nil
	}
	peer := 1 - b.rank
	world, reqs := b.world, b.reqs[:2*suite.Window]
	out, in := ompi.Slice(b.send[:size]), ompi.Slice(b.recv[:size])
	start := time.Now()
	for range iterations {
		for w := range suite.Window {
			reqs[w] = world.Irecv(in, peer, 100+peer)
		}
		for w := range suite.Window {
			reqs[suite.Window+w] = world.Isend(out, peer, 100+b.rank)
		}
		if err := ompi.WaitAll(reqs...); err != nil {
			return 0, err
		}
	}
	return 2 * megabytes(size, iterations) / time.Since(start).Seconds(), nil
}

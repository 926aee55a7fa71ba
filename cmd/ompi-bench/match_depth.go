package main

import (
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// matchDepth posts `depth` receives with distinct tags and has them matched in reverse order, in microseconds a message: a list that is
// searched from its head costs depth/2 steps each.
func (b *bench) matchDepth(depth, iterations int) (float64, error) {
	if b.rank > 1 || depth == 0 {
		return 0, nil
	}
	out := ompi.Slice(b.send[:8])
	if b.rank == 1 {
		in := ompi.Slice(b.recv[:8])
		for range iterations {
			if _, err := b.world.Recv(in, 0, depth); err != nil {
				return 0, err
			}
			for tag := depth - 1; tag >= 0; tag-- {
				if err := b.world.Send(out, 0, tag); err != nil {
					return 0, err
				}
			}
		}
		return 0, nil
	}
	reqs := make([]ompi.Request, depth)
	var spent time.Duration
	for range iterations {
		for tag := range reqs {
			reqs[tag] = b.world.Irecv(ompi.Slice(b.recv[8*tag:8*tag+8]), 1, tag)
		}
		start := time.Now()
		if err := b.world.Send(out, 1, depth); err != nil {
			return 0, err
		}
		if err := ompi.WaitAll(reqs...); err != nil {
			return 0, err
		}
		spent += time.Since(start)
	}
	return spent.Seconds() * 1e6 / float64(iterations) / float64(depth), nil
}

package main

import (
	"time"
	"unsafe"

	"github.com/ompi-go/ompi-go/ompi"
)

// barrier and the other collectives give microseconds a call, mean over the ranks.
func (b *bench) barrier(_, iterations int) (float64, error) {
	start := time.Now()
	for range iterations {
		if err := b.world.Barrier(); err != nil {
			return 0, err
		}
	}
	return b.mean(micros(start, iterations), b.ranks)
}

// bcast times every call and lets an untimed barrier follow: a root that may run ahead would hide the time until the last rank has the
// data.
func (b *bench) bcast(size, iterations int) (float64, error) {
	buffer := ompi.Slice(b.send[:size])
	var spent time.Duration
	for range iterations {
		start := time.Now()
		if err := b.world.Bcast(buffer, 0); err != nil {
			return 0, err
		}
		spent += time.Since(start)
		if err := b.world.Barrier(); err != nil {
			return 0, err
		}
	}
	return b.mean(spent.Seconds()*1e6/float64(iterations), b.ranks)
}

// allreduce adds single-precision numbers.
func (b *bench) allreduce(size, iterations int) (float64, error) {
	send, recv := floats(b.send, size), floats(b.recv, size)
	out, in := ompi.Slice(send), ompi.Slice(recv)
	start := time.Now()
	for range iterations {
		if err := b.world.Allreduce(out, in, ompi.Sum); err != nil {
			return 0, err
		}
	}
	return b.mean(micros(start, iterations), b.ranks)
}

// floats sees the first size bytes of a buffer, which begins aligned, as numbers.
func floats(b []byte, size int) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), size/4)
}

// alltoall sends size bytes to every rank.
func (b *bench) alltoall(size, iterations int) (float64, error) {
	out, in := ompi.Slice(b.send[:size*b.ranks]), ompi.Slice(b.recv[:size*b.ranks])
	start := time.Now()
	for range iterations {
		if err := b.world.Alltoall(out, in); err != nil {
			return 0, err
		}
	}
	return b.mean(micros(start, iterations), b.ranks)
}

package main

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/ompi"
)

// arguments are what the collectives of one size take, made before the clock runs. A block is size bytes; there is one for every
// rank, or for both neighbours on the ring.
type arguments struct {
	one, oneIn     ompi.Buffer   // one block to send, one to receive
	all, allIn     ompi.Buffer   // all blocks
	each, eachIn   []ompi.Buffer // all blocks, one by one
	counts, displs []int         // of the blocks, in bytes
	sums, sumsIn   ompi.Buffer   // one block of single-precision numbers
	allSums        ompi.Buffer   // all blocks of numbers
	share          ompi.Buffer   // this rank's part of one block of numbers
	shares         []int         // everybody's part, in numbers
}

func (b *bench) arguments(size int) *arguments {
	blocks := b.ranks
	if b.test.Collective.Neighbours {
		blocks = 2
	}
	a := &arguments{
		one: ompi.Slice(b.send[:size]), oneIn: ompi.Slice(b.recv[:size]),
		sums: ompi.Slice(floats(b.send, size)), sumsIn: ompi.Slice(floats(b.recv, size)),
	}
	if b.test.PerPeer || b.test.Collective.Neighbours {
		a.all, a.allIn = ompi.Slice(b.send[:size*blocks]), ompi.Slice(b.recv[:size*blocks])
		a.allSums = ompi.Slice(floats(b.send, size/4*4*blocks))
		for i := range blocks {
			a.counts, a.displs = append(a.counts, size), append(a.displs, i*size)
			a.each = append(a.each, ompi.Slice(b.send[i*size:(i+1)*size]))
			a.eachIn = append(a.eachIn, ompi.Slice(b.recv[i*size:(i+1)*size]))
		}
	}
	a.shares = shares(size/4, b.ranks)
	a.share = ompi.Slice(floats(b.recv, 4*a.shares[b.rank]))
	return a
}

// shares divides n numbers among ranks; the first ones get the rest.
func shares(n, ranks int) []int {
	all := make([]int, ranks)
	for i := range all {
		all[i] = n / ranks
		if i < n%ranks {
			all[i]++
		}
	}
	return all
}

// floats sees the first size bytes of a buffer, which begins aligned, as numbers.
func floats(b []byte, size int) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), size/4)
}

package basic

import (
	"sync/atomic"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/pml"
)

// module serves one communicator.
type module struct {
	pml  pml.Module
	opts *Options
	comm *core.Comm
	ch   *core.Channel
	rank int
	size int

	// spare is the call of the last operation, for the next one. Collectives of one communicator follow each other, so one is
	// enough; should two overlap, the second makes its own.
	spare atomic.Pointer[call]
}

// Tags. One an operation, so that ranks that disagree about which operation comes next do not take each other's messages.
const (
	tagBarrier = 1 + iota
	tagBcast
	tagReduce
	tagAllreduce
	tagGather
	tagGatherv
	tagScatter
	tagScatterv
	tagAllgather
	tagAllgatherv
	tagAlltoall
	tagAlltoallv
)

// begin starts an operation.
func (m *module) begin(tag int) *call {
	c := m.spare.Swap(nil)
	if c == nil {
		c = &call{m: m}
	}
	c.tag = tag
	return c
}

// Close implements coll.Module.
func (m *module) Close() error {
	m.spare.Store(nil)
	return nil
}

// ceilPow2 is the least power of two that is not below n.
func ceilPow2(n int) int {
	p := 1
	for p < n {
		p <<= 1
	}
	return p
}

// floorPow2 is the greatest power of two that is not above n, for n >= 1.
func floorPow2(n int) int {
	p := 1
	for p <= n/2 {
		p <<= 1
	}
	return p
}

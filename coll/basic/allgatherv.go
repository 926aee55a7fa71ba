package basic

import "github.com/ompi-go/ompi-go/core"

// Allgatherv collects blocks of different sizes everywhere, around the ring.
func (m *module) Allgatherv(send, recv core.Buffer, counts, displs []int) error {
	c := m.begin(tagAllgatherv)
	displs = c.displacements(counts, displs)
	block := func(i int) core.Buffer { return part(recv, int64(displs[i]), int64(counts[i])) }
	n, rank := m.size, m.rank
	if !send.IsInPlace() {
		c.copy(block(rank), send)
	}
	for s := range n - 1 {
		c.ringStep(block((rank-s+n)%n), (rank+1)%n, block((rank-s-1+n)%n), (rank-1+n)%n)
	}
	return c.end()
}

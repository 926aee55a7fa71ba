package basic

import "github.com/ompi-go/ompi-go/core"

// Alltoallv is Alltoall with blocks of different sizes. In place the counts and displacements of the receiving side hold for
// both, and any two ranks agree about the size of what they exchange (MPI-3.1 §5.8). Empty blocks send no message.
func (m *module) Alltoallv(send core.Buffer, sendCounts, sendDispls []int, recv core.Buffer, recvCounts, recvDispls []int) error {
	c := m.begin(tagAlltoallv)
	recvDispls = c.displacements(recvCounts, recvDispls)
	in := func(i int) core.Buffer { return part(recv, int64(recvDispls[i]), int64(recvCounts[i])) }
	if send.IsInPlace() {
		for s := range m.size {
			if peer := c.swapPeer(s); peer != m.rank {
				c.swap(in(peer), peer)
			}
		}
		return c.end()
	}
	sendDispls = c.displacements(sendCounts, sendDispls)
	out := func(i int) core.Buffer { return part(send, int64(sendDispls[i]), int64(sendCounts[i])) }
	c.copy(in(m.rank), out(m.rank))
	for s := 1; s < m.size; s++ {
		to, from := (m.rank+s)%m.size, (m.rank-s+m.size)%m.size
		c.ringStep(out(to), to, in(from), from)
	}
	return c.end()
}

package basic

import "github.com/ompi-go/ompi-go/core"

// Scatterv deals out blocks of different sizes; counts and displs matter at the root only. Empty blocks send no message.
func (m *module) Scatterv(send core.Buffer, counts, displs []int, recv core.Buffer, root int) error {
	c := m.begin(tagScatterv)
	if m.rank != root {
		if recv.Bytes() > 0 {
			c.recv(recv, root)
		}
		return c.end()
	}
	displs = c.displacements(counts, displs)
	for i, n := range counts {
		block := part(send, int64(displs[i]), int64(n))
		switch {
		case i != root && block.Bytes() > 0:
			c.isend(block, i)
		case i == root && !recv.IsInPlace():
			c.copy(recv, block)
		}
	}
	return c.end()
}

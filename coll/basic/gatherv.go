package basic

import "github.com/ompi-go/ompi-go/core"

// Gatherv collects blocks of different sizes; counts and displs matter at the root only. Empty blocks send no message.
func (m *module) Gatherv(send, recv core.Buffer, counts, displs []int, root int) error {
	c := m.begin(tagGatherv)
	if m.rank != root {
		if send.Bytes() > 0 {
			c.send(send, root)
		}
		return c.end()
	}
	displs = c.displacements(counts, displs)
	for i, n := range counts {
		block := part(recv, int64(displs[i]), int64(n))
		switch {
		case i != root && block.Bytes() > 0:
			c.irecv(block, i)
		case i == root && !send.IsInPlace():
			c.copy(block, send)
		}
	}
	return c.end()
}

package basic

// Barrier is the dissemination barrier: in round k everybody tells the rank 2^k further on. After ceil(log2 n) rounds each rank
// has heard, directly or not, of all.
func (m *module) Barrier() error {
	if m.size == 1 {
		return nil
	}
	c := m.begin(tagBarrier)
	for d := 1; d < m.size; d <<= 1 {
		c.exchange(nothing(), (m.rank+d)%m.size, nothing(), (m.rank-d+m.size)%m.size)
	}
	return c.end()
}

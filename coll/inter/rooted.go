package inter

import "github.com/ompi-go/ompi-go/core"

// Bcast implements coll.Bcaster: the root sends to the other group's leader, which spreads it.
func (m *module) Bcast(buf core.Buffer, root int) error {
	s := m.begin(tagBcast)
	switch root {
	case core.ProcNull:
	case core.Root:
		s.send(buf, leader)
	default:
		if m.leads() {
			s.recv(buf, root)
		}
		s.locally(func() error { return m.local.Bcast.Bcast(buf, leader) })
	}
	return s.end()
}

// Reduce implements coll.Reducer: the group without the root reduces to its leader, which sends the result.
func (m *module) Reduce(send, recv core.Buffer, op *core.Op, root int) error {
	s := m.begin(tagReduce)
	switch root {
	case core.ProcNull:
	case core.Root:
		s.recv(recv, leader)
	default:
		if result := s.reduceHere(send, op); m.leads() {
			s.send(result, root)
		}
	}
	return s.end()
}

// reduceHere gives the leader what the local group's buffers combine to; nothing to the others.
func (s *steps) reduceHere(send core.Buffer, op *core.Op) core.Buffer {
	m := s.m
	result := nothing()
	if m.leads() {
		result = s.typed(send.Type(), send.Count())
	}
	if send.Bytes() > 0 {
		s.locally(func() error { return m.local.Reduce.Reduce(send, result, op, leader) })
	}
	return result
}

// Gather implements coll.Gatherer: everybody sends to the root.
func (m *module) Gather(send, recv core.Buffer, root int) error {
	return m.gather(send, root, func(i int) core.Buffer { return block(recv, i, m.theirs) })
}

// Gatherv implements coll.Gatherver.
func (m *module) Gatherv(send, recv core.Buffer, counts, displs []int, root int) error {
	if root == core.Root {
		displs = displacements(counts, displs)
	}
	return m.gather(send, root, func(i int) core.Buffer { return part(recv, int64(displs[i]), int64(counts[i])) })
}

func (m *module) gather(send core.Buffer, root int, place func(i int) core.Buffer) error {
	s := m.begin(tagGather)
	switch root {
	case core.ProcNull:
	case core.Root:
		for i := range m.theirs {
			s.recv(place(i), i)
		}
	default:
		s.send(send, root)
	}
	return s.end()
}

// Scatter implements coll.Scatterer: the root sends to everybody.
func (m *module) Scatter(send, recv core.Buffer, root int) error {
	return m.scatter(recv, root, func(i int) core.Buffer { return block(send, i, m.theirs) })
}

// Scatterv implements coll.Scatterver.
func (m *module) Scatterv(send core.Buffer, counts, displs []int, recv core.Buffer, root int) error {
	if root == core.Root {
		displs = displacements(counts, displs)
	}
	return m.scatter(recv, root, func(i int) core.Buffer { return part(send, int64(displs[i]), int64(counts[i])) })
}

func (m *module) scatter(recv core.Buffer, root int, piece func(i int) core.Buffer) error {
	s := m.begin(tagScatter)
	switch root {
	case core.ProcNull:
	case core.Root:
		for i := range m.theirs {
			s.send(piece(i), i)
		}
	default:
		s.recv(recv, root)
	}
	return s.end()
}

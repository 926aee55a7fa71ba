package inter

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// Barrier implements coll.Barrierer: all of a group have come before its leader says so, and none leaves before the other leader
// has.
func (m *module) Barrier() error {
	s := m.begin(tagBarrier)
	s.locally(m.local.Barrier.Barrier)
	s.swap(nothing(), nothing())
	s.locally(m.local.Barrier.Barrier)
	return s.end()
}

// swap exchanges a message between the leaders.
func (s *steps) swap(send, recv core.Buffer) {
	if s.m.leads() {
		s.recv(recv, leader)
		s.send(send, leader)
		s.wait()
	}
}

// Allreduce implements coll.Allreducer: each group gets what the other's buffers combine to.
func (m *module) Allreduce(send, recv core.Buffer, op *core.Op) error {
	s := m.begin(tagAllreduce)
	s.swap(s.reduceHere(send, op), recv)
	s.locally(func() error { return m.local.Bcast.Bcast(recv, leader) })
	return s.end()
}

// Allgather implements coll.Allgatherer: each group gets the other's buffers.
func (m *module) Allgather(send, recv core.Buffer) error {
	return m.allgather(send, func(i int) core.Buffer { return block(recv, i, m.theirs) })
}

// Allgatherv implements coll.Allgatherver.
func (m *module) Allgatherv(send, recv core.Buffer, counts, displs []int) error {
	displs = displacements(counts, displs)
	return m.allgather(send, func(i int) core.Buffer { return part(recv, int64(displs[i]), int64(counts[i])) })
}

// allgather gathers the packed buffers of a group at its leader and spreads what comes for them. Who receives knows the sizes of
// the blocks, so only the sender's group has to find out about its own.
func (m *module) allgather(send core.Buffer, place func(i int) core.Buffer) error {
	s := m.begin(tagAllgather)
	own := pack(send)
	sizes := make([]int64, m.mine)
	size := own.Count()
	s.locally(func() error { return m.local.Gather.Gather(int64s(&size, 1), int64s(&sizes[0], m.mine), leader) })
	var all core.Buffer
	counts := make([]int, m.mine)
	if m.leads() {
		total := int64(0)
		for i, n := range sizes {
			counts[i] = int(n)
			total += n
		}
		all = bytes(total)
	}
	s.locally(func() error { return m.local.Gatherv.Gatherv(own, all, counts, nil, leader) })
	expected := int64(0)
	for i := range m.theirs {
		expected += place(i).Bytes()
	}
	came := bytes(expected)
	s.swap(all, came)
	if expected > 0 {
		s.locally(func() error { return m.local.Bcast.Bcast(came, leader) })
	}
	if s.over {
		return s.end()
	}
	at := int64(0)
	for i := range m.theirs {
		b := place(i)
		s.unpack(b, part(came, at, b.Bytes()))
		at += b.Bytes()
	}
	return s.end()
}

func int64s(p *int64, n int) core.Buffer {
	return core.MakeBuffer(unsafe.Pointer(p), int64(n), datatype.Int64)
}

// Alltoall implements coll.Alltoaller: a block for each rank of the remote group, and one from each.
func (m *module) Alltoall(send, recv core.Buffer) error {
	return m.alltoall(func(i int) core.Buffer { return block(send, i, m.theirs) }, func(i int) core.Buffer { return block(recv, i, m.theirs) })
}

// Alltoallv implements coll.Alltoallver.
func (m *module) Alltoallv(send core.Buffer, sendCounts, sendDispls []int, recv core.Buffer, recvCounts, recvDispls []int) error {
	sendDispls, recvDispls = displacements(sendCounts, sendDispls), displacements(recvCounts, recvDispls)
	return m.alltoall(
		func(i int) core.Buffer { return part(send, int64(sendDispls[i]), int64(sendCounts[i])) },
		func(i int) core.Buffer { return part(recv, int64(recvDispls[i]), int64(recvCounts[i])) })
}

// Alltoallw is Alltoall with a buffer for each rank.
func (m *module) Alltoallw(send, recv []core.Buffer) error {
	return m.alltoall(func(i int) core.Buffer { return send[i] }, func(i int) core.Buffer { return recv[i] })
}

// alltoall goes round the larger group: in each turn everybody sends to one rank and receives from one, where there is one.
func (m *module) alltoall(out, in func(i int) core.Buffer) error {
	s := m.begin(tagAlltoall)
	n := max(m.mine, m.theirs)
	for turn := range n {
		if from := (m.rank - turn + n) % n; from < m.theirs {
			s.recv(in(from), from)
		}
		if to := (m.rank + turn) % n; to < m.theirs {
			s.send(out(to), to)
		}
		s.wait()
	}
	return s.end()
}

// ReduceScatter scatters in each group what the other's buffers combine to; counts are of the local group.
func (m *module) ReduceScatter(send, recv core.Buffer, counts []int, op *core.Op) error {
	s := m.begin(tagReduceScatter)
	total := int64(0)
	for _, n := range counts {
		total += int64(n)
	}
	result := s.reduceHere(send, op)
	came := nothing()
	if m.leads() {
		came = s.typed(send.Type(), total)
	}
	s.swap(result, came)
	if total > 0 {
		s.locally(func() error { return m.local.Scatterv.Scatterv(came, counts, nil, recv, leader) })
	}
	return s.end()
}

// ReduceScatterBlock is ReduceScatter with blocks of one size: that of recv.
func (m *module) ReduceScatterBlock(send, recv core.Buffer, op *core.Op) error {
	counts := make([]int, m.mine)
	for i := range counts {
		counts[i] = int(recv.Count())
	}
	return m.ReduceScatter(send, recv, counts, op)
}

// Scan has no meaning here (MPI-3.1 §5.2.2).
func (m *module) Scan(send, recv core.Buffer, op *core.Op) error { return m.undefined("Scan") }

// Exscan has no meaning here.
func (m *module) Exscan(send, recv core.Buffer, op *core.Op) error { return m.undefined("Exscan") }

func (m *module) undefined(op string) error {
	return core.NewError(core.ErrComm, "%s is not defined on an intercommunicator", op)
}

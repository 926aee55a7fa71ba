package sm

import "github.com/ompi-go/ompi-go/core"

// Bcast implements coll.Bcaster: the root writes the data once, with its number behind it; all others wait for the number.
func (m *module) Bcast(buf core.Buffer, root int) error {
	n := buf.Bytes()
	if n == 0 {
		return nil
	}
	if n > m.f.opts.MaxData {
		return m.below.Bcast.Bcast(buf, root)
	}
	if on, err := m.useBoard(); !on {
		if err != nil {
			return err
		}
		return m.below.Bcast.Bcast(buf, root)
	}
	from := m.f.Begin(boardBcast)
	m.casts++
	var err error
	if m.rank == root {
		err = m.castOut(buf)
	} else {
		err = m.castIn(buf, root)
	}
	m.f.End(from, boardBcast, n)
	return err
}

// rootShift is where the root stands in the length of a broadcast.
const rootShift = 32

// castOut writes the present broadcast.
func (m *module) castOut(buf core.Buffer) error {
	if m.casts > m.allRead+castBuffers {
		if err := m.awaitRoom(m.casts - castBuffers); err != nil {
			return err
		}
	}
	c := m.board.cast(m.casts)
	last := uint64(0)
	if m.casts > castBuffers {
		last = m.casts - castBuffers
	}
	if !c.claim.CompareAndSwap(last, m.casts) {
		m.board.read(m.rank).Store(m.casts)
		return core.NewError(core.ErrRoot, "another rank is the root of this bcast, too")
	}
	*c.length = uint64(buf.Bytes()) | uint64(m.rank)<<rootShift
	m.pack(c.data, buf)
	c.seq.Store(m.casts)
	m.board.read(m.rank).Store(m.casts)
	m.ringAll()
	m.polled(false)
	return nil
}

// awaitRoom waits until all have read the first want broadcasts.
func (m *module) awaitRoom(want uint64) error {
	m.want = want
	if m.allRead = m.board.leastRead(m.size); m.allRead >= want {
		return nil
	}
	// No other root can wait at the same time: a later one has the present broadcast still to read.
	m.board.blocked.Store(uint64(m.rank) + 1)
	m.engine.WaitOutside((*roomCond)(m), m.size)
	m.polled(true)
	m.board.blocked.Store(0)
	if m.allRead = m.board.leastRead(m.size); m.allRead < want {
		return m.comm.Fault().Err
	}
	return nil
}

// castIn reads the present broadcast.
func (m *module) castIn(buf core.Buffer, root int) error {
	c := m.board.cast(m.casts)
	if c.seq.Load() != m.casts {
		m.engine.WaitOutside((*castCond)(m), m.size)
		m.polled(true)
		if c.seq.Load() != m.casts {
			return m.comm.Fault().Err
		}
	} else {
		m.polled(false)
	}
	var err error
	length := *c.length
	n := int64(min(length&(1<<rootShift-1), uint64(m.board.room)))
	if from := length >> rootShift; from != uint64(root) {
		err, n = core.NewError(core.ErrRoot, "bcast from root %d, but rank %d sends as the root", root, from), 0
	}
	if room := buf.Bytes(); n > room {
		err = core.NewError(core.ErrTruncate, "broadcast of %d bytes into a buffer of %d bytes", n, room)
		n = room
	}
	m.unpack(buf, c.data, n)
	m.board.read(m.rank).Store(m.casts)
	if who := m.board.blocked.Load(); who != 0 {
		m.ringRank(int(who - 1))
	}
	return err
}

// ringRank wakes a root that waits for room. The number comes from shared memory, so it is not trusted.
func (m *module) ringRank(r int) {
	if i := (r - m.rank + m.size) % m.size; r >= 0 && r < m.size && i > 0 {
		m.f.shm.Ring(m.peers[i-1])
	}
}

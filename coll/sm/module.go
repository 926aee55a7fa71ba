package sm

import (
	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/progress"
	"github.com/ompi-go/ompi-go/shm"
)

// module serves one communicator. Its members call collectives one at a time and in the same order (MPI-3.1 §5.1), so everything
// here but the board belongs to the goroutine inside the present call.
type module struct {
	f      *factory
	comm   *core.Comm
	engine *progress.Engine
	below  *coll.Table
	rank   int
	size   int
	peers  []*shm.Peer // the other members

	state  state
	calls  int // while new: operations so far that could have used a board
	leader int // job rank whose memory holds the board
	piece  shm.Piece
	board  board

	purpose purpose
	early   bool   // it went on after a reduce without waiting for the end of the meeting
	epoch   uint64 // meetings that this rank has come to; all of them are over, but perhaps the last
	full    uint64 // arrivals when all have come to that one, for the same
	casts   uint64 // broadcasts that this rank has begun
	castsAt uint64 // casts when it came to the last meeting: broadcasts that all have read once that is over
	allRead uint64 // broadcasts that all are known to have read
	want    uint64 // broadcasts that all must have read before a root goes on
	unseen  uint32 // operations since the engine was last polled

	conv    datatype.Convertor // of elements with gaps
	acc     []uint64           // of a fold
	tmp     []uint64
	scratch [2][]uint64 // of a fold of elements with gaps
}

// state is how far a module is with its board.
type state uint8

const (
	fresh    state = iota // none yet
	meeting               // it is in use
	declined              // the members agreed to do without
)

// useBoard tells whether the present operation meets on the board; if not, the caller leaves it to the module below, or returns
// the error. Everything it depends on is equal on all members.
func (m *module) useBoard() (bool, error) {
	if m.state != meeting {
		if m.state == declined {
			return false, nil
		}
		if err := m.setUp(); err != nil || m.state != meeting {
			return false, err
		}
	}
	if f := m.comm.Fault(); f != nil {
		return false, f.Err
	}
	if m.early {
		m.early = false
		// That the ranks did not agree about the reduce was told to its root and to who came last; this is the next operation.
		if err := m.awaitRelease(); err != nil && m.comm.Fault() != nil {
			return false, err
		}
	}
	return true, nil
}

// arrive counts the caller in at the next meeting and reports whether it is the last one to come.
func (m *module) arrive(k alg.Kind, bytes int64, root int) bool {
	m.purpose = purpose{k, bytes, root}
	add := sign(k, bytes, root)
	m.epoch++
	m.full += uint64(m.size) * add
	m.castsAt = m.casts
	sum := m.board.arrivals.Add(add)
	if sum&countMask != m.full&countMask {
		return false
	}
	if sum != m.full {
		m.board.oddSum.Store(sum)
		m.board.odd.Store(m.epoch)
	}
	return true
}

// agreed is nil if all came to the meeting for the same. It is asked when all have come.
func (m *module) agreed() error {
	if m.board.odd.Load() != m.epoch {
		return nil
	}
	m.full = m.board.oddSum.Load() // which all go on from
	return m.disagree()
}

// release ends the meeting; its result is written. Only the last one to come calls it.
func (m *module) release() {
	m.board.released.Store(m.epoch)
	m.ringAll()
	m.allRead = m.castsAt
	m.polled(false)
}

// ringAll wakes those of the others that sleep. What they wait for was stored before, and atomic operations are sequentially
// consistent, so that one who has not seen the store is seen asleep.
func (m *module) ringAll() {
	m.f.shm.RingAll(m.peers)
}

// awaitRelease waits until the meeting is over to which the caller has come.
func (m *module) awaitRelease() error {
	if m.board.released.Load() != m.epoch {
		m.engine.WaitOutside((*releaseCond)(m), m.size)
		m.polled(true)
		if m.board.released.Load() != m.epoch {
			return m.comm.Fault().Err
		}
	}
	m.allRead = m.castsAt
	return m.agreed()
}

// Conditions for the engine. They end, too, when the communicator has a fault: a member that is gone will not come.
type (
	releaseCond module // the meeting is over
	castCond    module // the present broadcast is there
	roomCond    module // all have read the broadcasts that m.want says
)

// Done implements progress.Cond.
func (c *releaseCond) Done() bool {
	return c.board.released.Load() == c.epoch || c.comm.Fault() != nil
}

// Done implements progress.Cond.
func (c *castCond) Done() bool {
	return c.board.cast(c.casts).seq.Load() == c.casts || c.comm.Fault() != nil
}

// Done implements progress.Cond.
func (c *roomCond) Done() bool {
	return c.board.leastRead(c.size) >= c.want || c.comm.Fault() != nil
}

// pollEvery is how many operations in a row may find what they wait for without a look at the transports.
const pollEvery = 64

// polled sees to it that messages move on in a rank which never has to wait here: the one that always comes last.
func (m *module) polled(waited bool) {
	if waited {
		m.unseen = 0
		return
	}
	if m.unseen++; m.unseen >= pollEvery {
		m.unseen = 0
		m.engine.Lock()
		m.engine.TryPoll()
		m.engine.Unlock()
	}
}

// Barrier implements coll.Barrierer.
func (m *module) Barrier() error {
	if on, err := m.useBoard(); !on {
		if err != nil {
			return err
		}
		return m.below.Barrier.Barrier()
	}
	return m.meet(alg.Barrier)
}

// Finish implements coll.Finisher.
func (m *module) Finish() error {
	if on, err := m.useBoard(); !on {
		if err != nil {
			return err
		}
		return m.below.Finish.Finish()
	}
	return m.meet(finish)
}

// meet is a meeting without data.
func (m *module) meet(k alg.Kind) error {
	from := m.f.Begin(boardBarrier)
	var err error
	if m.arrive(k, 0, 0) {
		err = m.agreed()
		m.release()
	} else {
		err = m.awaitRelease()
	}
	m.f.End(from, boardBarrier, 0)
	return err
}

package sm

import (
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/ompi-go/ompi-go/coll"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/shm"
)

// firstOnBoard is the operation of a communicator that makes its board, counted from 1. Many communicators see just one, the
// barrier of Free.
const firstOnBoard = 2

// proposal is what rank 0 tells the others about the board: whether there is one, the piece of its memory, the room in it.
type proposal [3]uint64

// setUp makes the board, at the same operation on all members: rank 0 takes memory for it and says where, the others look
// whether they can reach it, and all agree. Afterwards the state says what to do; on an error the communicator is broken.
func (m *module) setUp() error {
	if m.calls++; m.calls < firstOnBoard {
		return nil
	}
	m.leader = m.comm.Procs[0].Rank
	var p proposal
	var why error
	if m.rank == 0 {
		p, why = m.propose()
	}
	if err := m.below.Bcast.Bcast(core.MakeBuffer(unsafe.Pointer(&p), int64(len(p)), datatype.Uint64), 0); err != nil {
		return err
	}
	if m.rank != 0 && p[0] != 0 && m.f.shm != nil {
		why = m.consider(p)
	}
	vote, all := int32(1), int32(0)
	if p[0] == 0 || m.f.shm == nil || why != nil {
		vote = 0 // why a rank has no shared memory at all has been said by the instance
	}
	if err := m.below.Allreduce.Allreduce(one(&vote), one(&all), core.Min); err != nil {
		return err
	}
	if why != nil {
		m.say(why)
	}
	if all == 0 {
		m.decline(p)
		return nil
	}
	for _, p := range m.comm.Procs {
		if err := p.Failed(); err != nil {
			// It may have died just before the instance knew of this communicator, and so have left no fault.
			m.comm.SetFault(&core.Fault{Err: err})
		}
	}
	m.acc = make([]uint64, (m.board.room+7)/8)
	m.tmp = make([]uint64, (m.board.room+7)/8)
	m.state = meeting
	m.f.spread.Do(func() { m.engine.Spread(m.f.shm.Position(m.f.job.Rank())) })
	return nil
}

func one(v *int32) core.Buffer { return core.MakeBuffer(unsafe.Pointer(v), 1, datatype.Int32) }

// propose takes memory for the board.
func (m *module) propose() (proposal, error) {
	if m.f.shm == nil {
		return proposal{}, nil
	}
	m.engine.Lock()
	defer m.engine.Unlock()
	m.f.bury()
	room := m.f.opts.MaxData
	piece, mem, err := m.f.shm.Alloc(boardSize(m.size, room))
	if err != nil {
		return proposal{}, err
	}
	m.piece, m.board = piece, boardAt(mem, room)
	return proposal{1, uint64(piece), uint64(room)}, m.attach()
}

// consider maps the board that rank 0 proposes.
func (m *module) consider(p proposal) error {
	room := m.f.opts.MaxData
	if p[2] != uint64(room) {
		return fmt.Errorf("coll_sm_max_data is %d here and %d at rank %d of the job; set it alike everywhere", room, p[2], m.leader)
	}
	m.engine.Lock()
	defer m.engine.Unlock()
	mem, err := m.f.shm.At(m.leader, shm.Piece(p[1]), boardSize(m.size, room))
	if err != nil {
		return err
	}
	m.board = boardAt(mem, room)
	return m.attach()
}

// attach finds the other members' bells. The token is held.
func (m *module) attach() error {
	m.peers = make([]*shm.Peer, 0, m.size-1)
	// Beginning behind the own rank: the last one to come wakes the others in an order of its own.
	for i := 1; i < m.size; i++ {
		p, err := m.f.shm.Attach(m.comm.Procs[(m.rank+i)%m.size].Rank)
		if err != nil {
			return err
		}
		m.peers = append(m.peers, p)
	}
	return nil
}

// decline does without a board. Nobody has used the proposed one, so it can be given back at once.
func (m *module) decline(p proposal) {
	m.state, m.peers = declined, nil
	if m.rank == 0 && p[0] != 0 {
		m.engine.Lock()
		m.f.shm.Free(m.piece, boardSize(m.size, m.board.room))
		m.engine.Unlock()
	}
	m.board = board{}
}

// say tells the user, once a job where the launcher can see to that, why the members do without shared memory.
func (m *module) say(why error) {
	msg := fmt.Sprintf("collectives on %s do not use shared memory: %v", coll.Title(m.comm), why)
	if r, ok := m.f.job.(interface{ SayOnce(key, msg string) bool }); ok && r.SayOnce("coll sm", msg) {
		return
	}
	fmt.Fprintf(os.Stderr, "ompi: rank %d: %s\n", m.f.job.Rank(), msg)
}

// grave is a board that this rank has made and let go of. It is given back when all members have let go: one may still be on its
// way out of the barrier that Free ends with, reading the word that released it.
type grave struct {
	piece   shm.Piece
	size    int64
	left    *atomic.Uint64
	members uint64
}

// Close implements coll.Module. Adding to left is the last thing that a member does with the board.
func (m *module) Close() error {
	if m.state == meeting {
		left, room := m.board.left, m.board.room
		m.state, m.peers, m.board = declined, nil, board{}
		left.Add(1)
		if m.rank == 0 {
			m.engine.Lock()
			m.f.graves = append(m.f.graves, grave{m.piece, boardSize(m.size, room), left, uint64(m.size)})
			m.f.bury()
			m.engine.Unlock()
		}
	}
	return nil
}

// bury gives back the boards that all members have let go of. What is left at the end goes with the segment. The token is held.
func (f *factory) bury() {
	f.graves = slices.DeleteFunc(f.graves, func(g grave) bool {
		if g.left.Load() != g.members {
			return false
		}
		f.shm.Free(g.piece, g.size)
		return true
	})
}

package portals4

import (
	"time"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/progress"
)

// Recovery from overflow. When a message finds no memory, no header or no event, the receiver's interface disables the portal table entry
// recv and refuses that message and all that follow. The refused have to come again, in order, and nothing may come between: a message
// that its sender puts just when the entry is enabled would overtake those that were refused before. So all ranks
//
//  1. are alerted, by the first that hears of it (whose message was refused, or whose entry was disabled),
//  2. stop beginning sends, and wait until those under way are answered,
//  3. meet in a barrier: now nothing is under way to anybody,
//  4. enable their entries if they were disabled, and prepare the next alert,
//  5. meet in a second barrier: now all entries are enabled,
//  6. send on, refused messages first.
//
// Open MPI goes on after step 4, when its neighbour may not be there yet; then a message can be refused, the next one come in, and the order
// is lost. Receives and gets go on all the time.
//
// Messages that come again are announced, if they are short, as long ones are: the receiver needs no block for them. A peer that
// refuses again and again is left alone for a while that doubles. To a peer that has refused some, a sender has fewer under way, as few as
// one, and more again with each that is taken: all of a full queue sent again for the few that find room would be refused again, and again.
type recovery struct {
	tree     tree
	state    recState
	disabled bool // our entry is
	timer    *progress.Timer
	gone     *peer // a member of the tree that has died
}

type recState uint8

const (
	recIdle     recState = iota
	recCalled            // something was refused; the alert is to come
	recDraining          // sends under way are waited for
	recDrained           // in the first barrier
	recEnabled           // in the second
)

const (
	leastDelay  = 50 * time.Microsecond
	mostDelay   = 20 * time.Millisecond
	leastPoor   = 64
	mostPoor    = 4096
	delaysAfter = 2 // recoveries in a row that it made necessary
)

func (r *recovery) init(m *module) error { return r.tree.init(m) }

// overflow: a message was refused, here or by a peer. Rank 0 is called, once a recovery.
func (m *module) overflow() {
	if m.rec.state != recIdle || m.broken != nil {
		return
	}
	if m.credit.on { // it may have been a message that nobody has kept
		m.breakDown(core.NewError(core.ErrIntern, "mtl portals4: a message was refused for which there was credit"))
		return
	}
	if m.rec.gone != nil {
		m.breakDown(m.rec.broken())
		return
	}
	m.rec.state = recCalled
	n := m.newNote(m.peers[0], m.flowPT.Index(), flowTrigger|uint64(m.me))
	n.drain = true
	m.flying++
	m.putNote(n)
}

// refused: a peer's interface took none of s.
func (m *module) refused(s *sendReq) {
	p := s.p
	m.credit.refund(p, s.proto, s.part)
	m.stats.refusals++
	if round := m.rec.tree.alerts; p.round != round {
		p.round = round
		p.refused++
		p.penalty = min(max(2*p.penalty, leastPoor), mostPoor)
		if p.window == 0 {
			p.window = m.opt.SendSlots
		}
		p.window = max(p.window/4, 1)
	}
	p.poor = p.penalty
	m.enqueue(s)
	m.overflow()
}

// alerted: a recovery begins.
func (m *module) alerted() {
	m.rec.state = recDraining
	m.stats.recoveries++
}

// recover goes on with a recovery.
func (m *module) recover() int {
	if m.rec.state != recDraining || m.flying > 0 {
		return 0
	}
	m.rec.state = recDrained
	m.enter()
	return 1
}

// ready reports whether another message to p may be under way.
func (p *peer) ready() bool { return !p.delayed && (p.window == 0 || p.flying < p.window) }

func (m *module) enter() {
	if err := m.rec.tree.enter(m); err != nil {
		m.breakDown(interfaceError("PtlTriggeredPut", err))
	}
}

// released: all ranks have come to a barrier.
func (m *module) released() {
	switch m.rec.state {
	case recDrained:
		m.rec.state = recEnabled
		if m.rec.disabled {
			m.rec.disabled = false
			if err := m.recvPT.Enable(); err != nil {
				m.breakDown(interfaceError("PtlPTEnable", err))
			}
		}
		if err := m.rec.tree.armAlert(m); err != nil {
			m.breakDown(interfaceError("PtlTriggeredPut", err))
		}
		m.enter()
	case recEnabled:
		m.rec.state = recIdle
		m.delay()
		if m.rec.disabled {
			m.overflow()
		}
	}
}

// delay leaves alone for a while those that refuse again and again.
func (m *module) delay() {
	most := 0
	for p := m.waiting.head; p != nil; p = p.next {
		if p.refused > delaysAfter {
			p.delayed = true
			most = max(most, p.refused-delaysAfter)
		}
	}
	if most > 0 && m.rec.timer == nil {
		m.rec.timer = m.engine.AddTimer(min(leastDelay<<min(most, 20), mostDelay), (*delayOver)(m))
	}
}

// delayOver is the module as the handler of that timer.
type delayOver module

// Expired implements progress.TimerHandler.
func (d *delayOver) Expired() {
	m := (*module)(d)
	m.rec.timer = nil
	for _, p := range m.peers {
		p.delayed = false
	}
	m.pump()
}

func (r *recovery) stop(m *module) {
	if r.timer != nil {
		m.engine.StopTimer(r.timer)
		r.timer = nil
	}
}

// broken is the error of a recovery that cannot be: the tree has lost a member.
func (r *recovery) broken() *core.Error {
	return core.NewError(core.ErrProcFailed, "mtl portals4: recovery from overflow needs all ranks of the job, and rank %d has died; "+
		"with mtl_portals4_flow_control credit a job that goes on after failures needs none", r.gone.proc.Rank)
}

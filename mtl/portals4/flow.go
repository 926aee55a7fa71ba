package portals4

import ptl "github.com/ompi-go/ompi-go/portals4"

// What comes on the portal table entry flow is told by the match bits; the low half is the sender's rank in the job.
const (
	flowShift   = 60
	flowTrigger = 1 << flowShift // an interface refused a message: to rank 0
	flowAlert   = 2 << flowShift // recovery begins: down the tree
	flowIn      = 3 << flowShift // a barrier: up the tree
	flowOut     = 5 << flowShift // down the tree
	flowCredit  = 6 << flowShift // credit given back
	flowStarve  = 7 << flowShift // more is needed
	flowMark    = 9 << flowShift // all before it has come

	flowKind = 0xf << flowShift
	flowRank = 1<<32 - 1
)

// flowEntry links an entry for what matches kind, without memory.
func (m *module) flowEntry(kind uint64, ct *ptl.CT, o ptl.EntryOptions) error {
	if ct != nil {
		o |= ptl.EventCTComm
	}
	_, err := m.flowPT.MEAppend(&ptl.ME{MatchID: ptl.AnyProcess, UID: ptl.AnyUID, MatchBits: kind, IgnoreBits: flowRank, CT: ct,
		Options: o | ptl.OpPut | ptl.EventLinkDisable | ptl.EventUnlinkDisable}, ptl.PriorityList, nil)
	return err
}

// signal puts a word of flow control to p.
func (m *module) signal(p *peer, kind, word uint64) {
	if p.proc.Failed() != nil {
		return
	}
	if p.proc.Rank == m.me { // credit of this rank at itself: no event of that may pile up while nobody drives the engine
		m.flowWord(p, kind, word)
		m.engine.Wake() // what waits for it begins in the next pass
		return
	}
	m.xfer = ptl.Transfer{Target: p.id, PT: m.flowPT.Index(), MatchBits: kind | uint64(m.me), HdrData: word}
	if err := m.mute.Put(&m.xfer); err != nil {
		m.breakDown(interfaceError("PtlPut", err))
	}
}

// flowEvent is an event of that portal table entry.
func (m *module) flowEvent(ev *ptl.Event) {
	if ev.Type == ptl.EventGet { // of a message that is got under its bits
		m.readEvent(ev)
		return
	}
	rank := int(ev.MatchBits & flowRank)
	if ev.Type != ptl.EventPut || rank >= len(m.peers) {
		return
	}
	p := m.peers[rank]
	if ev.Initiator != p.id {
		m.stats.refused++
		return
	}
	m.flowWord(p, ev.MatchBits&flowKind, ev.HdrData)
}

// flowWord is a word of flow control of p.
func (m *module) flowWord(p *peer, kind, word uint64) {
	switch kind {
	case flowCredit:
		m.paid(p, word)
	case flowStarve:
		m.begged(p)
	case flowAlert:
		m.alerted()
	case flowOut:
		m.released()
	}
}

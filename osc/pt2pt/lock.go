package pt2pt

import "github.com/ompi-go/ompi-go/osc"

// lockQueue is the lock of a window's memory at its member: held by one, or shared by several; who asks while it is not to be had waits in the order of asking, so
// that nobody is overtaken. Those who wait beside each other for a shared lock get it together.
type lockQueue struct {
	exclusive *peer
	shared    int
	queue     []*peer
}

// Values of peer.holds.
const (
	holdsNothing = iota
	holdsShared
	holdsExclusive
)

// acquire gives p the lock, or has it wait: false.
func (l *lockQueue) acquire(p *peer, t osc.LockType) bool {
	p.waitType = t
	if len(l.queue) == 0 && l.free(t) {
		l.take(p)
		return true
	}
	p.waits = true
	l.queue = append(l.queue, p)
	return false
}

func (l *lockQueue) free(t osc.LockType) bool {
	return l.exclusive == nil && (t == osc.LockShared || l.shared == 0)
}

func (l *lockQueue) take(p *peer) {
	if p.waitType == osc.LockExclusive {
		l.exclusive = p
		p.holds = holdsExclusive
		return
	}
	l.shared++
	p.holds = holdsShared
}

// release takes the lock from p; false when p does not have it.
func (l *lockQueue) release(p *peer) bool {
	switch p.holds {
	case holdsExclusive:
		l.exclusive = nil
	case holdsShared:
		l.shared--
	default:
		return false
	}
	p.holds = holdsNothing
	return true
}

// next gives the lock to the first who waits, if it can be had now; else nil.
func (l *lockQueue) next() *peer {
	if len(l.queue) == 0 || !l.free(l.queue[0].waitType) {
		return nil
	}
	p := l.queue[0]
	n := copy(l.queue, l.queue[1:])
	l.queue[n] = nil
	l.queue = l.queue[:n]
	p.waits = false
	l.take(p)
	return p
}

package unimem

import (
	"fmt"
	"time"

	"github.com/ompi-go/ompi-go/unimem"
)

// beats is how often a heart beats in the time after which it counts as still.
const beats = 8

// heart is the module as the handler of its timer.
type heart module

func (m *module) startHeart() {
	if m.opt.PeerTimeout > 0 {
		m.heart = m.engine.AddTimer(max(m.opt.PeerTimeout/beats, time.Millisecond), (*heart)(m))
	}
}

// Expired moves this rank's heartbeat, which shows that it polls, or at least sleeps inside of MPI, and looks at those of its peers. A peer
// is given up when it was still as often as beats says: what counts is this rank's own time inside of MPI, so that who was away
// itself does not find the others dead.
func (h *heart) Expired() {
	m := (*module)(h)
	m.dev.Beat()
	for _, l := range m.used {
		if l.dead != nil || !l.card.beats {
			continue
		}
		switch now := l.peer.Heartbeat(); {
		case now == unimem.Left:
			l.silence = 0
		case now != l.heard:
			l.heard, l.silence = now, 0
		default:
			if l.silence++; l.silence > beats {
				l.fail(fmt.Errorf("rank %d has not polled for %v (btl_unimem_peer_timeout)", l.proc.Rank, m.opt.PeerTimeout))
			}
		}
	}
	if !m.closed {
		m.startHeart()
	}
}

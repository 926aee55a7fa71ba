package tcp

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/progress"
)

// A peer whose process dies is known by its end of stream. One whose host vanishes (power, cable, a switch) says nothing, and the kernel goes
// on for some fifteen minutes. btl_tcp_peer_timeout ends that sooner, in two ways:
//
//   - idle connections are asked by keepalive: tune divides the time between the first question and three repetitions;
//   - of those with data under way, the kernel is asked here how long nothing was acknowledged. TCP_USER_TIMEOUT does the same in the
//     kernel, but also ends connections whose peer is alive, answers, and has its receive window closed because it computes: a rank may
//     do that for as long as it likes.
//
// What counts is what the kernel has seen, so that a program that was long away from MPI does not take its own absence for the peer's.

// vigil watches over one link with data under way.
type vigil struct {
	acked uint64    // bytes acknowledged at the last look
	since time.Time // nothing was acknowledged from then on; zero: nothing is under way
}

// silent reports whether nothing has come back for so long although the kernel has asked again.
func (v *vigil) silent(info *unix.TCPInfo, now time.Time, timeout time.Duration) bool {
	if info.Unacked == 0 && info.Notsent_bytes == 0 {
		v.since = time.Time{}
		return false
	}
	if v.since.IsZero() || info.Bytes_acked != v.acked {
		v.acked, v.since = info.Bytes_acked, now
		return false
	}
	// A closed window is asked about ever more rarely, but each answer counts Probes from 0 again.
	asked := info.Retransmits > 0 || info.Probes > 1
	heard := time.Duration(info.Last_ack_recv) * time.Millisecond
	return asked && heard >= timeout && now.Sub(v.since) >= timeout
}

// patrol looks after all links, again and again.
type patrol struct {
	m     *module
	timer *progress.Timer
}

// looks is how many looks at a link make a timeout.
const looks = 8

func (p *patrol) start() {
	if d := p.m.opts.PeerTimeout; d > 0 {
		p.timer = p.m.engine.AddTimer(d/looks, p)
	}
}

func (p *patrol) stop() {
	p.m.engine.StopTimer(p.timer)
	p.timer = nil
}

// Expired is the timer's call.
func (p *patrol) Expired() {
	p.start()
	now := time.Now()
	for _, ep := range p.m.eps {
		if ep == nil {
			continue
		}
		for _, l := range ep.links {
			if l.state == linkUp {
				p.look(l, now)
			}
		}
	}
}

func (p *patrol) look(l *link, now time.Time) {
	info, err := unix.GetsockoptTCPInfo(l.fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return // the socket itself tells what is wrong with it
	}
	if timeout := p.m.opts.PeerTimeout; l.vigil.silent(info, now, timeout) {
		l.broke(fmt.Errorf("btl tcp: %s at %s has acknowledged nothing for %v (btl_tcp_peer_timeout): its host or the network to it is gone", l.ep.name(), l.remote, timeout), true)
	}
}

// mostKeepalive is the longest time that Linux takes for a keepalive, in seconds: some nine hours.
const mostKeepalive = 32767

// keepalive is what the kernel is asked to do about idle connections, in seconds; idle 0: nothing.
func (o *options) keepalive() (idle, interval, count int) {
	switch {
	case o.PeerTimeout > 0:
		whole := min(int((o.PeerTimeout-1)/time.Second)+1, mostKeepalive)
		idle, interval = max(1, whole/2), max(1, whole/6)
		return idle, interval, max(1, (whole-idle)/interval)
	case o.KeepaliveTime > 0:
		idle = min(max(1, int(o.KeepaliveTime/time.Second)), mostKeepalive)
		return idle, max(1, idle/6), 6
	}
	return 0, 0, 0
}

// leastPeerTimeout is as long as the kernel needs to ask again a few times: after less, a peer would be given up for one lost packet.
const leastPeerTimeout = 200 * time.Millisecond

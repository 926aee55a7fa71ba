package udp

import "encoding/binary"

// acknowledged takes what a packet tells of those that were sent.
func (f *flow) acknowledged(p *packet, body []byte, now int64) {
	if p.ack < f.una {
		return // it was overtaken by a later one
	}
	bytes, before := 0, f.newest
	for f.una < p.ack {
		o := f.outAt(f.una)
		bytes += f.take(o, now)
		f.span -= costOf(o.size())
		f.una++
		fr := o.frag
		if o.buf != nil {
			f.host.release(o.buf)
		}
		*o = outPacket{}
		if fr != nil {
			if fr.Sent--; fr.Sent == 0 {
				f.host.came(fr)
				if f.dead {
					return
				}
			}
		}
	}
	gaps := false
	if p.sack != 0 || p.kind == kindAck && len(body) > 0 {
		gaps = true
		bytes += f.takeBits(p.ack+1, p.sack, now)
		if p.kind == kindAck {
			for i := 0; i < len(body); i += 8 {
				bytes += f.takeBits(p.ack+1+uint64(i/8+1)*sackBits, binary.LittleEndian.Uint64(body[i:]), now)
			}
		}
	}
	if bytes == 0 {
		return
	}
	if p.flags&flagEcho != 0 {
		f.measured(int64(uint32(now) - p.echo))
	}
	jammed := f.backoff >= hopeless
	f.backoff = 0
	if f.ptoAt = 0; f.una < f.sent {
		f.ptoAt = now + f.rto()
	}
	if f.newest > before || gaps {
		f.findLost(now, jammed)
	}
	f.grow(bytes)
}

// take marks a packet as come and returns its bytes, if that is news.
func (f *flow) take(o *outPacket, now int64) int {
	size := o.size()
	switch o.state {
	case outFlying:
		f.inflight -= size
	case outLost:
		f.lost--
	default:
		return 0
	}
	o.state = outCame
	// Of one that was sent again it is not known which one came; the later cannot have, in less than the least time.
	if o.order > f.newest && (!o.again || now-o.at >= f.minRTT) {
		f.newest = o.order
	}
	return size
}

// takeBits is take for the selective bits of packets from first on.
func (f *flow) takeBits(first, bits uint64, now int64) (bytes int) {
	for n := first; bits != 0 && n < f.sent; n, bits = n+1, bits>>1 {
		if bits&1 != 0 && n >= f.una {
			bytes += f.take(f.outAt(n), now)
		}
	}
	return bytes
}

// findLost looks for packets that others have overtaken. jammed tells that nothing had come for long; that alone means nothing, since the peer may
// have been busy.
func (f *flow) findLost(now int64, jammed bool) {
	overdue := max(f.srtt, f.minRTT)*9/8 + loseSlack
	round := false
	for n := f.una; n < f.sent; n++ {
		o := f.outAt(n)
		if o.state != outFlying || o.order >= f.newest || o.order+reorderBy > f.newest && now-o.at < overdue {
			continue
		}
		o.state = outLost
		f.lost++
		f.inflight -= o.size()
		f.stats.Lost++
		round = round || o.order >= f.recover
	}
	if round {
		f.recover = f.order
		f.ssthresh = max(f.cwnd*7/10, minCwnd*f.datagram)
		if f.cwnd = f.ssthresh; jammed {
			f.cwnd = minCwnd * f.datagram
		}
		f.limited = false
	}
}

// grow makes the congestion window larger for bytes that have come, if it was a hindrance.
func (f *flow) grow(bytes int) {
	if !f.limited || f.cwnd >= f.window+f.datagram {
		return
	}
	if f.lost == 0 && f.inflight < f.cwnd/2 {
		f.limited = false
	}
	if f.cwnd < f.ssthresh {
		f.cwnd += bytes
	} else {
		f.cwnd += max(1, f.datagram*bytes/f.cwnd)
	}
}

// measured takes a round trip time, as RFC 6298 does.
func (f *flow) measured(rtt int64) {
	if rtt < 0 || rtt > 60_000_000 {
		return
	}
	rtt = max(rtt, 1)
	if f.minRTT == 0 || rtt < f.minRTT {
		f.minRTT = rtt
	}
	if f.srtt == 0 {
		f.srtt, f.rttvar = rtt, rtt/2
		return
	}
	d := f.srtt - rtt
	if d < 0 {
		d = -d
	}
	f.rttvar += (d - f.rttvar) / 4
	f.srtt += (rtt - f.srtt) / 8
	if f.srtt < 1 {
		f.srtt = 1
	}
}

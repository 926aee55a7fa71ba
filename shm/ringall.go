package shm

// RingAll is Ring for all of the peers, at less than it costs for each.
func (d *Domain) RingAll(peers []*Peer) {
	if d.hub == nil {
		for _, p := range peers {
			if p.ctl.asleep.Load() != 0 {
				d.ringProcess(p)
			}
		}
		return
	}
	woken := int32(0)
	for _, p := range peers {
		if p.domain.engine.WakeUncounted() {
			woken++
		}
	}
	d.engine.CountWoken(woken)
}

package portals4

import ptl "github.com/ompi-go/ompi-go/portals4"

// tree carries what all ranks do together in a recovery: a call from any rank, and barriers. It is a binary tree over the ranks of the job
// with rank 0 at its root, of triggered puts without data: interfaces pass things on, whatever their hosts do.
//
// Counting events only grow. The alert of the e-th recovery and the b-th barrier each have a threshold of their own, so that nothing must be
// reset, and a put that comes before its triggered operation is made fires it when it is. A rank takes part in barrier b+1 only after b has released
// it, and hears of recovery e+1 only over its parent, behind the release that ended e: headers between two processes stay in order.
type tree struct {
	calls, alert, in, out *ptl.CT
	up                    ptl.Process
	down                  []ptl.Process
	root                  bool
	alerts, barriers      uint64 // that have been armed
}

func (t *tree) init(m *module) error {
	for _, ct := range []**ptl.CT{&t.calls, &t.alert, &t.in, &t.out} {
		var err error
		if *ct, err = m.ni.CTAlloc(); err != nil {
			return err
		}
	}
	t.root = m.me == 0
	if !t.root {
		t.up = m.peers[(m.me-1)/2].id
	}
	for c := 2*m.me + 1; c <= 2*m.me+2 && c < len(m.peers); c++ {
		t.down = append(t.down, m.peers[c].id)
	}
	for _, e := range []struct {
		kind uint64
		ct   *ptl.CT
		o    ptl.EntryOptions
	}{{flowTrigger, t.calls, ptl.EventCommDisable}, {flowIn, t.in, ptl.EventCommDisable}, {flowAlert, t.alert, 0}, {flowOut, t.out, 0},
		{flowCredit, nil, 0}, {flowStarve, nil, 0}, {flowMark, nil, ptl.EventCommDisable}} {
		if err := m.flowEntry(e.kind, e.ct, e.o); err != nil {
			return err
		}
	}
	return t.armAlert(m)
}

// put has a word go to a rank when ct reaches a threshold.
func (t *tree) put(m *module, to ptl.Process, kind uint64, ct *ptl.CT, threshold uint64) error {
	m.xfer = ptl.Transfer{Target: to, PT: m.flowPT.Index(), MatchBits: kind | uint64(m.me)}
	return m.mute.TriggeredPut(&m.xfer, ct, threshold)
}

// armAlert prepares the next alert. At the root the first call after it sets it off; there are none on their way while it is armed.
func (t *tree) armAlert(m *module) error {
	t.alerts++
	if t.root {
		v, err := t.calls.Get()
		if err != nil {
			return err
		}
		if err := t.put(m, m.peers[m.me].id, flowAlert, t.calls, v.Success+v.Failure+1); err != nil {
			return err
		}
	}
	for _, c := range t.down {
		if err := t.put(m, c, flowAlert, t.alert, t.alerts); err != nil {
			return err
		}
	}
	return nil
}

// enter is this rank's arrival at the next barrier. It is released by an event flowOut.
func (t *tree) enter(m *module) error {
	t.barriers++
	all := t.barriers * uint64(len(t.down)+1)
	to, kind := t.up, uint64(flowIn)
	if t.root {
		to, kind = m.peers[m.me].id, flowOut
	}
	if err := t.put(m, to, kind, t.in, all); err != nil {
		return err
	}
	for _, c := range t.down {
		if err := t.put(m, c, flowOut, t.out, t.barriers); err != nil {
			return err
		}
	}
	return t.in.Inc(ptl.CTEvent{Success: 1})
}

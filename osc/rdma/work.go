package rdma

import (
	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/osc/am"
	"github.com/ompi-go/ompi-go/progress"
)

// work is an operation that is not over at once. It ends when its parts have: transfers, calls, and the one that stands for its issue.
type work struct {
	m       *module
	t       *target
	req     *core.Request // nil for most
	left    int           // parts
	local   bool          // the program's buffers are still needed
	fold    bool          // an accumulate by messages
	landing am.Landing    // of operations by messages that bring something
	above   *work         // which this is a part of
	err     error
	next    *work // free ones
}

func (m *module) newWork(t *target, req *core.Request) *work {
	w := m.works
	if w == nil {
		w = &work{m: m}
	} else {
		m.works, w.next = w.next, nil
	}
	w.t, w.req, w.left, w.local, w.fold, w.err = t, req, 1, true, false, nil
	t.pending++
	t.local++
	m.pending++
	return w
}

// unbuffered: the program's buffers are not needed any more.
func (w *work) unbuffered() {
	if w.local {
		w.local = false
		w.t.local--
		w.m.changed()
	}
}

// part ends a part.
func (w *work) part(err error) {
	if err != nil && w.err == nil {
		w.err = err
	}
	if w.left--; w.left > 0 {
		return
	}
	m, t := w.m, w.t
	if w.err == nil && w.landing.Left() > 0 {
		w.err = core.NewError(core.ErrIntern, "osc rdma: %d bytes of a result are missing in the answers of rank %d", w.landing.Left(), t.rank)
	}
	w.unbuffered()
	t.pending--
	m.pending--
	if w.fold {
		t.folds--
	}
	req, err, above := w.req, w.err, w.above
	w.landing.Reset()
	w.t, w.req, w.err, w.above = nil, nil, nil, nil
	w.next, m.works = m.works, w
	switch {
	case above != nil:
		above.part(err)
		return
	case err != nil:
		t.fault(m, err)
		if req != nil {
			req.FinishErr(err)
		}
	case req != nil:
		req.Finish()
	}
	m.changed()
}

// changed has those who wait look again.
func (m *module) changed() {
	for a := m.active; a != nil; a = a.next {
		if a.holds() {
			m.f.engine.Complete(&a.Completion)
		}
	}
}

// xfer is a transfer, or an atomic operation on a word.
type xfer struct {
	btl.Transfer
	m     *module
	t     *target
	w     *work // nil: somebody waits for it, or has given up (left)
	get   bool
	over  bool
	left  bool
	err   error
	value [8]byte // what a word was, or what goes there
	next  *xfer
}

func (m *module) newXfer(t *target, w *work) *xfer {
	x := m.xfers
	if x == nil {
		x = &xfer{m: m}
		x.Owner = x
	} else {
		m.xfers, x.next = x.next, nil
	}
	x.t, x.w, x.over, x.left, x.err = t, w, false, false, nil
	return x
}

func (m *module) freeXfer(x *xfer) {
	x.Local, x.t, x.w, x.err = nil, nil, nil, nil
	x.Transfer.Next = nil
	x.next, m.xfers = m.xfers, x
}

// await is what a goroutine waits for. Those of a module are used again and again.
type await struct {
	progress.Completion
	m    *module
	t    *target
	over *bool
	what awaited
	next *await // free ones, or those that are waited for
}

type awaited uint8

const (
	awaitDone  awaited = iota // operations to a target are complete
	awaitLocal                // they do not need their buffers
	awaitRoom                 // there is room for a message to it
	awaitOver                 // a flag is set
)

// Done implements progress.Cond. It is asked with and without the token.
func (a *await) Done() bool { return a.Completion.Done() || a.t.gone(a.m) != nil }

// holds looks whether what is waited for is so. The token is held.
func (a *await) holds() bool {
	t := a.t
	switch a.what {
	case awaitDone:
		return t.pending == 0
	case awaitLocal:
		return t.local == 0
	case awaitRoom:
		return t.calls < a.m.f.opts.Depth
	}
	return *a.over
}

// wait returns when that is so, or the target is gone. The token is given away meanwhile.
func (m *module) wait(t *target, what awaited, over *bool) {
	a := m.awaits
	if a == nil {
		a = &await{m: m}
	} else {
		m.awaits, a.next = a.next, nil
	}
	a.t, a.over, a.what = t, over, what
	a.Reset()
	a.next, m.active = m.active, a
	if !a.holds() {
		m.f.engine.WaitLocked(a)
	}
	for p := &m.active; *p != nil; p = &(*p).next {
		if *p == a {
			*p = a.next
			break
		}
	}
	a.t, a.over = nil, nil
	a.next, m.awaits = m.awaits, a
}

// pause lets others have the token, and what is under way move on: a BTL had no room.
func (m *module) pause() {
	e := m.f.engine
	e.TryPoll()
	e.Unlock()
	e.Yield()
	e.Lock()
}

package rdma

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/am"
)

// Puts and gets by BTLs that reach into the target's registered memory: a transfer for each piece that is contiguous on both sides.

// mostPiece bounds a piece; a BTL cuts it further if it must.
const mostPiece = 1 << 30

// bytesOf reports whether a buffer is one run of bytes, which begins at its address.
func bytesOf(count int64, t *datatype.Type) (int64, bool) {
	if t.Kind() == datatype.KindNone {
		if lb, _ := t.TrueExtent(); lb != 0 || !t.Contiguous() || t.Size() != extentOf(t) && count > 1 {
			return 0, false
		}
	}
	return count * t.Size(), true
}

func extentOf(t *datatype.Type) int64 {
	_, n := t.Extent()
	return n
}

// move carries out a put or get. ok is false where that cannot be, and messages are to be sent.
func (m *module) move(t *target, op *osc.Op) (ok bool) {
	get := op.Kind == osc.Get
	n, plain := bytesOf(op.Count, op.Type)
	if k, also := bytesOf(op.Origin.Count(), op.Origin.Type()); plain && also && k == n {
		w := m.newWork(t, op.Request)
		m.begin(w, get, op.Origin.Addr(), op.Off, n)
		w.part(nil)
		return true
	}
	var p osc.Pieces
	p.Init(op.Origin, op.Off, op.Count, op.Type)
	mem, off, n := p.Next(mostPiece)
	if n < m.f.opts.MinPiece && n < op.Origin.Bytes() {
		return false
	}
	w := m.newWork(t, op.Request)
	for ; n > 0; mem, off, n = p.Next(mostPiece) {
		m.begin(w, get, mem, off, n)
	}
	w.part(nil)
	return true
}

// begin starts a transfer, and waits for room for it.
func (m *module) begin(w *work, get bool, mem unsafe.Pointer, off, n int64) {
	t := w.t
	x := m.newXfer(t, w)
	x.get = get
	x.Local, x.Off, x.N = mem, off, n
	w.left++
	for {
		done, err := x.start()
		switch {
		case errors.Is(err, btl.ErrAgain):
			if err = t.gone(m); err == nil {
				m.pause()
				continue
			}
			x.end(err)
		case err != nil || done:
			x.end(err)
		}
		return
	}
}

func (x *xfer) start() (bool, error) {
	t := x.t
	if x.get {
		if t.get == nil {
			return false, btl.ErrNotSupported
		}
		x.Remote = t.getMem
		return t.get.Get(&x.Transfer)
	}
	if t.put == nil {
		return false, btl.ErrNotSupported
	}
	x.Remote = t.putMem
	return t.put.Put(&x.Transfer)
}

// TransferDone implements btl.Transferrer.
func (x *xfer) TransferDone(_ *btl.Transfer, err error) {
	if x.w != nil {
		x.end(err)
		return
	}
	x.over, x.err = true, err
	if x.left {
		x.m.freeXfer(x)
		return
	}
	x.m.changed()
}

// end is the end of a put or get. What a BTL could not do goes by messages: it may be done twice, and nobody sees that.
func (x *xfer) end(err error) {
	m, t, w := x.m, x.t, x.w
	if err == nil {
		m.freeXfer(x)
		w.part(nil)
		return
	}
	if gone := t.gone(m); gone != nil {
		m.freeXfer(x)
		w.part(gone)
		return
	}
	m.refused(t, x.get, err)
	mem, off, n, get := x.Local, x.Off, x.N, x.get
	m.freeXfer(x)
	m.resort(w, get, mem, off, n)
}

// refused notes that a BTL does not serve a target any more.
func (m *module) refused(t *target, get bool, err error) {
	what := "put"
	if get {
		what, t.get = "get", nil
	} else {
		t.put = nil
	}
	m.f.env.Say("osc-rdma-"+what, fmt.Sprintf("osc rdma: a BTL does not %s, so that active messages do it: %v", what, err))
}

// resort moves bytes by messages, as a part of w. It may be called where nobody can wait.
func (m *module) resort(w *work, get bool, mem unsafe.Pointer, off, n int64) {
	kind := am.Put
	if get {
		kind = am.Get
	}
	buf := core.MakeBuffer(mem, n, datatype.Byte)
	sub := m.newWork(w.t, nil)
	sub.above = w
	if get {
		sub.landing.Init(buf, datatype.Byte, 0, n, m.f.env.Btl.Arch)
	}
	m.cut(sub, &am.Spec{Kind: kind, Origin: buf, Off: off, Count: n, Type: datatype.Byte, Arch: m.f.env.Btl.Arch}, false)
}

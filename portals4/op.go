package portals4

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
)

// op is an operation of this process that waits: for its payload to go out, for an answer, or for data.
type op struct {
	move    // of a get whose data is read
	live    bool
	sent    bool // the SEND event is posted, or there is none
	flying  bool // the payload is on its way out
	over    bool // the answer is here
	wait    bool // an answer comes
	known   bool // how much
	exposed bool // source is registered
	kind    uint8
	ack     AckReq
	index   uint32
	gen     uint32
	link    *link
	md      *MDHandle // of a put and what else sends; of a get where the data goes
	into    *MDHandle // of a fetching operation
	userPtr any
	length  uint64
	asked   uint64 // offset at the target
	dst     memory // of a get and a fetching operation: where to
	base    uint64
	got     uint64
	placing uint64 // bytes that a NAL is writing into dst
	res     result
	reg     btl.MemHandle
	source  []byte // memory that the target reads or that is streamed; alive by this
	src     memory
	token   uint32
}

// opTable finds operations by handle: an index of indexBits bits, and a generation.
type opTable struct {
	all  []*op
	free []uint32
	used int
}

const (
	indexBits = 20
	indexMask = 1<<indexBits - 1
	genMask   = 1<<(32-indexBits) - 1
)

func (o *op) handle() uint32 { return o.gen<<indexBits | o.index }

// get gives a new operation; nil when a million are under way.
func (t *opTable) get() *op {
	var o *op
	if n := len(t.free); n > 0 {
		o = t.all[t.free[n-1]]
		t.free = t.free[:n-1]
	} else {
		if len(t.all) > indexMask {
			return nil
		}
		o = &op{index: uint32(len(t.all))}
		o.move.owner = o
		t.all = append(t.all, o)
	}
	t.used++
	o.live = true
	return o
}

// find gives the operation of a handle that l's peer has sent; nil: he has it from nobody.
func (t *opTable) find(l *link, handle uint32) *op {
	k := handle & indexMask
	if int(k) >= len(t.all) {
		return nil
	}
	o := t.all[k]
	if !o.live || o.gen != handle>>indexBits || o.link != l {
		return nil
	}
	return o
}

func (t *opTable) put(o *op) {
	o.live, o.sent, o.flying, o.over, o.wait, o.known = false, false, false, false, false, false
	o.gen = (o.gen + 1) & genMask
	o.link, o.md, o.into, o.userPtr, o.source = nil, nil, nil, nil, nil
	o.dst, o.src, o.got = memory{}, memory{}, 0
	o.placing = 0
	t.free = append(t.free, o.index)
	t.used--
}

// newOp makes the operation of a transfer.
func (i *Interface) newOp(name string, kind uint8, l *link, md *MDHandle, t *Transfer, n uint64) (*op, error) {
	o := i.ops.get()
	if o == nil {
		return nil, fail(name, ErrNoSpace, "%d operations are under way", i.ops.used)
	}
	o.kind, o.link, o.md, o.userPtr, o.length, o.asked, o.ack = kind, l, md, t.UserPtr, n, t.RemoteOffset, t.Ack
	md.pending++
	return o, nil
}

// opSent is the end of a payload's way out.
func (i *Interface) opSent(o *op, err error) {
	o.flying = false
	if err != nil {
		i.undelivered(o)
		return
	}
	if o.kind != opGet && !o.sent {
		o.sent, o.source = true, nil // the program's memory again
		if o.sendEnds() {
			o.md.pending--
		}
		o.md.sent(o.userPtr, o.length, OK)
	}
	switch {
	case !o.wait:
		i.ops.put(o)
	case o.over:
		i.answer(o)
	}
}

// sendEnds reports whether SEND is the last event that md gets of the operation: then md can be released, though an answer may come.
func (o *op) sendEnds() bool {
	switch o.kind {
	case opGet:
		return false
	case opPut, opAtomic:
		return o.ack == NoAck
	}
	return o.into != o.md
}

// release ends the use of the memory descriptors.
func (o *op) release() {
	if !o.sent || !o.sendEnds() {
		o.md.pending--
	}
	if o.into != nil && o.into != o.md {
		o.into.pending--
	}
}

// opDone is the answer to a put or an atomic operation.
func (i *Interface) opDone(o *op, r result) {
	o.over, o.res = true, r
	if !o.flying {
		i.answer(o)
	}
}

// answer ends an operation whose payload is out and whose answer is here.
func (i *Interface) answer(o *op) {
	i.unregister(o)
	md, into, userPtr, n, r, kind, ack, sent := o.md, o.into, o.userPtr, o.length, o.res, o.kind, o.ack, o.sent
	o.release()
	i.ops.put(o)
	if !sent && kind != opGet {
		md.sent(userPtr, n, OK)
	}
	switch {
	case kind == opGet:
		md.answered(EventReply, true, userPtr, &r, n)
	case kind >= opFetch:
		into.answered(EventReply, true, userPtr, &r, n)
	case ack == NoAck || r.noAck:
	case ack == OCAck:
		md.answered(EventAck, false, userPtr, &result{oc: true}, n)
	default:
		md.answered(EventAck, ack == Ack, userPtr, &r, n)
	}
}

// undelivered ends an operation whose target cannot be reached.
func (i *Interface) undelivered(o *op) {
	i.unregister(o)
	md, into, userPtr, n, kind, ack, sent := o.md, o.into, o.userPtr, o.length, o.kind, o.ack, o.sent
	o.release()
	i.ops.put(o)
	r := result{fail: Undeliverable}
	switch {
	case kind == opGet:
		md.answered(EventReply, true, userPtr, &r, n)
	case kind >= opFetch:
		if !sent {
			md.sent(userPtr, n, Undeliverable)
		}
		into.answered(EventReply, true, userPtr, &r, n)
	case !sent:
		md.sent(userPtr, n, Undeliverable)
	case ack != NoAck:
		md.answered(EventAck, ack == Ack, userPtr, &r, n)
	}
}

// expose registers the memory that the target may read.
func (i *Interface) expose(o *op) bool {
	l := o.link
	if l.Get == nil || l.Reg == nil || len(o.source) == 0 {
		return false
	}
	h, err := l.Reg.Register(unsafe.Pointer(unsafe.SliceData(o.source)), int64(len(o.source)))
	if err != nil {
		i.counts.unregistered++
		return false
	}
	o.reg, o.exposed = h, true
	return true
}

func (i *Interface) unregister(o *op) {
	if o.exposed {
		o.link.Reg.Deregister(o.reg)
		o.exposed = false
	}
}

// mover is whose data is read from a peer's memory.
type mover interface{ moved(err error) }

// move reads from a peer's memory, piece by piece where the local memory has several.
type move struct {
	btl.Transfer
	owner  mover
	l      *link
	to     *memory
	off, n uint64 // in to
	at     uint64
	on     bool
	remote btl.MemHandle
}

func (m *move) start(l *link, remote btl.MemHandle, to *memory, off, n uint64) {
	m.l, m.remote, m.to, m.off, m.n, m.at, m.on = l, remote, to, off, n, 0, true
	if e := l.i.engine; n >= moveSoon && !e.Driven() && !e.ByAgent() { // not in a call that only begins something: there whoever drives next takes it on
		l.moves = append(l.moves, m)
		l.wait()
		return
	}
	m.step()
}

// moveSoon is how many bytes are not read at once by a caller that does not wait.
const moveSoon = 32 << 10

// step goes on until something has to be waited for.
func (m *move) step() {
	for m.at < m.n {
		b := m.to.at(m.off+m.at, m.n-m.at)
		t := &m.Transfer
		t.Owner, t.Local, t.N, t.Remote, t.Off = m, unsafe.Pointer(unsafe.SliceData(b)), int64(len(b)), m.remote, int64(m.at)
		t.Shared = m.l.Limits.MinShared > 0 && t.N >= m.l.Limits.MinShared && !m.l.i.engine.ByAgent() // an agent would wait for a peer that it keeps from running
		m.l.i.inside++
		done, err := m.l.Get.Get(t)
		m.l.i.inside--
		switch {
		case errors.Is(err, btl.ErrAgain) && m.l.dead == nil:
			m.l.moves = append(m.l.moves, m)
			m.l.wait()
			return
		case err != nil:
			m.end(err)
			return
		case !done:
			return
		}
		m.at += uint64(len(b))
	}
	m.end(nil)
}

// TransferDone implements btl.Transferrer.
func (m *move) TransferDone(t *btl.Transfer, err error) {
	i := m.l.i
	if err != nil {
		m.end(err)
	} else {
		m.at += uint64(t.N)
		m.step()
	}
	i.settle()
}

func (m *move) end(err error) {
	m.on, m.Local, m.to = false, nil, nil
	m.owner.moved(err)
}

// moved implements mover: the data of a get has come, or cannot be read.
func (o *op) moved(err error) {
	l := o.link
	i := l.i
	failed := uint64(0)
	switch {
	case errors.Is(err, btl.ErrNotSupported) && l.dead == nil:
		failed = finSend // let it come by REPLY
	case err != nil:
		failed = finLost
	}
	i.fin(l, o.token, failed)
	switch {
	case failed == finSend:
		return
	case err != nil:
		o.res.fail, o.res.mlength = Undeliverable, 0
	}
	o.over = true
	i.answer(o)
}

// How reading a get's data has ended.
const (
	finRead = iota
	finSend
	finLost
)

func (i *Interface) fin(l *link, token uint32, how uint64) {
	if l.dead == nil {
		i.send(i.newOut(l, tagFin, uint64(token)|how<<32, 0))
	}
}

func unknown(what string, handle uint32) error {
	return fmt.Errorf("%w: %s %#x", errGarbage, what, handle)
}

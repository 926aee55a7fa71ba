package ob1

import (
	"errors"
	"unsafe"

	"github.com/ompi-go/ompi-go/bml"
	"github.com/ompi-go/ompi-go/btl"
)

// The receiver's half of the protocols in which a BTL moves the bytes of a long message between two users' buffers. Get reads the
// sender's memory; PUT lets the sender write to ours. Until a read is over, and each PUT is answered, the buffer is not given back,
// whatever becomes of the message; a dead peer answers nothing, and writes nothing.

// beginGet reads what is missing.
func (o *module) beginGet(r *recvReq, x *rndv) {
	path := r.peer.path
	r.path = path
	r.proto = protoRget
	if x.flags&flagShared != 0 && path.Limits.MinShared > 0 {
		r.proto = protoCoop
	}
	r.xfer = btl.Transfer{
		Owner: r, Local: unsafe.Add(r.Buf.Addr(), r.got), N: r.want - r.got, Remote: x.handle, Off: r.got, Shared: r.proto == protoCoop,
	}
	if path.Reg != nil {
		mark := o.tr.transferBegin(r.life, traceRegister, r.xfer.N)
		mem, err := path.Reg.Register(r.xfer.Local, r.xfer.N)
		o.tr.transferEnd(mark)
		switch {
		case err == nil:
			r.xfer.Mem, r.pinned = mem, true
		case !errors.Is(err, btl.ErrNotSupported): // else the BTL may have another way than to name it
			r.xfer.Local = nil
			o.stats.CopyFallback++
			o.copyRest(r, 0)
			return
		}
	}
	r.get(true)
}

// get offers the read to the BTL.
func (r *recvReq) get(first bool) {
	r.mark = r.o.tr.transferBegin(r.life, traceGet, r.xfer.N)
	finished, err := r.path.Get.Get(&r.xfer)
	switch {
	case errors.Is(err, btl.ErrAgain):
		r.o.tr.transferEnd(r.mark)
		r.name()
		r.item.r = r
		r.o.out.hold(&r.item, first)
	case err == nil && !finished:
		r.name()
		r.reading = true
	default:
		r.read(err)
	}
}

// TransferDone implements btl.Transferrer.
func (r *recvReq) TransferDone(_ *btl.Transfer, err error) {
	r.reading = false
	r.read(err)
}

// read: the sender's memory has been read, or cannot be.
func (r *recvReq) read(err error) {
	o, n := r.o, r.xfer.N
	o.tr.transferEnd(r.mark)
	r.unpin()
	if r.over {
		o.endWhenFree(r)
		return
	}
	p, path := r.peer, r.path
	switch {
	case err == nil:
		path.Counts.Gets++
		path.Counts.GetBytes += uint64(n)
		o.stats.Received[r.proto]++
		r.got = r.want
		if r.ext.summed {
			if err := o.check(r, &r.ext, r.ext.sum, unsafe.Slice((*byte)(r.Buf.Addr()), r.got), r.length); err != nil {
				r.Status.Err = err
			}
		}
		r.unname() // whatever the frame's sending finds out, this receive is over
		o.sendFin(r)
		o.endLong(r)
	case errors.Is(err, btl.ErrNotSupported) || p.survives(path):
		o.stats.CopyFallback++
		o.copyRest(r, flagNoGet)
	default:
		r.Status.Err = o.asError(err, r.Status.Source)
		o.endLong(r)
	}
}

// unpin gives the registration of the buffer back that a read needed.
func (r *recvReq) unpin() {
	if r.pinned {
		r.path.Reg.Deregister(r.xfer.Mem)
		r.pinned = false
	}
	r.xfer.Local = nil
}

// sendFin tells the sender that its memory has been read.
func (o *module) sendFin(r *recvReq) {
	c := o.newCtl(r.peer)
	putFin(&c.frag, r.sendID, r.got)
	o.sendCtl(c)
}

// name gives a receive a name for its sender to use. From a peer with several paths bytes may come twice.
func (r *recvReq) name() {
	if r.id != 0 {
		return
	}
	r.id = r.o.ids.add(nil, r)
	ep := r.peer.ep
	if r.once = len(ep.Bulk) > 1 || ep.Reduced || ep.Twice; r.once {
		r.have.reset(r.got)
	}
}

// unname takes the name back.
func (r *recvReq) unname() {
	if r.id != 0 {
		r.o.ids.remove(r.id)
		r.id = 0
	}
}

// copyRest asks for everything that is missing in fragments.
func (o *module) copyRest(r *recvReq, flags uint8) {
	r.proto = protoRndv
	o.stats.Received[protoRndv]++
	r.name()
	o.sendAck(r, r.got, r.want-r.got, flags)
}

// piece is a part of a receive's buffer that the sender may write.
type piece struct {
	path *bml.Path
	off  int64
	n    int64
	mem  btl.MemHandle
	next *piece
}

// beginPut has the sender write what is missing, or send it.
func (o *module) beginPut(r *recvReq, x *rndv) {
	path := r.peer.path
	equal, _ := o.mayRead(r, &x.ext)
	switch {
	case !equal || path.Reg == nil: // it will not be otherwise for the next message
		o.stats.CopyFallback++
		o.copyRest(r, flagNoPut)
		return
	case !r.isFlat || r.peer.ep.Reduced:
		o.copyRest(r, 0)
		return
	}
	r.path, r.proto, r.primed, r.step = path, protoPut, r.got, 0
	r.name()
	if x.flags&flagPiped != 0 {
		r.proto, r.step = protoPipeline, path.Limits.PipeFrag
		if n := min(path.Limits.PipeSend, r.want-r.got); n > 0 {
			r.primed += n
			o.stats.Received[r.proto]++
			id := r.id
			if o.askCopy(r, r.got, n); r.id == id { // else sending has found that the peer is dead
				o.prime(r)
			}
			return
		}
	}
	o.stats.Received[r.proto]++
	o.prime(r)
}

// askCopy asks for a range in fragments, as one of several.
func (o *module) askCopy(r *recvReq, off, n int64) {
	flags := uint8(0)
	if off+n < r.want {
		flags = flagMore
	}
	o.sendAck(r, off, n, flags)
}

// prime registers pieces of the buffer and has the sender write them, as many at a time as pml_ob1_recv_pipeline_depth says. Neighbours
// that cannot be registered are asked for in fragments together.
func (o *module) prime(r *recvReq) {
	bad := r.primed // [bad, r.primed) cannot be written
	// Sending may find that the peer is dead, which ends the receive.
	id := r.id
	for r.id == id && r.primed < r.want && r.out < max(o.opt.RecvDepth, 1) {
		off, n := r.primed, r.want-r.primed
		if r.step > 0 {
			n = min(n, r.step)
		}
		if r.peer.ep.Reduced { // the path of the pieces may be the one that is lost
			o.stats.CopyFallback++
			r.primed = r.want
			break
		}
		mark := o.tr.transferBegin(r.life, traceRegister, n)
		mem, err := r.path.Reg.Register(unsafe.Add(r.Buf.Addr(), off), n)
		o.tr.transferEnd(mark)
		if err != nil {
			o.stats.CopyFallback++
			if errors.Is(err, btl.ErrNotSupported) {
				n = r.want - off // memory of this kind; that of the next message may be of another
			}
			r.primed += n
			continue
		}
		r.primed += n
		q := o.newPiece()
		q.path, q.off, q.n, q.mem = r.path, off, n, mem
		q.next, r.pieces = r.pieces, q
		r.out++
		f := put{sendID: r.sendID, recvID: r.id, offset: off, length: n, handle: mem}
		if off+n < r.want {
			f.flags = flagMore
		}
		from := bad
		bad = r.primed
		if from < off {
			o.askCopy(r, from, off-from)
		}
		if r.id == id {
			c := o.newCtl(r.peer)
			f.flags |= r.again
			putPut(&c.frag, &f)
			o.sendCtl(c)
		}
	}
	if r.id == id && bad < r.primed {
		o.askCopy(r, bad, r.primed-bad)
	}
}

type doneHandler struct{ o *module }

// Receive implements btl.Handler: the answer to a PUT.
func (x *doneHandler) Receive(peer int, hdr, _ []byte) {
	o := x.o
	if len(hdr) != doneSize {
		o.refuse(peer)
		return
	}
	d := parseDone(hdr)
	r := o.ids.recv(d.recvID)
	if r == nil || r.peer.proc.Rank != peer {
		o.refuse(peer)
		return
	}
	at := &r.pieces
	for *at != nil && ((*at).off != d.offset || (*at).n != d.length) {
		at = &(*at).next
	}
	failed := d.flags&flagFailed != 0
	if (*at == nil && (failed || !r.late(&d))) || (!failed && (d.flags&flagSum != 0) != r.ext.summed) {
		o.refuse(peer)
		return
	}
	if *at != nil {
		o.freePiece(r, at)
	}
	if r.over {
		o.endWhenFree(r)
		return
	}
	if !failed {
		if !r.once && d.length > r.want-r.got-r.coming { // other frames have brought those bytes, which no honest peer does
			o.refuse(peer)
			o.endWhole(r)
			return
		}
		if err := o.check(r, &r.ext, d.sum, unsafe.Slice((*byte)(unsafe.Add(r.Buf.Addr(), d.offset)), d.length), r.length); err != nil && r.Status.Err == nil {
			r.Status.Err = err
		}
		r.came(d.offset, d.length)
	}
	o.prime(r)
	if r.id == d.recvID {
		o.endWhole(r)
	}
}

// late reports whether a DONE tells of a piece that has been given up, because the answer to a PUT that came twice, when the send was over,
// has overtaken it. Nobody writes there any more, and the bytes are in place.
func (r *recvReq) late(d *done) bool {
	return r.once && !r.over && d.length > 0 && d.offset >= 0 && d.offset <= r.want && d.length <= r.want-d.offset && !r.have.covers(d.offset, d.offset+d.length)
}

// endWhole ends a receive when all bytes are there and nobody can write to its buffer any more.
func (o *module) endWhole(r *recvReq) {
	if r.got == r.want && !r.busy() {
		o.endLong(r)
	}
}

// busy reports whether somebody may still write to the buffer.
func (r *recvReq) busy() bool { return r.placing > 0 || r.reading || r.pieces != nil }

// endWhenFree ends a failed receive, once its buffer can be given back.
func (o *module) endWhenFree(r *recvReq) {
	if !r.busy() {
		o.endLong(r)
	}
}

// failLong fails a long receive. It ends once nobody writes to its buffer any more.
func (o *module) failLong(r *recvReq, err error) {
	if !r.over {
		r.over = true
		r.Status.Err = err
	}
	if r.item.list != nil { // the read has not begun
		o.out.drop(&r.item)
		r.unpin()
	}
	o.endWhenFree(r)
}

// dropPieces takes the peer's rights to write away without waiting for its answers: it is dead, or nobody will speak to it any more.
func (o *module) dropPieces(r *recvReq) {
	if r.pieces != nil && r.peer.proc.Failed() == nil { // not every BTL can take them away: let nothing else lie there
		o.given = append(o.given, r.Buf)
	}
	for r.pieces != nil {
		o.freePiece(r, &r.pieces)
	}
}

func (o *module) newPiece() *piece {
	q := o.pieces
	if q == nil {
		q = new(piece)
	} else {
		o.pieces = q.next
	}
	o.nFree.moves++
	return q
}

func (o *module) freePiece(r *recvReq, at **piece) {
	q := *at
	*at = q.next
	q.path.Reg.Deregister(q.mem)
	r.out--
	q.path = nil
	q.next, o.pieces = o.pieces, q
	o.nFree.moves--
}

var (
	_ btl.Transferrer = (*recvReq)(nil)
	_ btl.Transferrer = (*writing)(nil)
)

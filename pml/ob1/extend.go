package ob1

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/rte"
)

// Extended frames. They say in what order of bytes a message is packed, and carry the CRC32C of what they bring: each payload its
// own, an RGET frame that of the whole message. A rank sends them when it is not little-endian or when pml_ob1_checksum is set;
// others send plain frames and never come here but to receive. A frame of type t, extended, has the type t + extended, the
// header of t, and behind it
//
//	EXT 8   | architecture 1 | flags 1 | 2 zero | CRC32C 4 |
//
// so that a receiver sees in each message how its sender is set, and takes no frame for what it is not.
const (
	extended = 16
	extSize  = 8
)

// flagSummed in EXT: the CRC32C is there.
const flagSummed = 1

// ext is a parsed EXT. Its zero value is that of a plain frame on a rank that knows of nothing else.
type ext struct {
	arch   datatype.Arch
	summed bool
	sum    uint32
}

// putExt makes a filled header an extended one.
func putExt(f *btl.Frag, e ext) {
	b := f.Hdr[f.HdrLen : f.HdrLen+extSize]
	b[0], b[1], b[2], b[3] = byte(e.arch), 0, 0, 0
	if e.summed {
		b[1] = flagSummed
	}
	le.PutUint32(b[4:], e.sum)
	f.Hdr[0] |= extended
	f.Tag = tagOf(int(f.Hdr[0]))
	f.HdrLen += extSize
}

func parseExt(b []byte) (e ext, ok bool) {
	e = ext{datatype.Arch(b[0]), b[1]&flagSummed != 0, le.Uint32(b[4:])}
	return e, (e.arch == datatype.ArchLittle || e.arch == datatype.ArchBig) && b[1]&^flagSummed == 0
}

// plainSize is the size of a plain header by its type.
var plainSize = [...]int{typeMatch: matchSize, typeRndv: rndvSize, typeRget: rgetSize, typeFrag: fragSize}

// sumPiece is how much of data with gaps is packed at a time to be summed.
const sumPiece = 4096

// extend takes up what makes this rank's frames extended ones, and sets who receives them.
func (o *module) extend() {
	o.arch = o.env.Arch.Resolve()
	o.extends = o.opt.Checksum || o.arch != datatype.ArchLittle
	handlers := &o.env.Dispatch.Handlers
	for _, t := range []int{typeMatch, typeRndv, typeRget, typeFrag} {
		handlers[tagOf(t+extended)] = &extHandler{o, uint8(t), true}
		if o.extends && (t != typeFrag || o.opt.Checksum) {
			handlers[tagOf(t)] = &extHandler{o, uint8(t), false}
		}
	}
	if o.opt.Checksum {
		o.scratch = make([]byte, sumPiece)
	}
}

// extra is how much longer first frames are than plain ones, extraFrag how much fragments are.
func (o *module) extra() int64 {
	if o.extends {
		return extSize
	}
	return 0
}

func (o *module) extraFrag() int64 {
	if o.opt.Checksum {
		return extSize
	}
	return 0
}

// meet learns of a peer's architecture where that matters to what is sent to it: raw memory is offered to equals only. Peers of a
// little-endian rank refuse to read it when they are different.
func (o *module) meet(p *peer) error {
	if o.arch == datatype.ArchLittle {
		return nil
	}
	a, err := rte.ArchOf(o.env.Job, p.proc.Rank)
	p.differs = a != o.arch
	return err
}

// extendFirst makes the first fragment of a send an extended one.
func (o *module) extendFirst(s *sendReq) {
	f := &s.frag
	e := ext{arch: o.arch, summed: o.opt.Checksum}
	if s.total > 0 {
		s.conv.PrepareFor(s.Buf.Type(), s.Buf.Count(), s.Buf.Addr(), o.arch)
		if f.Len > 0 && s.conv.Converts() {
			f.Data, f.Conv = nil, &s.conv
		}
	}
	switch {
	case !e.summed || s.total == 0:
	case s.proto == protoRget || s.proto == protoCoop: // contiguous, and read as it lies in memory
		e.sum = datatype.Sum(0, unsafe.Slice((*byte)(s.Buf.Addr()), s.total))
	default:
		e.sum = s.conv.Sum(0, int64(f.Len), o.scratch)
	}
	putExt(f, e)
}

// extendFrag gives a fragment of n bytes at offset off its CRC32C.
func (o *module) extendFrag(f *btl.Frag, s *sendReq, off, n int64) {
	c := s.conv // the BTL may still hold the first fragment, which is packed with this cursor
	c.SetPosition(off)
	putExt(f, ext{o.arch, true, c.Sum(0, n, o.scratch)})
}

// extHandler receives the frames of one plain type where they are, or might be, extended.
type extHandler struct {
	o        *module
	frame    uint8
	extended bool
}

// Receive implements btl.Handler.
func (x *extHandler) Receive(peer int, hdr, payload []byte) {
	o, size := x.o, plainSize[x.frame]
	e := ext{arch: datatype.ArchLittle} // what a plain frame says
	ok := len(hdr) == size
	if x.extended {
		if ok = len(hdr) == size+extSize; ok {
			e, ok = parseExt(hdr[size:])
			hdr = hdr[:size]
		}
	}
	if !ok {
		o.refuse(peer)
		return
	}
	if x.frame == typeFrag {
		o.summedFrag(peer, hdr, payload, &e)
		return
	}
	h, y := parseMatch(hdr), rndv{length: int64(len(payload))}
	if x.frame != typeMatch {
		y = parseRndv(hdr)
	}
	y.ext = e
	if y.length < int64(len(payload)) || (x.frame == typeRget && len(payload) > 0) {
		o.refuse(peer)
		return
	}
	m := o.arrived(peer, &h, x.frame, &y, payload)
	if m == nil {
		return
	}
	if r := m.posted.take(h.source, h.tag); r != nil {
		o.stats.Matches++
		if x.frame == typeMatch {
			o.deliverExt(r, h.source, h.tag, &y.ext, payload)
		} else {
			o.beginLong(r, peer, x.frame, h.source, h.tag, y, payload)
		}
		o.came(peer, costOf(int64(len(payload))))
	} else {
		o.wait(m, o.store(peer, &h, x.frame, &y, payload))
	}
	if rs := &m.ranks[h.source]; rs.held != nil {
		o.catchUp(m, rs)
	}
}

// deliverExt is deliver for a message that may need converting or checking.
func (o *module) deliverExt(r *recvReq, source, tag int32, e *ext, data []byte) {
	o.tr.matched(r, source, tag, typeMatch, int64(len(data)))
	r.Status.Source, r.Status.Tag = int(source), int(tag)
	if err := o.distrust(r, e, int64(len(data))); err != nil {
		r.FinishErr(err)
		return
	}
	if err := o.check(r, e, e.sum, data, int64(len(data))); err != nil {
		r.FinishErr(err)
		return
	}
	if n := min(int64(len(data)), r.room); n > 0 && e.arch.Foreign() {
		r.conv.PrepareFor(r.Buf.Type(), r.Buf.Count(), r.Buf.Addr(), e.arch)
		if r.conv.Converts() {
			r.conv.Unpack(data[:n])
			o.delivered(r, int64(len(data)))
			return
		}
	}
	o.deliver(r, source, tag, data)
}

// delivered completes a receive whose eager message of n bytes is in its buffer.
func (o *module) delivered(r *recvReq, n int64) {
	if n > r.room {
		r.Status.Err = truncated(r, n)
		n = r.room
	}
	r.Status.SetBytes(n)
	o.stats.Received[protoEager]++
	o.stats.ReceivedBytes[protoEager] += uint64(n)
	r.Finish()
}

// distrust is why a message is not taken at all, nil mostly: its sender is set otherwise than this rank.
func (o *module) distrust(r *recvReq, e *ext, length int64) *core.Error {
	if e.arch == datatype.ArchNative {
		return nil
	}
	if e.arch != o.arch && !o.env.Mixed {
		return mismatch(core.ErrOther, r, fmt.Sprintf("its data come in another byte order than this rank's; set mpi_architecture to %q for all ranks", "mixed"))
	}
	if e.summed == o.opt.Checksum {
		return nil
	}
	theirs, mine := "without", "true"
	if e.summed {
		theirs, mine = "with", "false"
	}
	return mismatch(core.ErrOther, r, fmt.Sprintf("a message of %d bytes with tag %d comes %s checksums, and this rank has pml_ob1_checksum %s; set it alike for all ranks", length, r.Status.Tag, theirs, mine))
}

// check compares what has come, part of a message of length bytes, with its checksum, if it has any.
func (o *module) check(r *recvReq, e *ext, sum uint32, data []byte, length int64) *core.Error {
	if !e.summed || datatype.Sum(0, data) == sum {
		return nil
	}
	o.stats.ChecksumErrors++
	return mismatch(core.ErrIntern, r, fmt.Sprintf("%d bytes of a message of %d with tag %d were damaged on their way: their checksum is wrong", len(data), length, r.Status.Tag))
}

func mismatch(class core.ErrorClass, r *recvReq, why string) *core.Error {
	return &core.Error{Class: class, Peer: r.Status.Source, Index: -1, Err: errors.New(why)}
}

// mayRead tells whether the memory that an RGET frame offers may be read: it must be as this rank's own, and the whole message is
// wanted if that is what its checksum is of.
func (o *module) mayRead(r *recvReq, e *ext) (equal, whole bool) {
	if e.arch == datatype.ArchNative {
		return true, true
	}
	return e.arch == o.arch, !e.summed || r.want == r.length
}

// summedFrag takes a fragment with a checksum.
func (o *module) summedFrag(peer int, hdr, payload []byte, e *ext) {
	r, off := o.fragFor(peer, hdr, len(payload))
	if r == nil || !e.summed || !r.ext.summed {
		o.refuse(peer)
		return
	}
	if err := o.check(r, e, e.sum, payload, r.length); err != nil {
		if r.Status.Err == nil {
			r.Status.Err = err
		}
	} else {
		r.conv.SetPosition(off)
		r.conv.Unpack(payload)
	}
	o.fragCame(r, off, len(payload))
}

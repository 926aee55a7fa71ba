package ob1

import (
	"encoding/binary"

	"github.com/ompi-go/ompi-go/btl"
)

// Frames. A frame's type is also its BTL tag: dispatch by the BTL is dispatch by header. All fields are little-endian.
//
//	MATCH 16   | type 1 | flags 1 | seq 2 | context 4 | source 4 | tag 4 |
//	RNDV  32   | MATCH 16 | message length 8 | send id 8 |
//	RGET  48   | RNDV 32 | memory handle 16 |
//	ACK   40   | type 1 | flags 1 | 6 zero | send id 8 | receive id 8 | offset 8 | length 8 |
//	FRAG  24   | type 1 | 7 zero | receive id 8 | offset 8 |
//	FIN   24   | type 1 | flags 1 | 6 zero | send id 8 | bytes 8 |
//	PUT   56   | type 1 | flags 1 | 6 zero | send id 8 | receive id 8 | offset 8 | length 8 | memory handle 16 |
//	DONE  32   | type 1 | flags 1 | 2 zero | CRC32C 4 | receive id 8 | offset 8 | length 8 |
//
// Identifiers name a request in its owner's table: index and generation, never an address. source is the sender's rank in the
// communicator; seq numbers the messages of one sender in one context, so that they match in order whatever way they came.
// Extended forms of MATCH, RNDV, RGET and FRAG are in extend.go, CREDIT and STARVE in credit.go.
const (
	typeMatch = 1
	typeRndv  = 2
	typeRget  = 3
	typeAck   = 4
	typeFrag  = 5
	typeFin   = 6
	typePut   = 8
	typeDone  = 9

	matchSize = 16
	rndvSize  = 32
	rgetSize  = rndvSize + btl.MemHandleSize
	ackSize   = 40
	fragSize  = 24
	finSize   = 24
	putSize   = 40 + btl.MemHandleSize
	doneSize  = 32
)

// Flags of MATCH-like frames. A receiver that cannot do what is offered asks for fragments.
const (
	flagSync   = 1 // the sender wants to know of the match
	flagPut    = 2 // on RNDV: the sender can write to the receiver's memory, if that is named with PUT
	flagPiped  = 4 // on RNDV, with flagPut: piece by piece
	flagShared = 8 // on RGET: the read is to be shared, if the receiver's BTL can
)

// Flags of ACK and PUT, by which a receiver asks for parts of a message.
const (
	flagNoGet = 1 // the receiver cannot read the sender's memory, do not offer it again
	flagMore  = 2 // other parts, behind this one or before it, are asked for as well; without it, what is asked for ends with this one
	flagNoPut = 4 // the receiver cannot have its memory written, do not offer it again
)

// Flags of DONE, the answer to every PUT.
const (
	flagFailed = 1 // nothing may be relied upon; the range comes in fragments, if the message still lives
	flagSum    = 2 // the CRC32C is there
)

var le = binary.LittleEndian

func tagOf(frameType int) btl.Tag { return btl.TagPML + btl.Tag(frameType) }

// matchWords are a match header as the two words of an inline message.
func matchWords(frameType, flags uint8, seq uint16, ctx, source uint32, tag int32) (h0, h1 uint64) {
	return uint64(frameType) | uint64(flags)<<8 | uint64(seq)<<16 | uint64(ctx)<<32, uint64(source) | uint64(uint32(tag))<<32
}

// match is a parsed match header.
type match struct {
	flags  uint8
	seq    uint16
	ctx    uint32
	source int32
	tag    int32
}

func parseMatch(b []byte) match {
	_ = b[matchSize-1]
	return match{flags: b[1], seq: le.Uint16(b[2:]), ctx: le.Uint32(b[4:]), source: int32(le.Uint32(b[8:])), tag: int32(le.Uint32(b[12:]))}
}

// rndv is a parsed RNDV or RGET header behind its match part.
type rndv struct {
	flags  uint8 // those of the match part
	length int64
	sendID uint64
	handle btl.MemHandle // RGET only
	ext    ext           // extended frames only: of MATCH, too, with length that of the payload
}

func parseRndv(b []byte) rndv {
	r := rndv{flags: b[1], length: int64(le.Uint64(b[16:])), sendID: le.Uint64(b[24:])}
	if len(b) >= rgetSize {
		r.handle = btl.MemHandle{A: le.Uint64(b[32:]), B: le.Uint64(b[40:])}
	}
	return r
}

func putMatch(f *btl.Frag, h0, h1 uint64) {
	le.PutUint64(f.Hdr[0:], h0)
	le.PutUint64(f.Hdr[8:], h1)
	f.HdrLen = matchSize
}

func putRndv(f *btl.Frag, length int64, sendID uint64) {
	le.PutUint64(f.Hdr[16:], uint64(length))
	le.PutUint64(f.Hdr[24:], sendID)
	f.HdrLen = rndvSize
}

func putRget(f *btl.Frag, h btl.MemHandle) {
	le.PutUint64(f.Hdr[32:], h.A)
	le.PutUint64(f.Hdr[40:], h.B)
	f.HdrLen = rgetSize
}

type ack struct {
	flags          uint8
	sendID, recvID uint64
	offset, length int64
}

func putAck(f *btl.Frag, a ack) {
	le.PutUint64(f.Hdr[0:], typeAck|uint64(a.flags)<<8)
	le.PutUint64(f.Hdr[8:], a.sendID)
	le.PutUint64(f.Hdr[16:], a.recvID)
	le.PutUint64(f.Hdr[24:], uint64(a.offset))
	le.PutUint64(f.Hdr[32:], uint64(a.length))
	f.HdrLen, f.Tag = ackSize, tagOf(typeAck)
}

func parseAck(b []byte) ack {
	return ack{flags: b[1], sendID: le.Uint64(b[8:]), recvID: le.Uint64(b[16:]), offset: int64(le.Uint64(b[24:])), length: int64(le.Uint64(b[32:]))}
}

func putFrag(f *btl.Frag, recvID uint64, offset int64) {
	le.PutUint64(f.Hdr[0:], typeFrag)
	le.PutUint64(f.Hdr[8:], recvID)
	le.PutUint64(f.Hdr[16:], uint64(offset))
	f.HdrLen, f.Tag = fragSize, tagOf(typeFrag)
}

func parseFrag(b []byte) (recvID uint64, offset int64) {
	return le.Uint64(b[8:]), int64(le.Uint64(b[16:]))
}

func putFin(f *btl.Frag, sendID uint64, bytes int64) {
	le.PutUint64(f.Hdr[0:], typeFin)
	le.PutUint64(f.Hdr[8:], sendID)
	le.PutUint64(f.Hdr[16:], uint64(bytes))
	f.HdrLen, f.Tag = finSize, tagOf(typeFin)
}

func parseFin(b []byte) (sendID uint64, bytes int64) {
	return le.Uint64(b[8:]), int64(le.Uint64(b[16:]))
}

// put asks for a range of a message, to be written to the memory of handle, which is as long.
type put struct {
	flags          uint8
	sendID, recvID uint64
	offset, length int64
	handle         btl.MemHandle
}

func putPut(f *btl.Frag, p *put) {
	le.PutUint64(f.Hdr[0:], typePut|uint64(p.flags)<<8)
	le.PutUint64(f.Hdr[8:], p.sendID)
	le.PutUint64(f.Hdr[16:], p.recvID)
	le.PutUint64(f.Hdr[24:], uint64(p.offset))
	le.PutUint64(f.Hdr[32:], uint64(p.length))
	le.PutUint64(f.Hdr[40:], p.handle.A)
	le.PutUint64(f.Hdr[48:], p.handle.B)
	f.HdrLen, f.Tag = putSize, tagOf(typePut)
}

func parsePut(b []byte) put {
	a := parseAck(b)
	return put{a.flags, a.sendID, a.recvID, a.offset, a.length, btl.MemHandle{A: le.Uint64(b[40:]), B: le.Uint64(b[48:])}}
}

// done tells what became of the range that a PUT named.
type done struct {
	flags          uint8
	sum            uint32
	recvID         uint64
	offset, length int64
}

func putDone(f *btl.Frag, d done) {
	le.PutUint64(f.Hdr[0:], typeDone|uint64(d.flags)<<8|uint64(d.sum)<<32)
	le.PutUint64(f.Hdr[8:], d.recvID)
	le.PutUint64(f.Hdr[16:], uint64(d.offset))
	le.PutUint64(f.Hdr[24:], uint64(d.length))
	f.HdrLen, f.Tag = doneSize, tagOf(typeDone)
}

func parseDone(b []byte) done {
	return done{b[1], le.Uint32(b[4:]), le.Uint64(b[8:]), int64(le.Uint64(b[16:])), int64(le.Uint64(b[24:]))}
}

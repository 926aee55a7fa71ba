package tcp

import (
	"encoding/binary"
	"fmt"

	"github.com/ompi-go/ompi-go/btl"
)

// A connection carries a handshake (handshakewire.go) and then frames. All numbers are little-endian. A frame is
//
//	 0      1      2      3      4      5      6      7
//	+------+------+------+------+------+------+------+------+
//	| kind | tag  |hdrLen| from |       payload length      |
//	+------+------+------+------+------+------+------+------+
//	|     sequence number       |      acknowledged         |
//	+------+------+------+------+------+------+------+------+
//	| header (hdrLen bytes), then payload                   |
//
//	kind     active  an active message: header and payload follow
//	         ack     nothing follows; only "acknowledged" counts
//	         down    link number "tag" is given up; "sequence number" is the last frame received from it
//	         bye     no more messages will follow on this link: an end of stream is no failure from now on
//	from     of an active message: 0, or 1 + the number of the broken link on which it was first sent
//	sequence of an active message: 1, 2, 3, ... on each link, wrapping around
//	acknowledged  the last sequence number received on this link in the other direction
const frameSize = 16

type frameKind uint8

const (
	frameActive frameKind = 1 + iota
	frameAck
	frameDown
	frameBye
)

type frame struct {
	kind   frameKind
	tag    btl.Tag
	hdrLen uint8
	from   uint8
	length uint32
	seq    uint32
	ack    uint32
}

// put encodes f into b, which has room for it.
func (f *frame) put(b []byte) {
	_ = b[frameSize-1]
	binary.LittleEndian.PutUint64(b, uint64(f.kind)|uint64(f.tag)<<8|uint64(f.hdrLen)<<16|uint64(f.from)<<24|uint64(f.length)<<32)
	binary.LittleEndian.PutUint64(b[8:], uint64(f.seq)|uint64(f.ack)<<32)
}

// parse decodes the frame at the beginning of b, which has at least frameSize bytes. maxMessage bounds header and payload.
func (f *frame) parse(b []byte, maxMessage uint32) error {
	_ = b[frameSize-1]
	w := binary.LittleEndian.Uint64(b)
	f.kind, f.tag, f.hdrLen, f.from, f.length = frameKind(w), btl.Tag(w>>8), uint8(w>>16), uint8(w>>24), uint32(w>>32)
	w = binary.LittleEndian.Uint64(b[8:])
	f.seq, f.ack = uint32(w), uint32(w>>32)
	switch f.kind {
	case frameActive:
		if f.hdrLen > btl.HeaderMax || f.length > maxMessage || f.from > maxLinks {
			return fmt.Errorf("a message with a header of %d and a payload of %d bytes, first sent on link %d-1; at most %d, %d and %d are agreed",
				f.hdrLen, f.length, f.from, btl.HeaderMax, maxMessage, maxLinks)
		}
	case frameAck, frameDown, frameBye:
		if f.hdrLen != 0 || f.length != 0 || f.from != 0 || f.kind != frameDown && (f.tag != 0 || f.seq != 0) {
			return fmt.Errorf("a control frame of kind %d with fields that it does not have", f.kind)
		}
	default:
		return fmt.Errorf("a frame of kind %d, which does not exist", f.kind)
	}
	return nil
}

// maxLinks bounds the number of links of a pair.
const maxLinks = 16

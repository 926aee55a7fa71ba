package udp

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/ompi-go/ompi-go/btl"
)

// After the handshake (handshakewire.go) a connection carries packets, a datagram each. All numbers are little-endian. A packet is
//
//	 0      1      2      3      4      5      6      7
//	+------+------+------+------+------+------+------+------+
//	| 0xA7 |  1   | kind |flags |       CRC32C, keyed       |
//	+------+------+------+------+------+------+------+------+
//	|            the receiver's connection id               |
//	+------+------+------+------+------+------+------+------+
//	|                    packet number                      |
//	+------+------+------+------+------+------+------+------+
//	|  cumulative: every packet below this one has come     |
//	+------+------+------+------+------+------+------+------+
//	|  selective: bit i is packet cumulative + 1 + i        |
//	+------+------+------+------+------+------+------+------+
//	|      sender's rank        |       window, bytes       |
//	+------+------+------+------+------+------+------+------+
//	|      time stamp, us       |           echo            |
//	+------+------+------+------+------+------+------+------+
//	| body                                                  |
//
//	kind    data   the body is a piece of the stream of frames, and has the packet number for its place in it: 0, 1, 2, ...
//	        ack    the body goes on with the selective bits, eight bytes each; the number is that of the next data packet
//	        ping   as ack, without a body, and to be answered by an ack at once
//	        close  as ack, without a body: who sends it has forgotten the connection
//	flags   bit 0: echo is set
//	window  how many bytes from the cumulative number on the sender of this packet is ready for, costOf(packet) each
//	echo    the time stamp of the last packet that came, advanced by the time since then
//
// A data packet keeps its number and body when it is sent again; all other fields are those of the moment. The sum is that of the whole datagram
// with zeros in its place, and begins with the key of the direction. The bodies in order are a stream of frames:
//
//	 0      1      2      3      4      5      6      7
//	+------+------+------+------+------+------+------+------+
//	| kind | tag  |hdrLen|  0   |       payload length      |
//	+------+------+------+------+------+------+------+------+
//	| header (hdrLen bytes), then payload                   |
//
//	kind    active  an active message
//	        bye     no more messages will follow; all else is zero
//
// A packet has at least one byte of body. A frame's first eight bytes and its header lie in one packet; only payloads go on in the next.
const (
	magicByte   = 0xA7
	wireVersion = 1
	headSize    = 56
	frameSize   = 8
	sackBits    = 64   // in the head of a packet
	flagEcho    = 1    // of packet.flags
	packetCost  = 1024 // what a packet costs its receiver's kernel besides its bytes, about
)

type kind uint8

const (
	kindData kind = 1 + iota
	kindAck
	kindPing
	kindClose
)

// costOf is what a datagram of n bytes takes of the window.
func costOf(n int) int { return n + packetCost }

// packet is the head of a packet.
type packet struct {
	kind   kind
	flags  uint8
	id     uint64
	number uint64
	ack    uint64
	sack   uint64
	from   uint32
	window uint32
	stamp  uint32
	echo   uint32
}

// put encodes p into b, which has room for it, without the sum.
func (p *packet) put(b []byte) {
	_ = b[headSize-1]
	le := binary.LittleEndian
	le.PutUint64(b, magicByte|wireVersion<<8|uint64(p.kind)<<16|uint64(p.flags)<<24)
	le.PutUint64(b[8:], p.id)
	le.PutUint64(b[16:], p.number)
	le.PutUint64(b[24:], p.ack)
	le.PutUint64(b[32:], p.sack)
	le.PutUint64(b[40:], uint64(p.from)|uint64(p.window)<<32)
	le.PutUint64(b[48:], uint64(p.stamp)|uint64(p.echo)<<32)
}

// parse decodes the head of the datagram b, whose sum is not looked at.
func (p *packet) parse(b []byte) error {
	if len(b) < headSize {
		return fmt.Errorf("a packet of %d bytes", len(b))
	}
	le := binary.LittleEndian
	w := le.Uint64(b)
	if w&0xffff != magicByte|wireVersion<<8 {
		return fmt.Errorf("a packet of another protocol (%#x)", w&0xffff)
	}
	p.kind, p.flags = kind(w>>16), uint8(w>>24)
	p.id, p.number, p.ack, p.sack = le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint64(b[24:]), le.Uint64(b[32:])
	w = le.Uint64(b[40:])
	p.from, p.window = uint32(w), uint32(w>>32)
	w = le.Uint64(b[48:])
	p.stamp, p.echo = uint32(w), uint32(w>>32)
	body := len(b) - headSize
	switch {
	case p.flags&^flagEcho != 0 || p.flags == 0 && p.echo != 0:
		return fmt.Errorf("a packet with flags %#x and fields that it does not have", p.flags)
	case p.kind == kindData && body > 0:
	case p.kind == kindAck && body%8 == 0:
	case (p.kind == kindPing || p.kind == kindClose) && body == 0:
	default:
		return fmt.Errorf("a packet of kind %d with a body of %d bytes", p.kind, body)
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumOf is the sum of a packet in b, with zeros in the sum's place meanwhile.
func sumOf(key uint32, b []byte) uint32 {
	_ = b[headSize-1]
	was := binary.LittleEndian.Uint32(b[4:])
	binary.LittleEndian.PutUint32(b[4:], 0)
	sum := crc32.Update(key, castagnoli, b)
	binary.LittleEndian.PutUint32(b[4:], was)
	return sum
}

// intact reports whether the sum of the datagram b, at least headSize long, is right.
func intact(key uint32, b []byte) bool { return binary.LittleEndian.Uint32(b[4:]) == sumOf(key, b) }

type frameKind uint8

const (
	frameActive frameKind = 1 + iota
	frameBye
)

type frame struct {
	kind   frameKind
	tag    btl.Tag
	hdrLen uint8
	length uint32
}

func (f *frame) put(b []byte) {
	binary.LittleEndian.PutUint64(b, uint64(f.kind)|uint64(f.tag)<<8|uint64(f.hdrLen)<<16|uint64(f.length)<<32)
}

// parse decodes the frame at the beginning of b, whose header must be there. maxMessage bounds header and payload.
func (f *frame) parse(b []byte, maxMessage uint32) error {
	if len(b) < frameSize {
		return fmt.Errorf("a frame cut off after %d bytes", len(b))
	}
	w := binary.LittleEndian.Uint64(b)
	f.kind, f.tag, f.hdrLen, f.length = frameKind(w), btl.Tag(w>>8), uint8(w>>16), uint32(w>>32)
	switch {
	case uint8(w>>24) != 0:
		return fmt.Errorf("a frame with fields that it does not have")
	case f.kind == frameBye && w == uint64(frameBye):
		return nil
	case f.kind != frameActive:
		return fmt.Errorf("a frame of kind %d, which does not exist or has fields that it does not have", f.kind)
	case f.hdrLen > btl.HeaderMax || f.length > maxMessage:
		return fmt.Errorf("a message with a header of %d and a payload of %d bytes; at most %d and %d are agreed", f.hdrLen, f.length, btl.HeaderMax, maxMessage)
	case len(b) < frameSize+int(f.hdrLen):
		return fmt.Errorf("a header of %d bytes cut off after %d", f.hdrLen, len(b)-frameSize)
	}
	return nil
}

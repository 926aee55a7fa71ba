package unimem

import "github.com/ompi-go/ompi-go/unimem"

// Mailbox messages. The first word's lowest byte tells the kind in three bits and, for INLINE, the length in five.
//
//	        0          1       2      3        4               8            16          24
//	       +----------+-------+------+--------+---------------+------------+-----------+
//	INLINE | kind,len | tag   | payload: the first six        | h0         | h1        |   then, above six bytes, one more
//	       +----------+-------+------+--------+---------------+------------+-----------+   message of payload alone
//	RTS    | kind     | tag   | hdr  |        | length        | buffer     |           |
//	CTS    | kind     |       |      |        | their buffer  | buffer     | offset    |
//	DONE   | kind     |       |      |        | their buffer  |            |           |
//	EAGER  | kind     | tag   | hdr  |        | length        | sequence   |           |
//	CREDIT | kind     |       |      |        | buffers       |            |           |
//	       +----------+-------+------+--------+---------------+------------+-----------+
//
// length is that of header and payload together, which lie one behind the other in the buffer. A sender's bounce buffers are named by
// number, the receiver's likewise ("their buffer").
const (
	kindInline = 1 + iota
	kindRTS
	kindCTS
	kindDone
	kindEager
	kindCredit
)

const (
	inlineFirst = 6                // bytes of payload in an INLINE message
	inlineMost  = inlineFirst + 24 // and with the one behind it
)

// frame is a mailbox message other than INLINE, taken apart.
type frame struct {
	kind, tag, hdrLen uint8
	n                 uint32
	a, b              uint64
}

func (f frame) message() unimem.Message {
	return unimem.Message{uint64(f.kind) | uint64(f.tag)<<8 | uint64(f.hdrLen)<<16 | uint64(f.n)<<32, f.a, f.b}
}

func kindOf(m *unimem.Message) uint8 { return uint8(m[0] & 7) }

func parseFrame(m *unimem.Message) frame {
	return frame{kind: kindOf(m), tag: uint8(m[0] >> 8), hdrLen: uint8(m[0] >> 16), n: uint32(m[0] >> 32), a: m[1], b: m[2]}
}

// inlineWord is the first word of an INLINE message; head holds the first bytes of payload, above them zeros.
func inlineWord(tag uint8, n int, head uint64) uint64 {
	return kindInline | uint64(n)<<3 | uint64(tag)<<8 | head<<16
}

// parseInline gives the tag, the length, and the first bytes of payload in a word.
func parseInline(w uint64) (tag uint8, n int, head uint64) {
	return uint8(w >> 8), int(w >> 3 & 31), w >> 16
}

package portals4

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ompi-go/ompi-go/btl"
)

// A message is a put. Three words travel beside its bytes, none of which the receiver's blocks look at: match bits, header data and remote
// offset. The last is the meta word, the other two and up to four bytes of that are the beginning of the header.
//
//	          63   60      56        48        40        32                        0
//	         +-------+-------+---------+---------+---------+-------------------------+
//	meta     | kind  | zero  | tag     | hdr len | zero    | WIDE: first header word |
//	         +-------+-------+---------+---------+---------+-------------------------+
//	match    | PLAIN: header 0..7     WIDE: header 8..15   ASK: version   CREDIT: bytes      |
//	hdr data | PLAIN: header 8..15    WIDE: header 16..23                 CREDIT: messages   |
//
// PLAIN has the header's bytes from the 16th on in front of the payload; a header with fewer is filled up with zeros. WIDE has a header of 17
// to 24 bytes whose first eight are a number below 2^32, and nothing in front of the payload. All numbers are little-endian. ASK and CREDIT
// have no bytes.
const (
	kindPlain  = 1 + iota
	kindWide   // a header of up to three words
	kindAsk    // the sender has no credit and wants some
	kindCredit // so much more may be sent
)

const (
	plainHeader = 16
	wideHeader  = 24
)

// words are what travels beside the bytes.
type words struct{ meta, match, data uint64 }

func metaWord(kind uint64, tag btl.Tag, hdrLen int) uint64 {
	return kind<<60 | uint64(tag)<<48 | uint64(hdrLen)<<40
}

// pack puts a header into words; the rest of it goes in front of the payload. The header's memory is longer than the header.
func pack(tag btl.Tag, h *[btl.HeaderMax]byte, n int) (w words, rest []byte) {
	le := binary.LittleEndian
	if n > plainHeader && n <= wideHeader {
		if first := le.Uint64(h[:]); first < 1<<32 {
			return words{metaWord(kindWide, tag, n) | first, le.Uint64(h[8:]), le.Uint64(h[16:])}, nil
		}
	}
	w = words{metaWord(kindPlain, tag, n), le.Uint64(h[:]), le.Uint64(h[8:])}
	if n > plainHeader {
		rest = h[plainHeader:n]
	}
	return w, rest
}

// unpack gives the tag and the header, which it puts into h, of a message, and its payload. ok is false when there is no sense in it.
func unpack(w words, body []byte, h *[btl.HeaderMax]byte) (tag btl.Tag, hdr, payload []byte, ok bool) {
	le := binary.LittleEndian
	n := int(w.meta >> 40 & 0xff)
	tag = btl.Tag(w.meta >> 48)
	if w.meta>>56&15 != 0 || w.meta>>32&0xff != 0 || n > btl.HeaderMax {
		return 0, nil, nil, false
	}
	switch w.meta >> 60 {
	case kindPlain:
		if w.meta&(1<<32-1) != 0 {
			return 0, nil, nil, false
		}
		le.PutUint64(h[:], w.match)
		le.PutUint64(h[8:], w.data)
		if n > plainHeader {
			if len(body) < n-plainHeader {
				return 0, nil, nil, false
			}
			copy(h[plainHeader:], body[:n-plainHeader])
			body = body[n-plainHeader:]
		}
	case kindWide:
		if n <= plainHeader || n > wideHeader {
			return 0, nil, nil, false
		}
		le.PutUint64(h[:], w.meta&(1<<32-1))
		le.PutUint64(h[8:], w.match)
		le.PutUint64(h[16:], w.data)
	default:
		return 0, nil, nil, false
	}
	return tag, h[:n], body, true
}

// The card tells peers how many modules a rank has and what they take.
//
//	 0     1         2                      10
//	+-----+---------+----------------------+
//	| ver | modules | largest message      |
//	+-----+---------+----------------------+
const (
	cardKey     = "btl.portals4"
	cardVersion = 1
	cardSize    = 10
)

type card struct {
	modules int
	most    int64
}

func (c *card) append(b []byte) []byte {
	return binary.LittleEndian.AppendUint64(append(b, cardVersion, byte(c.modules)), uint64(c.most))
}

func parseCard(b []byte) (card, error) {
	if len(b) < 1 || b[0] != cardVersion {
		return card{}, errors.New("its portals4 card is of another version; all ranks must run the same release")
	}
	if len(b) != cardSize {
		return card{}, fmt.Errorf("its portals4 card has %d bytes, want %d", len(b), cardSize)
	}
	c := card{modules: int(b[1]), most: int64(binary.LittleEndian.Uint64(b[2:]))}
	if c.modules < 1 || c.modules > 8 || c.most < btl.HeaderMax {
		return card{}, fmt.Errorf("its portals4 card is bad: %+v", c)
	}
	return c, nil
}

package rdma

import (
	"encoding/binary"
	"errors"

	"github.com/ompi-go/ompi-go/btl"
)

// Tags of the BTLs, behind those of the PML.
const (
	tagRequest btl.Tag = btl.TagPML + 32 + iota
	tagAnswer
)

// frame is the header of a message, little-endian:
//
//	 0  version (1)  kind (1)  what (2)  of requests for words: which; of answers: an am.Status
//	 4  index (4)    age (4)   the window, as the receiver calls it
//	12  rank (4)               the sender's in the window
//	16  seq (4)                of requests: their number among those of the sender to the receiver
//	20  slot (4)     turn (4)  the origin's name of the call
//	28  back (4)     backAge (4)  of requests: the window, as the origin calls it
//	36  zero (4)
//	40  a (8)        b (8)     of requests for words: operands; of answers: a is what was there
//
// Behind it a request has a command of osc/am, if it is one (kind command), and the answer its reply, if there is one.
type frame struct {
	kind          kind
	what          uint16
	index, age    uint32
	rank          uint32
	seq           uint32
	slot, turn    uint32
	back, backAge uint32
	a, b          uint64
}

type kind uint8

const (
	command     kind = 1 + iota // a command of osc/am
	wordAdd                     // a is added to a word of the control block
	wordSwap                    // a takes its place
	wordCompare                 // b does, if it is a
	answer
	kinds
)

const (
	frameVersion = 1
	frameSize    = 56
)

func (h *frame) put(b []byte) {
	_ = b[frameSize-1]
	le := binary.LittleEndian
	b[0], b[1] = frameVersion, byte(h.kind)
	le.PutUint16(b[2:], h.what)
	le.PutUint32(b[4:], h.index)
	le.PutUint32(b[8:], h.age)
	le.PutUint32(b[12:], h.rank)
	le.PutUint32(b[16:], h.seq)
	le.PutUint32(b[20:], h.slot)
	le.PutUint32(b[24:], h.turn)
	le.PutUint32(b[28:], h.back)
	le.PutUint32(b[32:], h.backAge)
	le.PutUint32(b[36:], 0)
	le.PutUint64(b[40:], h.a)
	le.PutUint64(b[48:], h.b)
}

var errFrame = errors.New("osc rdma: a message makes no sense")

func (h *frame) parse(b []byte) error {
	if len(b) != frameSize || b[0] != frameVersion || b[1] == 0 || kind(b[1]) >= kinds {
		return errFrame
	}
	le := binary.LittleEndian
	h.kind, h.what = kind(b[1]), le.Uint16(b[2:])
	h.index, h.age, h.rank, h.seq = le.Uint32(b[4:]), le.Uint32(b[8:]), le.Uint32(b[12:]), le.Uint32(b[16:])
	h.slot, h.turn, h.back, h.backAge = le.Uint32(b[20:]), le.Uint32(b[24:]), le.Uint32(b[28:]), le.Uint32(b[32:])
	h.a, h.b = le.Uint64(b[40:]), le.Uint64(b[48:])
	return nil
}

package portals4

import (
	"encoding/binary"
	"errors"

	"github.com/ompi-go/ompi-go/btl"
)

// The messages of the interface. They are active messages of a NAL; a header begins with two words, little-endian. What is authentic is the sender: the
// NAL vouches for it. All else is checked.
//
// HELLO, the first message of a process to another:
//
//	word 0   magic u32 | version u16 | 0 u16
//	word 1   nid u32 | pid u32
//	then     uid u32 | name of the NAL by which the sender reaches the receiver, 12 bytes
//
// REQUEST, numbered in the order of its sender:
//
//	         0      4      6    8        16       24       32       40       48          64
//	word 0   | op   | ni   | ack| flags  | pt     | atomic | type   | 0      | number    |
//	word 1   match bits
//	then, each if its flag is set:
//	         handle u32          of the operation, for the response
//	         acknowledged u32    handle of an operation of the receiver that has ended well (see ACKS)
//	         remote offset u64
//	         header data u64
//	         length u64          of a get, and of a put whose data waits for the target
//	         memory 2 u64        registration of that data, when the target can read it
//	         operand 16 bytes
//	then     data, to the end
//
// RESPONSE:
//
//	word 0   kind u8 | fail u8 | list u8 | 0 u8 | handle u32
//	word 1   length moved
//	then     offset used u64; of kind readable: token u32 | 0 u32 | memory 2 u64; of kind data: data
//
// ACKS: word 0: 0; word 1: 0; then handles u32 of operations that ended as plainly as can be: matched in the priority list, moved whole, at the offset asked for.
//
// CTS, which lets the data of a put come: word 0: token u32 | handle u32; word 1: length. BODY, that data: word 0: token u32 | 0 u32; word 1: offset.
// REPLY, data of a get: word 0: handle u32 | 0 u32; word 1: offset. FIN, the end of reading: word 0: token u32 | failed u32; word 1: 0.
//
// Handles and tokens are an index and a generation; who sends one he was not given is not believed any more.
const (
	tagHello btl.Tag = iota + 1
	tagRequest
	tagResponse
	tagAcks
	tagCTS
	tagBody
	tagReply
	tagFin
)

const (
	magic   = 0x344c5450 // "PTL4"
	version = 1
)

// Operations.
const (
	opPut = iota
	opGet
	opAtomic
	opFetch
	opSwap
	operations
)

// Flags of a request.
const (
	hasHandle = 1 << iota
	hasAck
	hasOffset
	hasHdr
	hasLength
	hasMem
	hasOperand
	unordered
)

// Kinds of a response.
const (
	respDone     = iota // of a put or an atomic operation
	respData            // of a get: the data is here
	respFollows         // it comes by REPLY
	respReadable        // it is to be read
	respQuiet           // respDone, of which the initiator is not to hear
	respKinds
)

const (
	operandSize = 16
	nalNameMax  = 12
	headMax     = btl.HeaderMax
)

var errGarbage = errors.New("a message that no interface of this version sends")

// tailSize is how long what the flags promise is.
var tailSize = func() (t [256]uint8) {
	for flags := range t {
		for f, n := range [...]uint8{4, 4, 8, 8, 8, 16, operandSize} {
			t[flags] += uint8(flags) >> f & 1 * n
		}
	}
	return t
}()

// request is a REQUEST, decoded.
type request struct {
	op, flavour, ack uint8
	flags            uint8
	pt               uint8
	atomic           AtomicOp
	typ              Type
	number           uint16
	handle, acked    uint32
	bits             uint64
	offset, hdrData  uint64
	length           uint64
	mem              btl.MemHandle
	operand          []byte
	data             []byte
}

// words are the first two of a request's header.
func (r *request) words() (uint64, uint64) {
	return uint64(r.op) | uint64(r.flavour)<<4 | uint64(r.ack)<<6 | uint64(r.flags)<<8 | uint64(r.pt)<<16 | uint64(r.atomic)<<24 | uint64(r.typ)<<32 | uint64(r.number)<<48, r.bits
}

// appendTail writes what follows the two words, without the data.
func (r *request) appendTail(b []byte) []byte {
	le := binary.LittleEndian
	if r.flags&hasHandle != 0 {
		b = le.AppendUint32(b, r.handle)
	}
	if r.flags&hasAck != 0 {
		b = le.AppendUint32(b, r.acked)
	}
	if r.flags&hasOffset != 0 {
		b = le.AppendUint64(b, r.offset)
	}
	if r.flags&hasHdr != 0 {
		b = le.AppendUint64(b, r.hdrData)
	}
	if r.flags&hasLength != 0 {
		b = le.AppendUint64(b, r.length)
	}
	if r.flags&hasMem != 0 {
		b = le.AppendUint64(b, r.mem.A)
		b = le.AppendUint64(b, r.mem.B)
	}
	if r.flags&hasOperand != 0 {
		n := copy(b[len(b):len(b)+operandSize], r.operand)
		clear(b[len(b)+n : len(b)+operandSize])
		b = b[:len(b)+operandSize]
	}
	return b
}

// parse reads a request: its two words, and the rest, which are views of what came.
func (r *request) parse(w0, w1 uint64, tail, data []byte) error {
	le := binary.LittleEndian
	r.op, r.flavour, r.ack, r.flags, r.pt = uint8(w0&15), uint8(w0>>4&3), uint8(w0>>6&3), uint8(w0>>8), uint8(w0>>16)
	r.atomic, r.typ, r.number, r.bits = AtomicOp(w0>>24), Type(w0>>32), uint16(w0>>48), w1
	r.handle, r.acked, r.offset, r.hdrData, r.length, r.operand = 0, 0, 0, 0, 0, nil // others are looked at only with their flag
	if len(tail) < int(tailSize[r.flags]) || r.op >= operations {
		return errGarbage
	}
	if r.flags&hasHandle != 0 {
		r.handle, tail = le.Uint32(tail), tail[4:]
	}
	if r.flags&hasAck != 0 {
		r.acked, tail = le.Uint32(tail), tail[4:]
	}
	if r.flags&hasOffset != 0 {
		r.offset, tail = le.Uint64(tail), tail[8:]
	}
	if r.flags&hasHdr != 0 {
		r.hdrData, tail = le.Uint64(tail), tail[8:]
	}
	if r.flags&hasLength != 0 {
		r.length, tail = le.Uint64(tail), tail[8:]
	}
	if r.flags&hasMem != 0 {
		r.mem, tail = btl.MemHandle{A: le.Uint64(tail), B: le.Uint64(tail[8:])}, tail[16:]
	}
	if r.flags&hasOperand != 0 {
		r.operand, tail = tail[:operandSize], tail[operandSize:]
	}
	switch {
	case len(data) == 0:
		r.data = tail
	case len(tail) == 0:
		r.data = data
	default:
		return errGarbage
	}
	return r.check()
}

// check refuses what fits together nowhere.
func (r *request) check() error {
	n := uint64(len(r.data))
	switch r.op {
	case opPut:
		if r.flags&hasLength == 0 {
			r.length = n
		} else if n != 0 || r.flags&hasHandle == 0 || r.length > most.MaxMsgSize {
			return errGarbage
		}
	case opGet:
		if n != 0 || r.flags&(hasLength|hasHandle) != hasLength|hasHandle || r.length > most.MaxMsgSize {
			return errGarbage
		}
	default:
		if r.flags&(hasLength|hasMem) != 0 || n > maxAtomic || !legal(r.atomic, r.typ, r.op == opSwap) || n%uint64(r.typ.size()) != 0 {
			return errGarbage
		}
		r.length = n
		if r.op != opAtomic && r.flags&hasHandle == 0 || single(r.atomic) && (n != uint64(r.typ.size()) || r.flags&hasOperand == 0) {
			return errGarbage
		}
	}
	if r.ack != 0 && r.flags&hasHandle == 0 {
		return errGarbage
	}
	return nil
}

// response is a RESPONSE, decoded.
type response struct {
	kind    uint8
	fail    FailType
	list    List
	handle  uint32
	mlength uint64
	offset  uint64
	token   uint32
	mem     btl.MemHandle
	data    []byte
}

func (r *response) words() (uint64, uint64) {
	return uint64(r.kind) | uint64(r.fail)<<8 | uint64(r.list)<<16 | uint64(r.handle)<<32, r.mlength
}

func (r *response) appendTail(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, r.offset)
	if r.kind == respReadable {
		b = le.AppendUint64(b, uint64(r.token))
		b = le.AppendUint64(b, r.mem.A)
		b = le.AppendUint64(b, r.mem.B)
	}
	return b
}

func (r *response) parse(w0, w1 uint64, tail, data []byte) error {
	le := binary.LittleEndian
	*r = response{kind: uint8(w0), fail: FailType(w0 >> 8), list: List(w0 >> 16), handle: uint32(w0 >> 32), mlength: w1}
	if r.kind >= respKinds || r.fail > SegV || r.list > OverflowList || len(tail) < 8 {
		return errGarbage
	}
	r.offset, tail = le.Uint64(tail), tail[8:]
	if r.kind == respReadable {
		if len(tail) < 24 {
			return errGarbage
		}
		r.token, r.mem, tail = uint32(le.Uint64(tail)), btl.MemHandle{A: le.Uint64(tail[8:]), B: le.Uint64(tail[16:])}, tail[24:]
	}
	if len(data) == 0 {
		data, tail = tail, nil
	}
	if len(tail) != 0 || (r.kind == respData) != (uint64(len(data)) == r.mlength && r.kind == respData) || r.kind != respData && len(data) != 0 {
		return errGarbage
	}
	r.data = data
	return nil
}

// split gives a message's two words, and the rest of its header or, of an inline message, of its payload.
func split(hdr, payload []byte) (w0, w1 uint64, tail, data []byte, ok bool) {
	if len(hdr) < btl.InlineHeader {
		return 0, 0, nil, nil, false
	}
	w0, w1 = binary.LittleEndian.Uint64(hdr), binary.LittleEndian.Uint64(hdr[8:])
	if len(hdr) > btl.InlineHeader {
		return w0, w1, hdr[btl.InlineHeader:], payload, true
	}
	return w0, w1, payload, nil, true
}

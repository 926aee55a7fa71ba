package sm

import (
	"sync/atomic"
	"unsafe"
)

// line is the unit in which cores exchange memory. What different ranks write at the same time lies on different lines.
const line = 64

// castBuffers is how many broadcasts a root may be ahead of the slowest rank.
const castBuffers = 4

// board is the memory where the ranks of a communicator meet, as one of them sees it. All counters are of 64 bits and only grow.
//
//	line 0   arrivals: n for each past meeting, and one for each rank that has come to the present one; above the 48 bits of
//	         that, the sum of what they came for (sign.go)
//	line 1   left: members that have let go of the board; blocked: 1 + the root that waits for a cast buffer, or 0
//	line 2…  released: meetings over; odd, oddSum: the last meeting whose ranks did not agree, and arrivals after it; result:
//	         what the last one left for the others, beginning on the same line
//	then     castBuffers times seq: the broadcast it holds; length and root; claim: who writes it; data, beginning on the same line
//	then     of each rank read: broadcasts done with, alone on its line; slot: the rank's operand
//
// A meeting: each rank writes its operand into its slot and adds one to arrivals. Who finds that it completes the number has
// everybody's operand, writes result and then released, on which the others wait. Nothing needs a second buffer: slots are
// written again only after the release, and result only when all have come to the next meeting, hence have read it.
//
// A broadcast is no meeting: the root goes on when it has written, so a buffer must not be taken again before all have read it.
type board struct {
	mem      unsafe.Pointer
	room     int64 // bytes of data in each place
	arrivals *atomic.Uint64
	left     *atomic.Uint64
	blocked  *atomic.Uint64
	released *atomic.Uint64
	odd      *atomic.Uint64
	oddSum   *atomic.Uint64
	result   unsafe.Pointer
	casts    [castBuffers]cast
	ranks    uintptr // offset of what each rank has
	stride   uintptr // from one rank to the next
}

type cast struct {
	seq    *atomic.Uint64
	claim  *atomic.Uint64 // the broadcast whose root has the buffer, or had it last
	length *uint64
	data   unsafe.Pointer
}

func lines(n int64) uintptr { return uintptr(n+line-1) &^ (line - 1) }

// Offsets within line 1, the result area and a cast buffer.
const (
	blockedAt  = 8
	oddAt      = 8
	resultAt   = 24
	castLenAt  = 8
	castFor    = 16
	castDataAt = 24
)

func resultSize(room int64) uintptr { return lines(resultAt + room) }
func castSize(room int64) uintptr   { return lines(castDataAt + room) }
func rankSize(room int64) uintptr   { return line + lines(room) }

// boardSize is the size in bytes of a board for n ranks.
func boardSize(n int, room int64) int64 {
	return int64(2*line + resultSize(room) + castBuffers*castSize(room) + uintptr(n)*rankSize(room))
}

// boardAt lays a board over memory of boardSize bytes that is zero in the beginning and starts on a line.
func boardAt(mem unsafe.Pointer, room int64) board {
	word := func(at uintptr) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Add(mem, at)) }
	b := board{mem: mem, room: room, arrivals: word(0), left: word(line), blocked: word(line + blockedAt)}
	at := uintptr(2 * line)
	b.released, b.odd, b.oddSum, b.result = word(at), word(at+oddAt), word(at+oddAt+8), unsafe.Add(mem, at+resultAt)
	at += resultSize(room)
	for i := range b.casts {
		b.casts[i] = cast{seq: word(at), claim: word(at + castFor), length: (*uint64)(unsafe.Add(mem, at+castLenAt)), data: unsafe.Add(mem, at+castDataAt)}
		at += castSize(room)
	}
	b.ranks, b.stride = at, rankSize(room)
	return b
}

// read counts the broadcasts that rank r is done with.
func (b *board) read(r int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Add(b.mem, b.ranks+uintptr(r)*b.stride))
}

// slot is where rank r puts its operand.
func (b *board) slot(r int) unsafe.Pointer {
	return unsafe.Add(b.mem, b.ranks+uintptr(r)*b.stride+line)
}

// cast is the buffer of the broadcast with this number.
func (b *board) cast(number uint64) *cast { return &b.casts[number%castBuffers] }

// leastRead is the number of broadcasts that all n ranks are done with.
func (b *board) leastRead(n int) uint64 {
	least := b.read(0).Load()
	for r := 1; r < n; r++ {
		least = min(least, b.read(r).Load())
	}
	return least
}

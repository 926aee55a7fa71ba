package ompi

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/ompi-go/ompi-go/core"
)

// matter tells agreements apart. All that take part in one derive the same matter from the call's arguments, without talking. A
// matter may come up again once all have left its last agreement: messages of one sender stay in order.
type matter struct {
	scope   scope
	a, b, c uint64
}

// scope says what the numbers of a matter mean.
type scope uint8

const (
	scopeComm   scope = 1 + iota // a: context, b: which creation on that communicator, c: its members
	scopeGroup                   // a: context, b: tag, c: group
	scopePset                    // a, b: string tag, c: group
	scopeBridge                  // a: context of the bridge, b: tag
	scopeInter                   // a: context of the bridge, b: tag, c: both groups
	scopeEnd
)

// groupHash tells groups apart that use one tag.
func groupHash(ranks []int) uint64 {
	h := fnv.New64a()
	var word [8]byte
	for _, r := range ranks {
		binary.LittleEndian.PutUint64(word[:], uint64(r))
		h.Write(word[:]) // never fails
	}
	return h.Sum64()
}

// What a council message says.
type saying uint8

const (
	sayVote  saying = 1 + iota // to the parent: what the ranks below can do
	sayTry                     // to the children: put your hand on a number, and vote
	sayDone                    // to the children: the number that was tried is the context
	sayFail                    // to the children: there will be none
	sayHello                   // between two leaders
	sayEnd
)

// Flags of a council message.
const (
	flagHave = 1 << iota // vote: all have their hand on the number; try: keep the number that was tried, and find another
	flagVeto             // vote: somebody cannot go on; fail: that is why
	flagAll  = flagHave | flagVeto
)

// Council messages travel between ranks of one job, little-endian:
//
//	 0        1        2        3        4        8
//	+--------+--------+--------+--------+--------+--------+
//	| version| saying | scope  | flags  | number          |
//	+--------+--------+--------+--------+--------+--------+
//	| 8: a          | 16: b         | 24: c      | 32: want |
//	+---------------+---------------+------------+---------+
//
// number is a context number (try), or the size of a group (hello); want is the lowest free context number (vote), the number from
// which to look next (try), or the tag of a message to come (hello).
const (
	councilSize    = 40
	councilVersion = 1
)

type councilMsg struct {
	saying saying
	flags  uint8
	number uint32
	want   uint64
	about  matter
}

func (m *councilMsg) put(b *[councilSize]byte) {
	le := binary.LittleEndian
	b[0], b[1], b[2], b[3] = councilVersion, byte(m.saying), byte(m.about.scope), m.flags
	le.PutUint32(b[4:], m.number)
	le.PutUint64(b[8:], m.about.a)
	le.PutUint64(b[16:], m.about.b)
	le.PutUint64(b[24:], m.about.c)
	le.PutUint64(b[32:], m.want)
}

// parseCouncil reads a message of n bytes; false when it makes no sense.
func parseCouncil(b *[councilSize]byte, n int64) (councilMsg, bool) {
	le := binary.LittleEndian
	m := councilMsg{saying: saying(b[1]), flags: b[3], number: le.Uint32(b[4:]), want: le.Uint64(b[32:]),
		about: matter{scope: scope(b[2]), a: le.Uint64(b[8:]), b: le.Uint64(b[16:]), c: le.Uint64(b[24:])}}
	ok := n == councilSize && b[0] == councilVersion && m.saying > 0 && m.saying < sayEnd && m.about.scope > 0 && m.about.scope < scopeEnd && m.flags&^flagAll == 0
	return m, ok
}

// errRefused is what an agreement gives to those who could go on when another could not.
func errRefused() error {
	return core.NewError(ErrOther, "another rank could not take part; its own call tells why")
}

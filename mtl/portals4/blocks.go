package portals4

import (
	"unsafe"

	ptl "github.com/ompi-go/ompi-go/portals4"
)

// blocks are the overflow list of the portal table entry recv: memory for short messages that come before their receives, and behind it an
// entry without memory for the headers of long ones. A block that is full unlinks itself; when the last message in it has been received,
// the interface says so, and it is linked again.
type blocks struct {
	mem   []byte
	size  int
	list  []shortBlock
	heads ptl.Entry
}

type shortBlock struct {
	entry  ptl.Entry
	mem    []byte
	linked bool
	owed   []uint32 // with credit: bytes in it by peer, received and not given back yet
}

const blockOptions = ptl.OpPut | ptl.MEManageLocal | ptl.EventLinkDisable | ptl.EventCommDisable

func (b *blocks) init(m *module) error {
	n, size := m.opt.ShortRecvNum, int(m.opt.ShortRecvSize)
	if m.credit.on {
		n, size = m.credit.shape(m)
	}
	b.size = size
	b.mem = make([]byte, n*size)
	b.list = make([]shortBlock, n)
	for i := range b.list {
		b.list[i].mem = b.mem[i*size : (i+1)*size : (i+1)*size]
		if err := m.link(&b.list[i]); err != nil {
			return err
		}
	}
	var err error
	b.heads, err = m.recvPT.MEAppend(&ptl.ME{MatchID: ptl.AnyProcess, UID: ptl.AnyUID, MatchBits: protoLong << protoShift,
		IgnoreBits: ^uint64(anyProto), Options: ptl.OpPut | ptl.EventLinkDisable | ptl.EventCommDisable | ptl.EventUnlinkDisable}, ptl.OverflowList, nil)
	return err
}

// link appends a block. Short messages match it, and the first parts of long ones: their protocols differ in one bit.
func (m *module) link(b *shortBlock) error {
	var err error
	b.entry, err = m.recvPT.MEAppend(&ptl.ME{Start: b.mem, MatchID: ptl.AnyProcess, UID: ptl.AnyUID, MatchBits: protoShort << protoShift,
		IgnoreBits: ^uint64(anyProto) | (protoShort^protoRndv)<<protoShift, MinFree: uint64(max(m.most, 1)), Options: blockOptions}, ptl.OverflowList, b)
	b.linked = err == nil
	return err
}

// freed: all messages of a block have been received.
func (m *module) freed(b *shortBlock) {
	m.stats.recycled++
	m.credit.freed(m, b)
	if err := m.link(b); err != nil {
		m.breakDown(interfaceError("PtlMEAppend", err))
	}
}

// of is the block that a message lies in.
func (b *blocks) of(mem []byte) *shortBlock {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(mem))) - uintptr(unsafe.Pointer(unsafe.SliceData(b.mem)))
	if i := at / uintptr(b.size); i < uintptr(len(b.list)) {
		return &b.list[i]
	}
	return nil
}

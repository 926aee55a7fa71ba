package rdma

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"unsafe"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/osc/words"
)

// A card is what a member tells all others about its part of the window, little-endian:
//
//	 0  version (4)  flags (4): 1: its memory is ready
//	 8  index (4)    age (4)    of the window at this member, for messages
//	16  base (8)                address of its memory, for the alignment of words
//	24  size (8)                of its memory
//	32  ways * { name (8)  flags (8): 1: memory, 2: control block  memory (16)  control block (16) }
//
// A way is what a BTL calls the memory and the control block; its name is a hash of the BTL's. Members may have different BTLs.
const (
	cardVersion = 1
	ways        = 4
	waySize     = 48
	cardSize    = 32 + ways*waySize
)

type way struct {
	name     uint64 // 0: none
	hasMem   bool
	hasCtl   bool
	mem, ctl btl.MemHandle
}

type card struct {
	ready      bool
	index, age uint32
	base, size uint64
	ways       [ways]way
}

func wayName(btl string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(btl)) // cannot fail
	return h.Sum64() | 1
}

func (c *card) append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, cardVersion)
	b = le.AppendUint32(b, flags(c.ready, false))
	b = le.AppendUint32(b, c.index)
	b = le.AppendUint32(b, c.age)
	b = le.AppendUint64(b, c.base)
	b = le.AppendUint64(b, c.size)
	for i := range c.ways {
		w := &c.ways[i]
		b = le.AppendUint64(b, w.name)
		b = le.AppendUint64(b, uint64(flags(w.hasMem, w.hasCtl)))
		for _, h := range [...]btl.MemHandle{w.mem, w.ctl} {
			b = le.AppendUint64(b, h.A)
			b = le.AppendUint64(b, h.B)
		}
	}
	return b
}

func flags(one, two bool) (f uint32) {
	if one {
		f |= 1
	}
	if two {
		f |= 2
	}
	return f
}

var errCard = errors.New("osc rdma: a member's card cannot be read; is it another version of this library?")

func parseCard(b []byte) (c card, err error) {
	le := binary.LittleEndian
	if len(b) != cardSize || le.Uint32(b) != cardVersion {
		return c, errCard
	}
	c.ready = le.Uint32(b[4:])&1 != 0
	c.index, c.age = le.Uint32(b[8:]), le.Uint32(b[12:])
	c.base, c.size = le.Uint64(b[16:]), le.Uint64(b[24:])
	if c.size > 1<<62 {
		return c, errCard
	}
	for i := range c.ways {
		w, p := &c.ways[i], b[32+i*waySize:]
		w.name = le.Uint64(p)
		f := le.Uint64(p[8:])
		w.hasMem, w.hasCtl = f&1 != 0, f&2 != 0
		w.mem = btl.MemHandle{A: le.Uint64(p[16:]), B: le.Uint64(p[24:])}
		w.ctl = btl.MemHandle{A: le.Uint64(p[32:]), B: le.Uint64(p[40:])}
	}
	return c, nil
}

// way gives what the card's member calls its memory towards a BTL.
func (c *card) way(btl string) *way {
	name := wayName(btl)
	for i := range c.ways {
		if c.ways[i].name == name {
			return &c.ways[i]
		}
	}
	return nil
}

// register has the BTLs name the window's memory and the control block. What one refuses is reached by messages. The token is held.
func (m *module) register() {
	n := 0
	for _, mod := range m.f.env.BML.Modules() {
		reg, ok := mod.(btl.Registrar)
		if !ok || n == ways {
			continue
		}
		w := &m.card.ways[n]
		var err error
		if w.ctl, err = reg.Register(unsafe.Pointer(m.ctl), m.ctlSize); err == nil {
			w.hasCtl = true
		}
		if m.w.Memory != nil && m.w.Size > 0 {
			if w.mem, err = reg.Register(m.w.Memory.Base(), m.w.Size); err == nil {
				w.hasMem = true
			} else {
				m.f.env.Say("osc-rdma-register-"+mod.Name(), fmt.Sprintf("osc rdma: memory of windows is reached by messages, not by btl %s: %v", mod.Name(), err))
			}
		}
		if w.hasCtl || w.hasMem {
			w.name = wayName(mod.Name())
			m.regs[n] = reg
			n++
		}
	}
}

func (m *module) deregister() {
	for i, reg := range m.regs {
		if reg == nil {
			continue
		}
		if w := &m.card.ways[i]; w.hasCtl {
			reg.Deregister(w.ctl)
		}
		if w := &m.card.ways[i]; w.hasMem {
			reg.Deregister(w.mem)
		}
		m.regs[i] = nil
	}
}

// introduce exchanges the cards. A member that has failed before says so in its own.
func (m *module) introduce(failed error) ([]byte, error) {
	m.card.ready = failed == nil
	mine := m.card.append(make([]byte, 0, cardSize))
	all := make([]byte, cardSize*m.w.Comm.Size())
	err := m.w.Coll.Allgather.Allgather(core.MakeBuffer(unsafe.Pointer(&mine[0]), cardSize, datatype.Byte),
		core.MakeBuffer(unsafe.Pointer(&all[0]), cardSize*int64(m.w.Comm.Size()), datatype.Byte))
	return all, errors.Join(failed, err)
}

// meet reads the cards.
func (m *module) meet(all []byte) error {
	m.cards = all
	for r := range m.w.Comm.Size() {
		c, err := m.cardOf(r)
		if err != nil {
			return core.NewError(core.ErrIntern, "rank %d: %w", r, err)
		}
		if !c.ready {
			return core.NewError(core.ErrOther, "osc rdma: rank %d could not make its part of the window", r)
		}
	}
	m.quietly()
	m.sync.Init(m, words.Config{MCS: m.f.opts.Lock == "mcs", Recover: m.w.Hints.Recover, Flush: m.Flush}, m.w.Comm)
	return nil
}

// quietly finds out whether members change this one's words without a message or a ring: by atomics of a BTL. The ways to a member are like the ways from it,
// and of members on one host the next stands for all.
func (m *module) quietly() {
	if !m.f.opts.Atomics || m.w.Comm.Size() == 1 {
		return
	}
	if m.silent = !m.w.OneHost; m.silent {
		return
	}
	m.f.engine.Lock()
	defer m.f.engine.Unlock()
	t, err := m.at((m.w.Comm.MyRank + 1) % m.w.Comm.Size())
	m.silent = err == nil && t.words8 != nil
}

func (m *module) cardOf(rank int) (card, error) {
	return parseCard(m.cards[rank*cardSize:][:cardSize])
}

package unimem

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ompi-go/ompi-go/unimem"
)

// The card tells peers where a rank's device lies and how it is shaped. All numbers are little-endian.
//
//	 0     1     9     13    17     25      33        37      41        45
//	+-----+-----+-----+-----+------+-------+---------+-------+---------+-----+
//	| ver |piece|peers|slots|memory|eagerAt|eagerSize|buffers|bufferSiz|flags|
//	+-----+-----+-----+-----+------+-------+---------+-------+---------+-----+
const (
	cardKey     = "btl.unimem"
	cardVersion = 1
	cardSize    = 46
	flagBeats   = 1
)

type card struct {
	piece      uint64 // of the shared segment: the device's block
	peers      uint32
	slots      uint32
	memory     uint64
	eagerAt    uint64 // offset of the eager buffers: buffers of eagerSize for each peer, by position
	eagerSize  uint32
	buffers    uint32
	bufferSize uint32
	beats      bool // the heartbeat moves
}

func (c *card) append(b []byte) []byte {
	le := binary.LittleEndian
	b = append(b, cardVersion)
	b = le.AppendUint64(b, c.piece)
	b = le.AppendUint32(b, c.peers)
	b = le.AppendUint32(b, c.slots)
	for _, v := range []uint64{c.memory, c.eagerAt} {
		b = le.AppendUint64(b, v)
	}
	for _, v := range []uint32{c.eagerSize, c.buffers, c.bufferSize} {
		b = le.AppendUint32(b, v)
	}
	var flags byte
	if c.beats {
		flags = flagBeats
	}
	return append(b, flags)
}

// parseCard reads a peer's card; local is the number of ranks on this host, which all see alike.
func parseCard(b []byte, local int) (card, error) {
	if len(b) < 1 || b[0] != cardVersion {
		return card{}, errors.New("its unimem card is of another version; all ranks must run the same release")
	}
	if len(b) != cardSize {
		return card{}, fmt.Errorf("its unimem card has %d bytes, want %d", len(b), cardSize)
	}
	le := binary.LittleEndian
	c := card{
		piece: le.Uint64(b[1:]), peers: le.Uint32(b[9:]), slots: le.Uint32(b[13:]), memory: le.Uint64(b[17:]),
		eagerAt: le.Uint64(b[25:]), eagerSize: le.Uint32(b[33:]), buffers: le.Uint32(b[37:]), bufferSize: le.Uint32(b[41:]), beats: b[45]&flagBeats != 0,
	}
	if err := c.config().Check(); err != nil {
		return card{}, fmt.Errorf("its unimem card is bad: %w", err)
	}
	eager := uint64(c.peers) * uint64(c.buffers) * uint64(c.eagerSize)
	switch {
	case int(c.peers) != local, c.buffers < 1 || c.buffers > 255, c.eagerSize < 64 || c.eagerSize > 1<<24 || c.eagerSize%64 != 0,
		c.bufferSize < 64 || c.bufferSize > 1<<24 || c.bufferSize%64 != 0,
		c.eagerAt > c.memory || eager > c.memory-c.eagerAt || c.eagerAt%64 != 0:
		return card{}, fmt.Errorf("its unimem card is bad: %+v", c)
	}
	return c, nil
}

// config is the shape of the peer's device.
func (c *card) config() unimem.Config {
	return unimem.Config{Peers: int(c.peers), Slots: c.slots, Memory: int64(min(c.memory, 1<<62))}
}

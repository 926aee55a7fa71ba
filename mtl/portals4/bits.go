package portals4

import (
	"fmt"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/mtl"
)

// Match bits on the portal table entry recv, here with 16 bits of source and 32 of tag (mtl_portals4_match_bits):
//
//	 63      60 59       48 47          32 31                 0
//	+----------+-----------+--------------+--------------------+
//	| protocol | context   | source rank  | P | tag            |
//	+----------+-----------+--------------+--------------------+
//
// Context is the channel's number, source a rank of its communicator. P marks the tags for pairs of ranks (mtl.PairTags), which are counted
// from there; AnyTag compares P, too, and so never meets them.
//
// hdr_data tells the rest. As it stands it is the key under which a message is exposed on the portal table entry read:
//
//	 63     62 61        40 39                    0
//	+------+---+------------+----------------------+
//	| sync | 0 | send       | length               |
//	+------+---+------------+----------------------+
//
// A send has a number of its own among those of its rank which are under way, if it is exposed or synchronous, else 0. Bit 62 marks the other kind of
// key, the match bits of a message whose receive has armed a get (triggered.go).
const (
	protoShift = 60
	ctxShift   = 48
	ctxBits    = 12

	protoShort = 1 // whole in the put
	protoLong  = 2 // no block takes it: unexpected, its header alone is kept
	protoRndv  = 3 // its first bytes are in the put, and blocks take them
	protoKey   = 4 // of triggered.go

	anyProto = 0xf << protoShift

	hdrSync   = 1 << 63
	idShift   = 40
	maxIDs    = 1<<22 - 1
	maxLength = 1<<idShift - 1
)

// split is how source and tag share 48 bits.
type split struct{ source, tag uint }

// parseSplit reads a value of the parameter match_bits.
func parseSplit(s string) (split, error) {
	switch s {
	case "4/12/16/32":
		return split{16, 32}, nil
	case "4/12/24/24":
		return split{24, 24}, nil
	}
	return split{}, fmt.Errorf("mtl portals4: %q is no split of the match bits (mtl_portals4_match_bits)", s)
}

// pair is the bit P.
func (b split) pair() uint64 { return 1 << (b.tag - 1) }

// maxTag is the largest tag of users: the PML's own begin at PairTags, whatever fits.
func (b split) maxTag() int { return min(int(b.pair()), mtl.PairTags) - 1 }

func (b split) maxRank() int { return 1<<b.source - 1 }

// tagBits gives a tag its bits; false where it has none. Of the PML's own tags the low bits count: they are given out one after the other, so
// that two which are the same here, at least 2^23 apart, are not in use together.
func (b split) tagBits(tag int) (uint64, bool) {
	if uint(tag) <= uint(b.maxTag()) {
		return uint64(tag), true
	}
	return b.pair() | uint64(tag-mtl.PairTags)&(b.pair()-1), tag >= mtl.PairTags
}

// bits are those of a message without its protocol.
func (b split) bits(ctx uint32, source int, tag uint64) uint64 {
	return uint64(ctx)<<ctxShift | uint64(source)<<b.tag | tag
}

// pattern is what a receive or probe compares and what it ignores.
func (b split) pattern(ctx uint32, source, tag int) (bits, ignore uint64, ok bool) {
	ignore = anyProto
	if source == core.AnySource {
		ignore |= uint64(b.maxRank()) << b.tag
		source = 0
	}
	t, ok := uint64(0), true
	if tag == core.AnyTag {
		ignore |= b.pair() - 1
	} else {
		t, ok = b.tagBits(tag)
	}
	return b.bits(ctx, source, t), ignore, ok
}

// sourceOf and tagOf read match bits. Tags of the PML are those that were sent as far as the bits go: who has asked for one knows it.
func (b split) sourceOf(bits uint64) int { return int(bits >> b.tag & uint64(b.maxRank())) }

func (b split) tagOf(bits uint64) int {
	t := bits & (2*b.pair() - 1)
	if t >= b.pair() {
		return int(t-b.pair()) + mtl.PairTags
	}
	return int(t)
}

func (b split) terms() string { return fmt.Sprintf("4/12/%d/%d", b.source, b.tag) }

func protoOf(bits uint64) uint64 { return bits >> protoShift }

func lengthOf(hdr uint64) int { return int(hdr & maxLength) }

// tagError is for tags that do not fit.
func (b split) tagError(tag int) *core.Error {
	return core.NewError(core.ErrTag, "mtl portals4: tag %d does not fit into %d bits of the match bits %s (mtl_portals4_match_bits)", tag, b.tag, b.terms())
}

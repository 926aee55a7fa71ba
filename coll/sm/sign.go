package sm

import (
	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
)

// Ranks that call different operations, or the same one with other sizes or roots, would meet on the board all the same and take each
// other's bytes for what they are not. So what a rank adds to arrivals says in its upper bits what it came for: who comes last knows
// what the sum must be if all came for the same.

// finish is the barrier of Finalize, beside the operations of package alg.
const finish = alg.Kinds

// countBits are the bits of arrivals that count; a century of meetings.
const countBits = 48

const countMask = 1<<countBits - 1

// sign is what a rank adds to arrivals for an operation. Different ones differ in all but one case of 65,536.
func sign(k alg.Kind, bytes int64, root int) uint64 {
	h := uint64(k) + 1 | uint64(uint32(root))<<8 | uint64(bytes)<<40
	h *= 0x9e3779b97f4a7c15
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	return h>>countBits<<countBits | 1
}

// purpose is what the present operation is, for the error.
type purpose struct {
	kind  alg.Kind
	bytes int64
	root  int
}

// disagree is the error of a meeting whose ranks came for different operations. The communicator goes on: all have come.
func (m *module) disagree() error {
	p := m.purpose
	switch p.kind {
	case alg.Barrier:
		return core.NewError(core.ErrArg, "the ranks did not call the same operation; this one called barrier")
	case finish:
		return core.NewError(core.ErrArg, "not all ranks called Finalize; others called another operation")
	case alg.Reduce:
		return core.NewError(core.ErrArg, "the ranks did not call the same operation with the same size and root; this one called reduce of %d bytes to root %d", p.bytes, p.root)
	}
	return core.NewError(core.ErrArg, "the ranks did not call the same operation with the same size; this one called %s of %d bytes", p.kind, p.bytes)
}

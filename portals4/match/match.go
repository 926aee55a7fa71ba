// Package match has the matching structures of a portal table entry of Portals 4.0 (SAND2012-10087, sections 3.11 and 3.12): List, the
// entries of the priority or the overflow list, asked for the first that takes an operation; and Unexpected, the headers of operations
// that the overflow list took, asked for the oldest that an entry takes.
//
// Both find what they are asked for in a time that depends neither on their length nor, within bounds told there, on the patterns in them.
// It is data alone: no locks (callers hold the engine's token), no I/O. Nodes are embedded in what the caller has anyway, so an operation
// allocates nothing once the hash tables have grown to what they hold; they do not shrink. Package portals4 is who uses it.
package match

import "math/bits"

// Source is the exact initiator of an operation: A the rank and B zero on a logical interface, A the NID and B the PID on a physical one.
type Source struct{ A, B uint32 }

// word packs a source as masks and hashes want it.
func (s Source) word() uint64 { return uint64(s.A)<<32 | uint64(s.B) }

// Pattern says which operations an entry takes. Of an entry that is in a list the caller may change Room, NoTruncate and Local only.
type Pattern struct {
	Bits, Ignore uint64 // match bits; those set in Ignore are not compared
	Src          Source
	AnyA, AnyB   bool   // that half of Src is not compared
	NoTruncate   bool   // an operation that does not fit is not taken, and the search goes on
	Local        bool   // the entry chooses the place (ME_MANAGE_LOCAL): the operation's offset does not count
	Room         uint64 // bytes: of the entry's memory, or with Local of what is left of it
}

// Query is what matching looks at in an operation.
type Query struct {
	Bits           uint64
	Src            Source
	Offset, Length uint64 // bytes, as the initiator asked: never cut to an entry
}

// Takes reports whether the pattern takes the operation.
func (p *Pattern) Takes(q *Query) bool { return p.addresses(q) && (!p.NoTruncate || p.fits(q)) }

// addresses compares match bits and initiator.
func (p *Pattern) addresses(q *Query) bool {
	return (p.Bits^q.Bits)&^p.Ignore == 0 && (p.AnyA || p.Src.A == q.Src.A) && (p.AnyB || p.Src.B == q.Src.B)
}

func (p *Pattern) fits(q *Query) bool {
	if p.Local {
		return q.Length <= p.Room
	}
	end, over := bits.Add64(q.Offset, q.Length, 0)
	return over == 0 && end <= p.Room
}

// mask is what a pattern compares. Patterns of one mask that take the same operation are equal in the masked words, so that a hash table
// finds them.
type mask struct{ bits, src uint64 }

func (p *Pattern) mask() mask {
	m := mask{^p.Ignore, ^uint64(0)}
	if p.AnyA {
		m.src &= 1<<32 - 1
	}
	if p.AnyB {
		m.src &^= 1<<32 - 1
	}
	return m
}

// seed makes the hashes of a structure its own: peers choose match bits, and should not be able to choose collisions.
type seed struct{ a, b uint64 }

// hash folds products twice: once would leave neighbouring match bits of one source in clusters.
func (s seed) hash(m mask, matchBits uint64, src Source) uint64 {
	hi, lo := bits.Mul64(matchBits&m.bits^s.a, src.word()&m.src^s.b)
	hi, lo = bits.Mul64(hi^lo^s.b, 0x9e3779b97f4a7c15)
	return hi ^ lo
}

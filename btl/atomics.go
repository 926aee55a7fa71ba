package btl

// AtomicOp is an operation of Atomics.FetchOp on a word.
type AtomicOp uint8

// Operations. Min and Max take words for signed integers, Add wraps around.
const (
	AtomicAdd AtomicOp = iota
	AtomicAnd
	AtomicOr
	AtomicXor
	AtomicMin
	AtomicMax
	AtomicSwap // the operand takes the word's place
)

// Atomics is an endpoint that changes words of a peer's registered memory. A word has t.N bytes, which is 4 or 8,
// and lies at a multiple of that in memory; t.Local is memory for what it was before. A word's operations are atomic among each other while
// only this BTL's reach it and the peer leaves it alone. The rules of the end are Get's.
type Atomics interface {
	// FetchOp combines the word with the operand's low t.N bytes.
	FetchOp(t *Transfer, op AtomicOp, operand uint64) (done bool, err error)
	// CompareSwap puts value into the place of a word that equals compare.
	CompareSwap(t *Transfer, compare, value uint64) (done bool, err error)
}

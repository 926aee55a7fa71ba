package portals4

// Operator carries out the operation User of an entry: an atomic operation that the specification does not have. It is an extension of ours, for what a
// library of the target's has to do to its memory without the program's help.
//
// Operate changes the target's data with the operand, which is as long, and op, the header data of the operation. It is called with the engine's token held,
// never twice at a time, and may not call the interface. Data comes from a peer and is not trusted: false refuses the operation, with OpViolation at
// its initiator, and nothing is changed.
type Operator interface {
	Operate(op uint64, target, operand []byte) bool
}

// User is the operation that the target's entry gives a meaning (ME.Operator). Its data is of type Uint8.
const User AtomicOp = 64

// swaps tells the operations of PtlSwap from those of PtlAtomic and PtlFetchAtomic.
func swaps(op AtomicOp) bool { return op >= Swap && op != User }

// OrderedSizes is how many bytes a put and a get may have to be carried out at once when their requests come to the process, among its atomic operations and in their
// order: the specification's max_waw_ordered_size and max_war_ordered_size, which depend on the NAL. They may be 0. The token is held.
func (ni *NI) OrderedSizes(p Process) (put, get uint64) {
	rank, err := ni.route("PtlNIInit", p)
	if err != nil || rank == ni.i.rank {
		return maxAtomic, maxAtomic
	}
	put = min(uint64(ni.i.to(rank).eager), maxAtomic)
	return put, min(put, scratchSize)
}

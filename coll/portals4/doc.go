// Package portals4 is the collective component that leaves barrier, bcast and allreduce, blocking or not, to the Portals interface: they are
// armed in the call as chains of triggered operations and go on in the interface of every rank while the programs compute
// (application bypass). What the interface cannot express, or what is too large, goes to the components below.
//
// It is used over pml cm, whose messages go through the interface anyway, or where the parameter coll names it. Only package coll calls it,
// through its mca registration.
//
// # Trees, edges, slots
//
// The ranks of a communicator form one k-ary tree, rooted at rank 0 whatever the root of an operation is. Data is cut into segments. The
// exchange of a segment, or of none for a barrier, is a round; the rounds of a communicator are numbered, on all ranks alike. Round n uses
// slot n mod s of every rank, and is armed when the round before it in that slot is settled there. A slot has memory of its own, with
// entries on portal table index 15 for what each child sends up, and on index 16 for what the parent sends down. Either direction has a
// count of what comes; counts are never set back. User memory is never exposed: segments are copied into and out of slots, so that a late peer, or one
// that has given up, finds nothing that is not the slot's.
//
// A message is the header of its operation, 8 bytes, and the segment behind it.
//
// # Rounds
//
// Every round sends exactly one message up and one message down every edge.
//
//	barrier, allreduce   all children up       -> triggers: their operands onto the own one, in the order of ranks (atomic operations
//	                                              of the interface on itself), then the result up; rank 0 sends it down
//	                     the parent's down     -> triggers: the same down to all children
//	bcast from rank R    R sends its data to its parent and its children at once. Elsewhere the data's arrival, from the side where R
//	                     is, triggers sending it on to all other sides. When it is copied out and sent on, the empty answer goes
//	                     back to where it came from: the memory is free again.
//
// A round is settled at a rank when it has got its message from every child and from the parent, and its own have left.
//
// # Why rounds cannot mix
//
// Take an edge and a slot. Messages of either direction keep their order, since the interface delivers those of a pair in order. A rank that
// arms round n has got all messages of earlier rounds in that slot, and nobody can send one of the round after it, n', before
// this rank has answered in round n:
//
//   - The parent settles n with this rank's message up in hand. In an allreduce, sent when the operands are; in a bcast, when the
//     data has been sent, or taken from the slot. So what comes down is of n until this rank has sent up in n, and from then on the memory it comes to
//     is free. The same holds for what a child sends up.
//   - So the count of what came down is exact. That of what came up is a sum over children: c of them may be one message ahead of others.
//     It means n when it reaches the count of all earlier rounds plus the number of children: then each has sent one, for no one can
//     send two. It means "the data is here" in a bcast from below one child when it is that of all earlier rounds plus one: the others
//     send only when they have got the data from here.
//   - An allreduce counts its atomic operations in the same place. They come when all children have sent in n, who send no more before
//     the result has gone down, which is after them.
//
// A child that is early, by up to one round a slot, is counted and its data lies in its landing area when this rank arms the round; nothing is
// unexpected, nothing is dropped, and nobody waits but for the slot.
//
// # Results
//
// Operands are combined in an order that depends on the number of ranks and the tree alone: floating-point results have the same bits in every
// run, and on all ranks, since all get those of rank 0.
//
// # Beginning and end
//
// A rank that has made its part of a communicator greets its neighbours, and arms nothing before all of them have greeted it: then their entries are
// there. Nobody waits for that but operations. Greetings for a communicator that is not made here yet wait in the unexpected list of the interface.
//
// When the communicator gets a fault its operations end with it, triggered operations are cancelled, entries unlinked. A
// communicator that is made later, of the same context number, may still be sent what belonged to an older one. So match bits hold the
// incarnation, which both ends of an edge count for themselves.
package portals4

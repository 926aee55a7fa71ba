// Package portals4 is the one-sided component over the Portals interface, after Hassani, Skjellum, Brightwell and Barrett, "Design and implementation of MPI
// over Portals 4.0" (2013), section 3.2. Put and Get are the interface's, accumulates its atomic operations, and the target's part is done by
// the interface of the target, whatever its program does (application bypass). It is open where messages go over the interface anyway, or where the parameter
// osc names it. Only the instance calls it, through its mca registration.
//
// # A window
//
// A member has two match list entries on portal table index 4: one of its memory, whose match bits are the window's context number, and one of its words of control,
// with bit 60 set, too. With osc_portals4_matching=false each is a list entry of a non-matching interface, on a portal table entry that all members
// have chosen for the window. Operations go out by two memory descriptors of all memory: one that tells of failures only, and one of full events for request-based
// operations. Both count what has ended in one counting event, and the module counts what it has begun: an operation is acknowledged when it is complete
// at the target, so that a window without operations under way is one whose two counts are equal. Flush waits for that, whatever its
// target (osc_portals4_flush=global); FlushLocal is Flush. An operation that fails counts as well, and is read out of the event queue with the process that it
// went to; whoever completes it gets the error.
//
// Nothing here grows with the number of members. Where they differ in size or displacement unit, both are got from the target's words when they are
// needed, and the last few are kept (control.go). With osc_portals4_flush=target a few targets have descriptors and a count of their own while operations to them are under
// way (counter.go).
//
// # Accumulates
//
// They are split so that no piece is larger than one atomic operation of the interface or, while their order matters, than what it keeps in order; pieces end
// between elements (accumulate.go). REPLACE is a put, and a get with NO_OP a get, as long as the interface carries those out in order, else a
// swap and a fetching operation that changes nothing. What the interface cannot combine, the pairs of MAXLOC and MINLOC, is got, combined and put back under a lock of the
// target's (locked.go), or is an operation that its entry's Operator gives a meaning (osc_portals4_loc=engine; module.Operate), which needs one message instead of four and
// an order.
//
// # Synchronization
//
// Locks are those of osc/words over atomic operations on the words of control. Post and complete are puts without data to the control entry: they come with
// who has sent them, so that posts that come before their Start are remembered as long as they are early, and no table has a place for
// every member, which counters would need to tell one member's posts from another's (active.go).
//
// # Dynamic windows
//
// The memory entry stands for a portals4.Space, what is attached at the time, and the remote offset is the address: an operation whose range is not inside one attached
// piece is refused at the target, with ErrRMARange for its origin. With osc_portals4_dynamic=segments every piece has an entry of its own, of the same match
// bits, and the interface searches its list for the one whose piece it is.
package portals4

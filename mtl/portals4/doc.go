// Package portals4 is the MTL over package portals4: MPI's matching done by a Portals 4 interface, as Hassani et al. 2013, section 3.1,
// and Maccabe's "Implementing MPI" describe it. It registers with mca; only ompi imports it.
//
// A receive is a match entry on the priority list of the portal table entry "recv", a send is a put there, with context, source and tag in
// the match bits (bits.go). What comes before its receive is matched by the overflow list: short messages fall into blocks of memory
// (blocks.go), long ones into an entry without memory that keeps their header alone. Appending a receive looks through the headers of these,
// atomically against arrivals, so that nothing is between the two.
//
// A long message is exposed on the portal table entry "read" under a key of its own before it is announced. What did not fit, or was not
// taken since nothing waited for it, the receiver gets from there (long.go), or its interface does it by a get that the receive has
// armed (triggered.go).
//
// Memory for what is unexpected is bounded. By default each sender has credit at each receiver (credit.go), and nothing is refused; instead of
// it there is recovery (recovery.go): a receiver that ran out has its portal table entry disabled, nothing more comes in, and all ranks are
// led through a drain and a restart by trees of triggered operations on the portal table entry "flow" (tree.go).
//
// Everything happens with the engine's token held. State objects are pooled, and the user pointer of an event is the state that it
// concerns: a message costs no allocation and no lookup.
package portals4

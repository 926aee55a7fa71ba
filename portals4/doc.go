// Package portals4 is a Portals 4.0 network interface in software (SAND2012-10087): matching and non-matching interfaces with logical
// or physical addresses, portal tables, match lists with priority and overflow lists, memory descriptors, event queues, counting events,
// put, get, atomic operations and their triggered forms. Names follow the specification in Go spelling: PtlMEAppend is PT.MEAppend.
//
// An Interface is what a process has of the network. Its packets travel by NALs, network abstraction layers (package portals4/nal).
// Matching and delivery happen in the interface and not in the caller: whoever waits on an event queue or a counting event drives it
// without a handoff, and when nobody does its agent comes, woken by the NAL (package progress).
//
// Memory is given as slices. An operation keeps its memory alive until it is over, an entry until it is unlinked.
//
// Components of an instance get the instance's interface from Of, and call it with the engine's token held, as all of their calls do.
// Programs make one with Open, whose methods any goroutine may call.
package portals4

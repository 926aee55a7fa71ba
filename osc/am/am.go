// Package am is the wire form of one-sided operations that travel as messages, and what the target does with them. An operation becomes one or several
// commands (Cutter), each of which says in bytes what is to be done, where in the target's memory, and with what data; the target needs no datatypes, as the
// layout travels as runs of bytes. Target carries commands out, with every offset checked, and Landing puts what comes back where the origin wants it.
//
// Components of osc use it, over whatever carries bytes; all of it is called with the engine's token held, so that commands are atomic among each other. Package elem
// makes them atomic with everybody else who changes the same memory through it.
//
//	command.go   the form of a command, written and parsed
//	cut.go       an operation becomes commands
//	target.go    a command is carried out
//	landing.go   results come back to the origin
//	attached.go  the memory of a dynamic window
//
// Data travels in the representation of the target's memory, so that it is the origin, who has the datatypes, that converts between machines of different
// byte orders; everything else is little-endian.
package am

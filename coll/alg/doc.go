// Package alg holds the algorithms of collective operations over point-to-point messages, and the language they are written in.
//
// An algorithm is a function of a Call and its Args, without error handling: it acts through the Call's few steps (send, receive,
// exchange, wait, copy, apply), and never asks what a message brought. So the same function can be carried out (a blocking
// operation: direct.go), written down as a Schedule for later (non-blocking and persistent ones: record.go) or only counted (Count).
//
// The components of framework coll choose among the algorithms (List, Named) and embed a Runner; nobody else calls this package.
// An operation has a file, or several that begin with its name; what several operations have in common is in flat.go, tree.go and
// halving.go.
package alg

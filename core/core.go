// Package core holds the objects that every floor above it speaks of: errors, buffers, regions, requests, communicators,
// groups, operations. It knows nothing of how messages travel. The point-to-point and collective floors work on these
// objects; package ompi gives them their public face. Programs use ompi, components use core.
package core

// Constants with the values of the MPI 5.0 ABI.
const (
	AnySource = -1
	AnyTag    = -2
	ProcNull  = -3
	Root      = -4
	Undefined = -32766
)

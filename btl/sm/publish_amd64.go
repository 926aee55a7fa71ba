//go:build amd64 && !race

package sm

import "unsafe"

// publish writes a slot's word, after everything written before it, and asks for the line at ahead.
//
//go:noescape
func publish(slot *uint64, w uint64, ahead unsafe.Pointer)

// prefetch asks for the line at p.
//
//go:noescape
func prefetch(p unsafe.Pointer)

//go:build !amd64 || race

package sm

import (
	"sync/atomic"
	"unsafe"
)

// publish writes a slot's word, after everything written before it. Under the race detector this form is used too: it must see
// the store.
func publish(slot *uint64, w uint64, _ unsafe.Pointer) { atomic.StoreUint64(slot, w) }

// prefetch would ask for the line at p.
func prefetch(unsafe.Pointer) {}

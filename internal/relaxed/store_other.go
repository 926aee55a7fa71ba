//go:build !amd64 || race

package relaxed

import "sync/atomic"

// Store32 stores v with release order: whoever sees it sees what was written before.
func Store32(p *uint32, v uint32) { atomic.StoreUint32(p, v) }

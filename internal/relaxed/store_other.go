//go:build !amd64 || race

package relaxed

import "sync/atomic"

// Store32 stores v with release order: whoever sees it sees what was written before.
func Store32(p *uint32, v uint32) { atomic.StoreUint32(p, v) }

// Store64 is Store32 for eight bytes.
func Store64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }

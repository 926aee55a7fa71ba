//go:build amd64 && !race

package relaxed

// Store32 stores v with release order: whoever sees it sees what was written before.
//
//go:noescape
func Store32(p *uint32, v uint32)

// Store64 is Store32 for eight bytes.
//
//go:noescape
func Store64(p *uint64, v uint64)

//go:build amd64 && !race

package relaxed

// Store32 stores v with release order: whoever sees it sees what was written before.
//
//go:noescape
func Store32(p *uint32, v uint32)

package inet

import "math/bits"

// Pool keeps buffers in which large messages are put together when their handler has no better place. Sizes are powers of
// two, so that messages of changing sizes share them. It is bounded in bytes.
type Pool struct {
	free [bits.UintSize][][]byte // by binary logarithm of the size
	kept int
}

const poolMax = 16 << 20 // bytes kept for later

// Get gives n bytes, of any content.
func (p *Pool) Get(n int) []byte {
	class := bits.Len(uint(max(n, 1) - 1))
	if k := len(p.free[class]); k > 0 {
		b := p.free[class][k-1]
		p.free[class][k-1] = nil
		p.free[class] = p.free[class][:k-1]
		p.kept -= cap(b)
		return b[:n]
	}
	return make([]byte, n, 1<<class)
}

// Put takes back what Get gave, as long as it was made.
func (p *Pool) Put(b []byte) {
	class := bits.Len(uint(cap(b) - 1))
	if p.kept+cap(b) > poolMax {
		return
	}
	p.kept += cap(b)
	p.free[class] = append(p.free[class], b)
}

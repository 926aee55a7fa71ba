package datatype

import "unsafe"

// copyBuffer is the detour of a copy where neither side is contiguous.
const copyBuffer = 4096

// Copy moves data from the position of src to that of dst, advances both and returns the bytes moved, until one of them ends.
// The memory of the two must not overlap.
func Copy(dst, src *Convertor) int64 {
	left := min(dst.total-dst.pos, src.total-src.pos)
	start := src.pos
	switch {
	case left <= 0:
		return 0
	case dst.IsContiguous():
		p, _ := dst.ContiguousAt()
		dst.pos += int64(src.Pack(unsafe.Slice((*byte)(p), left)))
	case src.IsContiguous():
		p, _ := src.ContiguousAt()
		src.pos += int64(dst.Unpack(unsafe.Slice((*byte)(p), left)))
	default:
		var buf [copyBuffer]byte
		for left > 0 {
			n := src.Pack(buf[:min(left, copyBuffer)])
			dst.Unpack(buf[:n])
			left -= int64(n)
		}
	}
	return src.pos - start
}

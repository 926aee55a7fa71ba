package datatype

import (
	"hash/crc32"
	"unsafe"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum continues a CRC32C with data.
func Sum(crc uint32, data []byte) uint32 { return crc32.Update(crc, castagnoli, data) }

// Sum continues a CRC32C with the next n bytes of the packed stream, or those to its end if they are fewer, without moving the
// cursor. What is not one block of memory is packed into scratch, piece by piece; scratch is not empty.
func (c *Convertor) Sum(crc uint32, n int64, scratch []byte) uint32 {
	if n = min(n, c.total-c.pos); n <= 0 {
		return crc
	}
	if c.IsContiguous() && c.base != nil {
		p, _ := c.ContiguousAt()
		return Sum(crc, unsafe.Slice((*byte)(p), n))
	}
	d := *c
	for n > 0 {
		k := d.Pack(scratch[:min(n, int64(len(scratch)))])
		crc = Sum(crc, scratch[:k])
		n -= int64(k)
	}
	return crc
}

package datatype

import "unsafe"

// The compiler moves up to 16 bytes between two addresses with a load and a store; for more it calls the runtime, since the places
// might overlap. Blocks that are not much larger are therefore moved in pieces of 16 bytes, the last of which may cover a part
// of the one before: packed data and memory never overlap.

// maxPieces is the largest block moved in pieces; from here on the runtime's wider moves win.
const maxPieces = 128

func move4(dst, src unsafe.Pointer)  { *(*[4]byte)(dst) = *(*[4]byte)(src) }
func move8(dst, src unsafe.Pointer)  { *(*[8]byte)(dst) = *(*[8]byte)(src) }
func move16(dst, src unsafe.Pointer) { *(*[16]byte)(dst) = *(*[16]byte)(src) }

// pieces copies a block of size bytes, 16 to maxPieces.
func pieces(dst, src unsafe.Pointer, size int64) {
	last := size - 16
	for at := int64(0); at < last; at += 16 {
		move16(unsafe.Add(dst, at), unsafe.Add(src, at))
	}
	move16(unsafe.Add(dst, last), unsafe.Add(src, last))
}

// rows copies n blocks of size bytes; dst and src point to the first, the others follow ds and ss bytes apart. Packing has ds ==
// size, unpacking ss == size. Only addresses of real blocks are ever formed: the memory before and after them may not be ours.
func rows(dst, src unsafe.Pointer, ds, ss, size, n int64) {
	switch size {
	case 1:
		fixedRows[[1]byte](dst, src, ds, ss, n)
	case 2:
		fixedRows[[2]byte](dst, src, ds, ss, n)
	case 4:
		fixedRows[[4]byte](dst, src, ds, ss, n)
	case 8:
		fixedRows[[8]byte](dst, src, ds, ss, n)
	case 12:
		fixedRows[[12]byte](dst, src, ds, ss, n)
	case 16:
		fixedRows[[16]byte](dst, src, ds, ss, n)
	case 24:
		rows24(dst, src, ds, ss, n)
	case 32:
		rows32(dst, src, ds, ss, n)
	case 48:
		rows48(dst, src, ds, ss, n)
	case 64:
		rows64(dst, src, ds, ss, n)
	default:
		var d, s int64
		if size < 16 || size > maxPieces {
			for range n {
				oneBlock(unsafe.Add(dst, d), unsafe.Add(src, s), size)
				d += ds
				s += ss
			}
			return
		}
		for range n {
			pieces(unsafe.Add(dst, d), unsafe.Add(src, s), size)
			d += ds
			s += ss
		}
	}
}

// block is a piece that the compiler moves with a load and a store or two, whatever its alignment.
type block interface {
	[1]byte | [2]byte | [4]byte | [8]byte | [12]byte | [16]byte
}

func fixedRows[B block](dst, src unsafe.Pointer, ds, ss, n int64) {
	var d, s int64
	for range n {
		*(*B)(unsafe.Add(dst, d)) = *(*B)(unsafe.Add(src, s))
		d += ds
		s += ss
	}
}

func rows24(dst, src unsafe.Pointer, ds, ss, n int64) {
	var d, s int64
	for range n {
		x, y := unsafe.Add(dst, d), unsafe.Add(src, s)
		move16(x, y)
		move8(unsafe.Add(x, 16), unsafe.Add(y, 16))
		d += ds
		s += ss
	}
}

func rows32(dst, src unsafe.Pointer, ds, ss, n int64) {
	var d, s int64
	for range n {
		x, y := unsafe.Add(dst, d), unsafe.Add(src, s)
		move16(x, y)
		move16(unsafe.Add(x, 16), unsafe.Add(y, 16))
		d += ds
		s += ss
	}
}

func rows48(dst, src unsafe.Pointer, ds, ss, n int64) {
	var d, s int64
	for range n {
		x, y := unsafe.Add(dst, d), unsafe.Add(src, s)
		move16(x, y)
		move16(unsafe.Add(x, 16), unsafe.Add(y, 16))
		move16(unsafe.Add(x, 32), unsafe.Add(y, 32))
		d += ds
		s += ss
	}
}

func rows64(dst, src unsafe.Pointer, ds, ss, n int64) {
	var d, s int64
	for range n {
		x, y := unsafe.Add(dst, d), unsafe.Add(src, s)
		move16(x, y)
		move16(unsafe.Add(x, 16), unsafe.Add(y, 16))
		move16(unsafe.Add(x, 32), unsafe.Add(y, 32))
		move16(unsafe.Add(x, 48), unsafe.Add(y, 48))
		d += ds
		s += ss
	}
}

// gather packs blocks of size bytes at base+disp+list[i]; as in rows, no other addresses are formed.
func gather(dst, base unsafe.Pointer, disp int64, list []int64, size int64) {
	switch size {
	case 4:
		fixedGather[[4]byte](dst, base, disp, list)
	case 8:
		fixedGather[[8]byte](dst, base, disp, list)
	case 12:
		fixedGather[[12]byte](dst, base, disp, list)
	case 16:
		fixedGather[[16]byte](dst, base, disp, list)
	default:
		at := int64(0)
		if size < 16 || size > maxPieces {
			for _, d := range list {
				oneBlock(unsafe.Add(dst, at), unsafe.Add(base, disp+d), size)
				at += size
			}
			return
		}
		for _, d := range list {
			pieces(unsafe.Add(dst, at), unsafe.Add(base, disp+d), size)
			at += size
		}
	}
}

func fixedGather[B block](dst, base unsafe.Pointer, disp int64, list []int64) {
	var b B
	at := 0
	for _, d := range list {
		*(*B)(unsafe.Add(dst, at)) = *(*B)(unsafe.Add(base, disp+d))
		at += len(b)
	}
}

// scatter is the reverse of gather.
func scatter(base unsafe.Pointer, disp int64, list []int64, size int64, src unsafe.Pointer) {
	switch size {
	case 4:
		fixedScatter[[4]byte](base, disp, list, src)
	case 8:
		fixedScatter[[8]byte](base, disp, list, src)
	case 12:
		fixedScatter[[12]byte](base, disp, list, src)
	case 16:
		fixedScatter[[16]byte](base, disp, list, src)
	default:
		at := int64(0)
		if size < 16 || size > maxPieces {
			for _, d := range list {
				oneBlock(unsafe.Add(base, disp+d), unsafe.Add(src, at), size)
				at += size
			}
			return
		}
		for _, d := range list {
			pieces(unsafe.Add(base, disp+d), unsafe.Add(src, at), size)
			at += size
		}
	}
}

func fixedScatter[B block](base unsafe.Pointer, disp int64, list []int64, src unsafe.Pointer) {
	var b B
	at := 0
	for _, d := range list {
		*(*B)(unsafe.Add(base, disp+d)) = *(*B)(unsafe.Add(src, at))
		at += len(b)
	}
}

// oneBlock copies a single block.
func oneBlock(dst, src unsafe.Pointer, n int64) {
	switch {
	case n > maxPieces:
		copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
	case n >= 16:
		pieces(dst, src, n)
	case n >= 8:
		move8(dst, src)
		move8(unsafe.Add(dst, n-8), unsafe.Add(src, n-8))
	case n >= 4:
		move4(dst, src)
		move4(unsafe.Add(dst, n-4), unsafe.Add(src, n-4))
	default:
		for i := range n {
			*(*byte)(unsafe.Add(dst, i)) = *(*byte)(unsafe.Add(src, i))
		}
	}
}

// absolute makes a pointer of an address the caller of the communication gave as a displacement, and keeps alive.
//
//go:nocheckptr
func absolute(addr int64) unsafe.Pointer { return unsafe.Add(nil, addr) }

// absoluteRows is rows for blocks at absolute addresses: a row may lead from variable to variable and a block cover neighbouring
// ones, which is what pointer checking exists to catch.
//
//go:nocheckptr
func absoluteRows(dst, src unsafe.Pointer, ds, ss, size, n int64) {
	for i := range n {
		oneBlock(unsafe.Add(dst, i*ds), unsafe.Add(src, i*ss), size)
	}
}

package datatype

import "unsafe"

// A block of fixed size is a struct around an array to the compiler: it moves that with a few loads and stores, whatever its
// alignment. Bare arrays, which might overlap, it would leave to the runtime.
type (
	block1  struct{ _ [1]byte }
	block2  struct{ _ [2]byte }
	block4  struct{ _ [4]byte }
	block8  struct{ _ [8]byte }
	block12 struct{ _ [12]byte }
	block16 struct{ _ [16]byte }
	block24 struct{ _ [24]byte }
	block32 struct{ _ [32]byte }
	block48 struct{ _ [48]byte }
	block64 struct{ _ [64]byte }
)

type block interface {
	block1 | block2 | block4 | block8 | block12 | block16 | block24 | block32 | block48 | block64
}

// Blocks of up to maxPieces bytes are moved in pieces of 16 bytes, those of up to maxWide in pieces of 64. Beyond, the runtime's
// wider moves win.
const maxPieces, maxWide = 64, 512

func move2(dst, src unsafe.Pointer)  { *(*block2)(dst) = *(*block2)(src) }
func move4(dst, src unsafe.Pointer)  { *(*block4)(dst) = *(*block4)(src) }
func move8(dst, src unsafe.Pointer)  { *(*block8)(dst) = *(*block8)(src) }
func move16(dst, src unsafe.Pointer) { *(*block16)(dst) = *(*block16)(src) }

// pieces copies a block of size bytes, 16 to maxPieces, 16 at a time; the last piece may cover a part of the one before.
func pieces(dst, src unsafe.Pointer, size int64) {
	last := size - 16
	for at := int64(0); at < last; at += 16 {
		move16(unsafe.Add(dst, at), unsafe.Add(src, at))
	}
	move16(unsafe.Add(dst, last), unsafe.Add(src, last))
}

// wide copies a block of size bytes, 64 to maxWide, as pieces does.
func wide(dst, src unsafe.Pointer, size int64) {
	last := size - 64
	for at := int64(0); at < last; at += 64 {
		*(*block64)(unsafe.Add(dst, at)) = *(*block64)(unsafe.Add(src, at))
	}
	*(*block64)(unsafe.Add(dst, last)) = *(*block64)(unsafe.Add(src, last))
}

// rows copies n blocks of size bytes; dst and src point to the first, the others follow ds and ss bytes apart. Packing has ds ==
// size, unpacking ss == size. Only addresses of real blocks are ever formed: the memory before and after them may not be ours.
func rows(dst, src unsafe.Pointer, ds, ss, size, n int64) {
	switch size {
	case 1:
		fixedRows[block1](dst, src, ds, ss, n)
	case 2:
		fixedRows[block2](dst, src, ds, ss, n)
	case 4:
		fixedRows[block4](dst, src, ds, ss, n)
	case 8:
		fixedRows[block8](dst, src, ds, ss, n)
	case 12:
		fixedRows[block12](dst, src, ds, ss, n)
	case 16:
		fixedRows[block16](dst, src, ds, ss, n)
	case 24:
		fixedRows[block24](dst, src, ds, ss, n)
	case 32:
		fixedRows[block32](dst, src, ds, ss, n)
	case 48:
		fixedRows[block48](dst, src, ds, ss, n)
	case 64:
		fixedRows[block64](dst, src, ds, ss, n)
	default:
		anyRows(dst, src, ds, ss, size, n)
	}
}

func anyRows(dst, src unsafe.Pointer, ds, ss, size, n int64) {
	var d, s int64
	switch {
	case size > maxWide:
		for range n {
			copy(unsafe.Slice((*byte)(unsafe.Add(dst, d)), size), unsafe.Slice((*byte)(unsafe.Add(src, s)), size))
			d += ds
			s += ss
		}
	case size > maxPieces:
		for range n {
			wide(unsafe.Add(dst, d), unsafe.Add(src, s), size)
			d += ds
			s += ss
		}
	case size > 16:
		for range n {
			pieces(unsafe.Add(dst, d), unsafe.Add(src, s), size)
			d += ds
			s += ss
		}
	default:
		for range n {
			oneBlock(unsafe.Add(dst, d), unsafe.Add(src, s), size)
			d += ds
			s += ss
		}
	}
}

func fixedRows[B block](dst, src unsafe.Pointer, ds, ss, n int64) {
	var d, s int64
	for range n {
		*(*B)(unsafe.Add(dst, d)) = *(*B)(unsafe.Add(src, s))
		d += ds
		s += ss
	}
}

// gather packs blocks of size bytes at base+disp+list[i]; as in rows, no other addresses are formed.
func gather(dst, base unsafe.Pointer, disp int64, list []int64, size int64) {
	switch size {
	case 4:
		fixedGather[block4](dst, base, disp, list)
	case 8:
		fixedGather[block8](dst, base, disp, list)
	case 12:
		fixedGather[block12](dst, base, disp, list)
	case 16:
		fixedGather[block16](dst, base, disp, list)
	case 24:
		fixedGather[block24](dst, base, disp, list)
	case 32:
		fixedGather[block32](dst, base, disp, list)
	case 64:
		fixedGather[block64](dst, base, disp, list)
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
	at := uintptr(0)
	for _, d := range list {
		*(*B)(unsafe.Add(dst, at)) = *(*B)(unsafe.Add(base, disp+d))
		at += unsafe.Sizeof(b)
	}
}

// scatter is the reverse of gather.
func scatter(base unsafe.Pointer, disp int64, list []int64, size int64, src unsafe.Pointer) {
	switch size {
	case 4:
		fixedScatter[block4](base, disp, list, src)
	case 8:
		fixedScatter[block8](base, disp, list, src)
	case 12:
		fixedScatter[block12](base, disp, list, src)
	case 16:
		fixedScatter[block16](base, disp, list, src)
	case 24:
		fixedScatter[block24](base, disp, list, src)
	case 32:
		fixedScatter[block32](base, disp, list, src)
	case 64:
		fixedScatter[block64](base, disp, list, src)
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
	at := uintptr(0)
	for _, d := range list {
		*(*B)(unsafe.Add(base, disp+d)) = *(*B)(unsafe.Add(src, at))
		at += unsafe.Sizeof(b)
	}
}

// oneBlock copies a single block.
func oneBlock(dst, src unsafe.Pointer, n int64) {
	switch {
	case n > maxWide:
		copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
	case n > maxPieces:
		wide(dst, src, n)
	case n >= 16:
		pieces(dst, src, n)
	case n >= 8:
		move8(dst, src)
		move8(unsafe.Add(dst, n-8), unsafe.Add(src, n-8))
	case n >= 4:
		move4(dst, src)
		move4(unsafe.Add(dst, n-4), unsafe.Add(src, n-4))
	case n >= 2:
		move2(dst, src)
		move2(unsafe.Add(dst, n-2), unsafe.Add(src, n-2))
	case n == 1:
		*(*byte)(dst) = *(*byte)(src)
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
		copy(unsafe.Slice((*byte)(unsafe.Add(dst, i*ds)), size), unsafe.Slice((*byte)(unsafe.Add(src, i*ss)), size))
	}
}

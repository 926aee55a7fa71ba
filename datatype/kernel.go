package datatype

import "unsafe"

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
		fixedRows[[24]byte](dst, src, ds, ss, n)
	case 32:
		fixedRows[[32]byte](dst, src, ds, ss, n)
	case 64:
		fixedRows[[64]byte](dst, src, ds, ss, n)
	default:
		var d, s int64
		for range n {
			copy(unsafe.Slice((*byte)(unsafe.Add(dst, d)), size), unsafe.Slice((*byte)(unsafe.Add(src, s)), size))
			d += ds
			s += ss
		}
	}
}

// block is a piece the compiler moves with a few loads and stores, whatever its alignment.
type block interface {
	[1]byte | [2]byte | [4]byte | [8]byte | [12]byte | [16]byte | [24]byte | [32]byte | [64]byte
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
		fixedGather[[4]byte](dst, base, disp, list)
	case 8:
		fixedGather[[8]byte](dst, base, disp, list)
	case 16:
		fixedGather[[16]byte](dst, base, disp, list)
	case 24:
		fixedGather[[24]byte](dst, base, disp, list)
	case 32:
		fixedGather[[32]byte](dst, base, disp, list)
	default:
		for i, d := range list {
			oneBlock(unsafe.Add(dst, int64(i)*size), unsafe.Add(base, disp+d), size)
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
	case 16:
		fixedScatter[[16]byte](base, disp, list, src)
	case 24:
		fixedScatter[[24]byte](base, disp, list, src)
	case 32:
		fixedScatter[[32]byte](base, disp, list, src)
	default:
		for i, d := range list {
			oneBlock(unsafe.Add(base, disp+d), unsafe.Add(src, int64(i)*size), size)
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
	switch n {
	case 4:
		*(*[4]byte)(dst) = *(*[4]byte)(src)
	case 8:
		*(*[8]byte)(dst) = *(*[8]byte)(src)
	case 16:
		*(*[16]byte)(dst) = *(*[16]byte)(src)
	default:
		copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
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

package ompi

import (
	"errors"
	"fmt"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// Packing (MPI-3.1 §4.2, §13.5.2). A position counts bytes of the packed buffer from 0 and is where the next call goes on; data may
// be packed in pieces and unpacked in others, as long as each piece is whole. What Pack makes is in this machine's representation:
// send it with datatype.Byte, and only between equal architectures. PackExternal's "external32" is the same everywhere.

// Pack puts the elements of in into out from position on, without gaps, and returns the position behind them. ErrTruncate, and
// nothing is written, when out has no room; ErrArg when position lies outside of out.
func Pack(in Buffer, out []byte, position int64) (int64, error) {
	c, err := packer("Pack", in, out, position, datatype.ArchNative)
	if err != nil {
		return position, err
	}
	return position + int64(c.Pack(out[position:])), nil
}

// Unpack takes the elements of out from in, from position on, and returns the position behind them. ErrTruncate, and nothing is
// written, when fewer bytes are left than out has elements for; ErrArg when position lies outside of in.
func Unpack(in []byte, position int64, out Buffer) (int64, error) {
	c, err := packer("Unpack", out, in, position, datatype.ArchNative)
	if err != nil {
		return position, err
	}
	return position + int64(c.Unpack(in[position:])), nil
}

// PackSize is what count elements of t take when packed, in bytes; Undefined when t is nil, count is negative or the size exceeds
// 64 bits.
func PackSize(count int64, t *datatype.Type) int64 {
	if t == nil {
		return Undefined
	}
	n, err := t.PackedSize(count)
	if err != nil {
		return Undefined
	}
	return n
}

// PackExternal is Pack in the representation "external32": big-endian, with the sizes of MPI-3.1 table 13.2.
func PackExternal(in Buffer, out []byte, position int64) (int64, error) {
	c, err := packer("Pack_external", in, out, position, datatype.ArchBig)
	if err != nil {
		return position, err
	}
	return position + int64(c.Pack(out[position:])), nil
}

// UnpackExternal is Unpack of "external32".
func UnpackExternal(in []byte, position int64, out Buffer) (int64, error) {
	c, err := packer("Unpack_external", out, in, position, datatype.ArchBig)
	if err != nil {
		return position, err
	}
	return position + int64(c.Unpack(in[position:])), nil
}

// PackExternalSize is PackSize for "external32". The predefined types have the same sizes there as in Go.
func PackExternalSize(count int64, t *datatype.Type) int64 { return PackSize(count, t) }

// packer checks the arguments of a call that moves all of b to or from packed at a position, and gives the cursor to do it with.
func packer(op string, b Buffer, packed []byte, position int64, arch datatype.Arch) (c datatype.Convertor, err error) {
	fail := func(class ErrorClass, cause error) error {
		return &core.Error{Class: class, Op: op, Peer: Undefined, Index: -1, Err: cause}
	}
	switch n := int64(len(packed)); {
	case b.Err() != nil:
		return c, fail(core.ClassOf(b.Err()), b.Err())
	case b.IsInPlace():
		return c, fail(ErrBuffer, errors.New("InPlace has no meaning here"))
	case position < 0 || position > n:
		return c, fail(ErrArg, fmt.Errorf("position %d is outside of the packed buffer of %d bytes", position, n))
	case b.Bytes() > n-position:
		return c, fail(ErrTruncate, fmt.Errorf("%d elements take %d bytes packed, and the packed buffer has %d behind position %d", b.Count(), b.Bytes(), n-position, position))
	case b.Bytes() > 0:
		c.PrepareFor(b.Type(), b.Count(), b.Addr(), arch)
	}
	return c, nil
}

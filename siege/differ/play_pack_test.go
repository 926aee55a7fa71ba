package differ

import (
	"hash/crc32"

	"github.com/ompi-go/ompi-go/ompi"
)

// pack packs elements of a type, native or as external32, and unpacks them to another type of the same signature.
func (x *player) pack(external bool) error {
	a, na := x.typ(), x.number()
	b, nb := x.typ(), x.number()
	n := x.number()
	na, nb = na*n, nb*n
	x.sayType(a)
	x.sayType(b)
	in, back := x.area(a, na, 1), x.area(b, nb, 2)
	size, pack, unpack := ompi.PackSize(int64(na), a), ompi.Pack, ompi.Unpack
	if external {
		size, pack, unpack = ompi.PackExternalSize(int64(na), a), ompi.PackExternal, ompi.UnpackExternal
	}
	packed := make([]byte, size)
	at, err := pack(in.of(a, na), packed, 0)
	if err != nil {
		return err
	}
	if external {
		x.say(" %d %d %08x", size, at, crc32.ChecksumIEEE(packed[:at]))
	} else {
		x.say(" %d 1 %08x", at, crc32.ChecksumIEEE(packed[:at])) // the size is a bound
	}
	if at, err = unpack(packed[:at], 0, back.of(b, nb)); err != nil {
		return err
	}
	x.say(" %d", at)
	x.sayArea(in)
	x.sayArea(back)
	return nil
}

package datatype

import "encoding/binary"

// Arch is how a machine represents elements in memory and on its way out. All machines that Go runs on have the same sizes for
// the predefined types, two's complement and IEEE 754, so that the order of bytes is all there is to say.
type Arch uint8

const (
	ArchNative Arch = iota // whatever this machine has
	ArchLittle             // least byte first
	ArchBig                // greatest byte first, as in the representation "external32" (MPI-3.1 section 13.5.2)
)

// HostArch is this machine's: ArchLittle or ArchBig.
func HostArch() Arch {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return ArchLittle
	}
	return ArchBig
}

// Resolve is a with ArchNative replaced by what it stands for.
func (a Arch) Resolve() Arch {
	if a == ArchNative {
		return HostArch()
	}
	return a
}

// Foreign tells whether elements must be converted between a and this machine.
func (a Arch) Foreign() bool { return a.Resolve() != HostArch() }

// String gives the name that parameters use.
func (a Arch) String() string {
	switch a {
	case ArchNative:
		return "native"
	case ArchLittle:
		return "little-endian"
	case ArchBig:
		return "big-endian"
	}
	return "invalid"
}

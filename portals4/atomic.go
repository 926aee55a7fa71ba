package portals4

import "github.com/ompi-go/ompi-go/portals4/atomics"

// AtomicOp is an operation on data at the target (PtlOp).
type AtomicOp uint8

// Operations. From Swap on they are for PtlSwap alone (MDHandle.Swap).
const (
	Min     = AtomicOp(atomics.Min)
	Max     = AtomicOp(atomics.Max)
	Sum     = AtomicOp(atomics.Sum)
	Prod    = AtomicOp(atomics.Prod)
	Lor     = AtomicOp(atomics.Lor)
	Land    = AtomicOp(atomics.Land)
	Bor     = AtomicOp(atomics.Bor)
	Band    = AtomicOp(atomics.Band)
	Lxor    = AtomicOp(atomics.Lxor)
	Bxor    = AtomicOp(atomics.Bxor)
	Swap    = AtomicOp(atomics.Swap)
	CSwap   = AtomicOp(atomics.CSwap)
	CSwapNE = AtomicOp(atomics.CSwapNE)
	CSwapLE = AtomicOp(atomics.CSwapLE)
	CSwapLT = AtomicOp(atomics.CSwapLT)
	CSwapGE = AtomicOp(atomics.CSwapGE)
	CSwapGT = AtomicOp(atomics.CSwapGT)
	MSwap   = AtomicOp(atomics.MSwap)
)

// Type is the type of the data of an atomic operation (PtlDatatype). Go has no long double: the specification's two types of it are
// refused with ErrArgInvalid.
type Type uint8

// Types.
const (
	Int8              = Type(atomics.Int8)
	Uint8             = Type(atomics.Uint8)
	Int16             = Type(atomics.Int16)
	Uint16            = Type(atomics.Uint16)
	Int32             = Type(atomics.Int32)
	Uint32            = Type(atomics.Uint32)
	Int64             = Type(atomics.Int64)
	Uint64            = Type(atomics.Uint64)
	Float             = Type(atomics.Float)
	FloatComplex      = Type(atomics.FloatComplex)
	Double            = Type(atomics.Double)
	DoubleComplex     = Type(atomics.DoubleComplex)
	LongDouble        = Type(atomics.LongDouble)
	LongDoubleComplex = Type(atomics.LongDoubleComplex)
)

package portals4

// AtomicOp is an operation on data at the target (PtlOp).
type AtomicOp uint8

// Operations. From Swap on they are for PT swaps alone (MDHandle.Swap).
const (
	Min AtomicOp = iota
	Max
	Sum
	Prod
	Lor
	Land
	Bor
	Band
	Lxor
	Bxor
	Swap
	CSwap
	CSwapNE
	CSwapLE
	CSwapLT
	CSwapGE
	CSwapGT
	MSwap
	atomicOps
)

// Type is the type of the data of an atomic operation (PtlDatatype). Go has no long double: the specification's two types of it are
// refused with ErrArgInvalid.
type Type uint8

// Types.
const (
	Int8 Type = iota
	Uint8
	Int16
	Uint16
	Int32
	Uint32
	Int64
	Uint64
	Float
	FloatComplex
	Double
	DoubleComplex
	LongDouble
	LongDoubleComplex
	types
)

package atomics

import (
	"encoding/binary"
	"math"
	"math/big"
)

// The reference: one datum at a time, integers as big ones, floats by way of the next larger type.

func isSigned(typ uint8) bool { return typ <= Int64 && typ%2 == 0 }

func bigOf(typ uint8, b []byte) *big.Int {
	var le [8]byte
	copy(le[:], b)
	v := new(big.Int).SetUint64(binary.LittleEndian.Uint64(le[:]))
	if bits := uint(8 * Size(typ)); isSigned(typ) && v.Bit(int(bits-1)) == 1 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), bits))
	}
	return v
}

func bytesOf(typ uint8, v *big.Int) []byte {
	mod := new(big.Int).Lsh(big.NewInt(1), uint(8*Size(typ)))
	w := new(big.Int).Mod(v, mod) // never negative
	var le [8]byte
	binary.LittleEndian.PutUint64(le[:], w.Uint64())
	return le[:Size(typ)]
}

func boolInt(v bool) *big.Int {
	if v {
		return big.NewInt(1)
	}
	return new(big.Int)
}

func refInteger(op, typ uint8, t, o []byte) []byte {
	a, b, r := bigOf(typ, t), bigOf(typ, o), new(big.Int)
	switch op {
	case Min:
		r = a
		if b.Cmp(a) < 0 {
			r = b
		}
	case Max:
		r = a
		if b.Cmp(a) > 0 {
			r = b
		}
	case Sum:
		r.Add(a, b)
	case Prod:
		r.Mul(a, b)
	case Lor:
		r = boolInt(a.Sign() != 0 || b.Sign() != 0)
	case Land:
		r = boolInt(a.Sign() != 0 && b.Sign() != 0)
	case Lxor:
		r = boolInt((a.Sign() != 0) != (b.Sign() != 0))
	case Bor:
		r.Or(a, b)
	case Band:
		r.And(a, b)
	case Bxor:
		r.Xor(a, b)
	}
	return bytesOf(typ, r)
}

// parts are the real and the imaginary part as float64, which holds every float32 exactly.
func parts(typ uint8, b []byte) (re, im float64) {
	switch typ {
	case Float, FloatComplex:
		re = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		if typ == FloatComplex {
			im = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4:])))
		}
	default:
		re = math.Float64frombits(binary.LittleEndian.Uint64(b))
		if typ == DoubleComplex {
			im = math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))
		}
	}
	return re, im
}

func fromParts(typ uint8, re, im float64) []byte {
	var b []byte
	switch typ {
	case Float, FloatComplex:
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(re)))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(im)))
	default:
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(re))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(im))
	}
	return b[:Size(typ)]
}

func refFloat(op, typ uint8, t, o []byte) []byte {
	a, ai := parts(typ, t)
	b, bi := parts(typ, o)
	switch op {
	case Sum:
		return fromParts(typ, a+b, ai+bi)
	case Prod:
		if typ == FloatComplex {
			p := complex(float32(a), float32(ai)) * complex(float32(b), float32(bi))
			return fromParts(typ, float64(real(p)), float64(imag(p)))
		}
		if typ == DoubleComplex {
			p := complex(a, ai) * complex(b, bi)
			return fromParts(typ, real(p), imag(p))
		}
		return fromParts(typ, a*b, 0)
	case Min:
		if b < a {
			return o
		}
	case Max:
		if b > a {
			return o
		}
	}
	return t
}

// refSwap gives what the target becomes.
func refSwap(op, typ uint8, t, origin, operand []byte) []byte {
	if op == Swap {
		return origin
	}
	if op == MSwap {
		r := make([]byte, len(t))
		for i := range r {
			r[i] = operand[i]&origin[i] | ^operand[i]&t[i]
		}
		return r
	}
	var less, equal bool // operand against target
	if typ <= Uint64 {
		c := bigOf(typ, operand).Cmp(bigOf(typ, t))
		less, equal = c < 0, c == 0
	} else {
		a, ai := parts(typ, operand)
		b, bi := parts(typ, t)
		less, equal = a < b, a == b && ai == bi
		if (op == CSwapGE || op == CSwapGT) && (math.IsNaN(a) || math.IsNaN(b)) {
			return t
		}
	}
	holds := map[uint8]bool{CSwap: equal, CSwapNE: !equal, CSwapLE: less || equal, CSwapLT: less, CSwapGE: !less, CSwapGT: !less && !equal}
	if holds[op] {
		return origin
	}
	return t
}

// edges are interesting data of a type.
func edges(typ uint8) (all [][]byte) {
	if typ <= Uint64 {
		one, bits := big.NewInt(1), uint(8*Size(typ))
		top := new(big.Int).Lsh(one, bits-1)
		for _, v := range []*big.Int{new(big.Int), one, big.NewInt(2), big.NewInt(3), big.NewInt(-1), big.NewInt(-2), top, new(big.Int).Sub(top, one),
			new(big.Int).Add(top, one), big.NewInt(0x5a), big.NewInt(0x3c5aa5c33c5aa5c3)} {
			all = append(all, bytesOf(typ, v))
		}
		return all
	}
	reals := []float64{0, math.Copysign(0, -1), 1, -1, 1.5, -2.25, 3e30, -3e30, 1e-30, math.MaxFloat32, math.Inf(1), math.Inf(-1), math.NaN()}
	if typ == Float || typ == Double {
		for _, v := range reals {
			all = append(all, fromParts(typ, v, 0))
		}
		return all
	}
	for _, re := range []float64{0, math.Copysign(0, -1), 1, -2.25, 3e10, math.Inf(1), math.NaN()} {
		for _, im := range []float64{0, -1, 2.5, math.Inf(-1), math.NaN()} {
			all = append(all, fromParts(typ, re, im))
		}
	}
	return all
}

// same compares a datum bit by bit, but any NaN with any other.
func same(typ uint8, a, b []byte) bool {
	if string(a) == string(b) {
		return true
	}
	if typ < Float {
		return false
	}
	ar, ai := parts(typ, a)
	br, bi := parts(typ, b)
	eq := func(x, y float64) bool {
		return math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
	}
	return eq(ar, br) && eq(ai, bi)
}

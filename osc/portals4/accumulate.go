package portals4

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/elem"
	p4 "github.com/ompi-go/ompi-go/portals4"
)

// way is how accumulates of an operation on a type go.
type way struct {
	acc  *core.Op
	t    *datatype.Type
	how  int
	op   p4.AtomicOp
	typ  p4.Type
	code elem.Code // of pairs
}

const (
	atomically = iota // as atomic operations of the interface
	replace           // put
	nothing           // got
	byOperator        // by the target's operator
	underLock
)

// wayOf finds how accumulates go. The last answer is kept, since programs repeat themselves.
func (m *module) wayOf(acc *core.Op, t *datatype.Type) (*way, error) {
	w := &m.chosen
	if w.acc == acc && w.t == t {
		return w, nil
	}
	w.acc, w.t = nil, nil
	code, ok := elem.Of(acc, t)
	if !ok {
		return nil, core.NewError(core.ErrOp, "%s cannot be accumulated on this type", acc.Name())
	}
	kind, same := t.Homogeneous()
	if !same {
		kind = datatype.KindByte // REPLACE and NO_OP of elements that differ
	}
	typ, known := typeOf(kind)
	switch {
	case code.Pair() && m.f.opts.Loc == "engine":
		w.how, w.code = byOperator, code
	case code.Pair():
		w.how, w.code = underLock, code
	case !known:
		return nil, core.NewError(core.ErrOp, "%s cannot be accumulated on this type", acc.Name())
	case acc == core.Replace:
		w.how = replace
	case acc == core.NoOp:
		w.how = nothing
	default:
		w.how = atomically
		if w.op, ok = opOf(acc); !ok {
			return nil, core.NewError(core.ErrOp, "%s has no atomic operation of the interface", acc.Name())
		}
	}
	w.acc, w.t, w.typ = acc, t, typ
	return w, nil
}

// inOrder is how many bytes a put and a get may have that take their place among atomic operations; 0: they never do.
func (is *issue) inOrder() (put, get int64) {
	const whole = ^int64(15)
	p, g := is.m.f.ni.OrderedSizes(is.m.transfer.Target)
	return min(is.m.atomic, int64(p)) & whole, min(is.m.atomic, int64(g)) & whole
}

// accumulate begins an Accumulate.
func (is *issue) accumulate(op *osc.Op) error {
	w := is.m.chosen
	switch w.how {
	case nothing:
		return nil
	case replace:
		if most, _ := is.inOrder(); most > 0 {
			return is.putAll(op, most)
		}
	case byOperator:
		return is.pairs(op, &w)
	}
	if straight(op, &op.Origin) {
		return is.atomics(&w, op.Origin.Addr(), nil, op.Off+op.Low, op.High-op.Low)
	}
	var p osc.Pieces
	p.Init(op.Origin, op.Off, op.Count, op.Type)
	for {
		mem, off, n := p.Next(is.m.atomic)
		if n == 0 {
			return nil
		}
		if err := is.atomics(&w, mem, nil, off, n); err != nil {
			return err
		}
	}
}

// fetch begins a GetAccumulate.
func (is *issue) fetch(op *osc.Op) error {
	w := is.m.chosen
	switch w.how {
	case nothing:
		if _, most := is.inOrder(); op.High-op.Low <= most {
			return is.getAll(op, most)
		}
		return is.fetchAll(op, &w, false)
	case byOperator:
		return is.pairs(op, &w)
	}
	return is.fetchAll(op, &w, true)
}

// fetchAll walks origin and result beside the target.
func (is *issue) fetchAll(op *osc.Op, w *way, origin bool) error {
	if straight(op, &op.Result) && (!origin || straight(op, &op.Origin)) {
		var from unsafe.Pointer
		if origin {
			from = op.Origin.Addr()
		}
		return is.atomics(w, from, op.Result.Addr(), op.Off+op.Low, op.High-op.Low)
	}
	var in, out osc.Pieces
	out.Init(op.Result, op.Off, op.Count, op.Type)
	to, off, left := out.Next(is.m.atomic)
	if !origin {
		for left > 0 {
			if err := is.atomics(w, nil, to, off, left); err != nil {
				return err
			}
			to, off, left = out.Next(is.m.atomic)
		}
		return nil
	}
	in.Init(op.Origin, op.Off, op.Count, op.Type)
	from, _, have := in.Next(is.m.atomic)
	for left > 0 && have > 0 {
		n := min(left, have) // an end between elements, as both are
		if err := is.atomics(w, from, to, off, n); err != nil {
			return err
		}
		if left -= n; left > 0 {
			to, off = unsafe.Add(to, n), off+n
		} else {
			to, off, left = out.Next(is.m.atomic)
		}
		if have -= n; have > 0 {
			from = unsafe.Add(from, n)
		} else {
			from, _, have = in.Next(is.m.atomic)
		}
	}
	return nil
}

// atomics begins the atomic operations for a run of bytes; result, if it is not nil, gets what was there. Without an operand nothing changes.
func (is *issue) atomics(w *way, operand, result unsafe.Pointer, off, n int64) error {
	m := is.m
	for n > 0 {
		now := min(n, m.atomic)
		from := m.f.zeros[:now]
		if operand != nil {
			from = bytes(operand, now)
		}
		t, err := is.next(from, off)
		if err != nil {
			return err
		}
		switch {
		case w.how == atomically && result == nil:
			err = is.md.Atomic(t, w.op, w.typ)
		case w.how == replace:
			err = m.f.mute.Swap(t, is.to(result, now), nil, p4.Swap, bitsOf(w.typ))
		case w.how == nothing:
			err = m.f.mute.FetchAtomic(t, is.to(result, now), p4.Bor, p4.Uint8)
		default:
			err = m.f.mute.FetchAtomic(t, is.to(result, now), w.op, w.typ)
		}
		if err != nil {
			return is.back(err)
		}
		if n -= now; n > 0 {
			off += now
			if operand != nil {
				operand = unsafe.Add(operand, now)
			}
			if result != nil {
				result = unsafe.Add(result, now)
			}
		}
	}
	return nil
}

// to is where n fetched bytes go: into memory, or nowhere.
func (is *issue) to(result unsafe.Pointer, n int64) *p4.Into {
	into := &is.m.into
	into.MD, into.Mem = is.md, is.m.f.trash[:n]
	if result != nil {
		into.Mem = bytes(result, n)
	}
	return into
}

// pairs begins operations on pairs, which the target's operator carries out. They lie in the memory of both sides as in core.Loc.
func (is *issue) pairs(op *osc.Op, w *way) error {
	m, size := is.m, w.code.Size()
	n, off := op.High-op.Low, op.Off+op.Low
	for at := int64(0); at < n; {
		now := min(n-at, m.atomic/size*size)
		from := m.f.zeros[:now]
		if op.Acc != core.NoOp {
			from = bytes(unsafe.Add(op.Origin.Addr(), at), now)
		}
		t, err := is.next(from, off+at)
		if err != nil {
			return err
		}
		t.HdrData = uint64(w.code)
		if op.Kind == osc.Accumulate {
			err = is.md.Atomic(t, p4.User, p4.Uint8)
		} else {
			err = m.f.mute.FetchAtomic(t, is.to(unsafe.Add(op.Result.Addr(), at), now), p4.User, p4.Uint8)
		}
		t.HdrData = 0
		if err != nil {
			return is.back(err)
		}
		at += now
	}
	return nil
}

// Operate implements portals4.Operator: pairs, as initiators ask for.
func (m *module) Operate(op uint64, target, operand []byte) bool {
	code := elem.Code(op)
	if op > 1<<16-1 || !code.Valid() || !code.Pair() || code.IsSwap() {
		return false
	}
	size := code.Size()
	n := (int64(len(target)) + size - 1) / size
	if int64(len(target)) < n*size-size+pairUsed(code) {
		return false
	}
	code.Apply(unsafe.Pointer(unsafe.SliceData(target)), unsafe.Pointer(unsafe.SliceData(operand)), n, &m.locks)
	return true
}

// pairUsed is how many bytes of a pair are value and index: all but a gap behind them, which memory need not have.
func pairUsed(c elem.Code) int64 {
	if c.Size() == 16 {
		return 12
	}
	return c.Size()
}

// compareSwap begins a CompareAndSwap.
func (is *issue) compareSwap(op *osc.Op) error {
	n := op.High - op.Low
	kind, _ := op.Type.Homogeneous()
	typ, ok := typeOf(kind)
	if !ok || n > 8 {
		return core.NewError(core.ErrType, "compare-and-swap is for integers, logical values and bytes")
	}
	t, err := is.next(bytes(op.Origin.Addr(), n), op.Off+op.Low)
	if err != nil {
		return err
	}
	return is.back(is.m.f.mute.Swap(t, is.to(op.Result.Addr(), n), bytes(op.Compare.Addr(), n), p4.CSwap, bitsOf(typ)))
}

// bitsOf gives the integers of the size of a type: moved and compared, data is bits.
func bitsOf(t p4.Type) p4.Type {
	switch t {
	case p4.Int8, p4.Uint8:
		return p4.Uint8
	case p4.Int16, p4.Uint16:
		return p4.Uint16
	case p4.Int32, p4.Uint32, p4.Float:
		return p4.Uint32
	}
	return p4.Uint64
}

// opOf gives the interface's operation for one of MPI's.
func opOf(op *core.Op) (p4.AtomicOp, bool) {
	switch op {
	case core.Sum:
		return p4.Sum, true
	case core.Prod:
		return p4.Prod, true
	case core.Max:
		return p4.Max, true
	case core.Min:
		return p4.Min, true
	case core.LAnd:
		return p4.Land, true
	case core.LOr:
		return p4.Lor, true
	case core.LXor:
		return p4.Lxor, true
	case core.BAnd:
		return p4.Band, true
	case core.BOr:
		return p4.Bor, true
	case core.BXor:
		return p4.Bxor, true
	}
	return 0, false
}

var types = [...]p4.Type{datatype.KindInt8: p4.Int8, datatype.KindUint8: p4.Uint8, datatype.KindByte: p4.Uint8, datatype.KindBool: p4.Uint8,
	datatype.KindInt16: p4.Int16, datatype.KindUint16: p4.Uint16, datatype.KindInt32: p4.Int32, datatype.KindUint32: p4.Uint32,
	datatype.KindInt64: p4.Int64, datatype.KindUint64: p4.Uint64, datatype.KindFloat32: p4.Float, datatype.KindFloat64: p4.Double,
	datatype.KindComplex64: p4.FloatComplex, datatype.KindComplex128: p4.DoubleComplex}

// typeOf gives the interface's type for a kind. Of bytes only the bits matter, and of logical values whether they are 0.
func typeOf(k datatype.Kind) (p4.Type, bool) {
	if k == datatype.KindNone || int(k) >= len(types) {
		return 0, false
	}
	return types[k], true
}

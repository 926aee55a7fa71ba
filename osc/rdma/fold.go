package rdma

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/osc"
	"github.com/ompi-go/ompi-go/osc/am"
	"github.com/ompi-go/ompi-go/osc/elem"
)

// codeOf gives the code of an accumulating operation; 0 for puts and gets.
func codeOf(op *osc.Op) (c elem.Code, err error) {
	ok := true
	switch op.Kind {
	case osc.Accumulate, osc.GetAccumulate:
		c, ok = elem.Of(op.Acc, op.Type)
	case osc.CompareAndSwap:
		c, ok = elem.Swap(op.Type)
	}
	if !ok {
		name := "compare-and-swap"
		if op.Acc != nil {
			name = op.Acc.Name()
		}
		return 0, core.NewError(core.ErrOp, "%s is not defined on the elements of %s", name, op.Type.Name())
	}
	return c, nil
}

// direct carries an operation out on memory that is mapped here. done is false where messages have to.
func (m *module) direct(t *target, op *osc.Op) (done bool, err error) {
	if op.Kind <= osc.Get {
		m.copy(t, op)
		return true, nil
	}
	if t.folds > 0 { // those that went by messages come first
		return false, nil
	}
	code, err := codeOf(op)
	if err != nil {
		return false, err
	}
	if am.Whole(code, op.Type) && !(op.Count == 1 || extentOf(op.Type) == code.Size()) {
		return false, nil
	}
	mem := unsafe.Add(t.mem, op.Off)
	switch op.Kind {
	case osc.CompareAndSwap:
		code.CompareSwap(mem, op.Compare.Addr(), op.Origin.Addr(), op.Result.Addr(), t.locks)
	case osc.Accumulate:
		if op.Acc == core.NoOp {
			return true, nil
		}
		return m.apply(t, op, code), nil
	case osc.GetAccumulate:
		return m.fetch(t, op, code), nil
	}
	return true, nil
}

// copy is a put or get.
func (m *module) copy(t *target, op *osc.Op) {
	n, plain := bytesOf(op.Count, op.Type)
	if k, also := bytesOf(op.Origin.Count(), op.Origin.Type()); plain && also && k == n {
		copyPieces(unsafe.Add(t.mem, op.Off), op.Origin.Addr(), n, op.Kind == osc.Get)
		return
	}
	var p osc.Pieces
	p.Init(op.Origin, op.Off, op.Count, op.Type)
	for mem, off, n := p.Next(mostCopy); n > 0; mem, off, n = p.Next(mostCopy) {
		copyPieces(unsafe.Add(t.mem, off), mem, n, op.Kind == osc.Get)
	}
}

// mostCopy is copied at once: the runtime cannot stop a goroutine meanwhile.
const mostCopy = 1 << 20

func copyPieces(there, here unsafe.Pointer, n int64, get bool) {
	if get {
		there, here = here, there
	}
	for n > 0 {
		k := min(n, mostCopy)
		copy(unsafe.Slice((*byte)(there), k), unsafe.Slice((*byte)(here), k))
		if n -= k; n > 0 { // a pointer past the end would be none of this memory
			there, here = unsafe.Add(there, k), unsafe.Add(here, k)
		}
	}
}

// elements reports whether count elements of t follow one another, as code takes them, from where they begin.
func elements(code elem.Code, count int64, t *datatype.Type) (int64, bool) {
	if am.Whole(code, t) {
		return count, extentOf(t) == code.Size() || count == 1
	}
	n, plain := bytesOf(count, t)
	return n / code.Size(), plain
}

// apply is an accumulate.
func (m *module) apply(t *target, op *osc.Op, code elem.Code) bool {
	n, plain := elements(code, op.Count, op.Type)
	if k, also := elements(code, op.Origin.Count(), op.Origin.Type()); plain && also && k == n {
		code.Apply(unsafe.Add(t.mem, op.Off), op.Origin.Addr(), n, t.locks)
		return true
	}
	if am.Whole(code, op.Type) {
		return false
	}
	var p osc.Pieces
	p.Init(op.Origin, op.Off, op.Count, op.Type)
	for mem, off, n := p.Next(mostCopy); n > 0; mem, off, n = p.Next(mostCopy) {
		code.Apply(unsafe.Add(t.mem, off), mem, n/code.Size(), t.locks)
	}
	return true
}

// fetch is a get-accumulate: two walks side by side, of the operands and of the results.
func (m *module) fetch(t *target, op *osc.Op, code elem.Code) bool {
	none := op.Origin.Type() == nil || op.Acc == core.NoOp
	n, plain := elements(code, op.Count, op.Type)
	into, straight := elements(code, op.Result.Count(), op.Result.Type())
	from, even := n, true
	if !none {
		from, even = elements(code, op.Origin.Count(), op.Origin.Type())
	}
	if plain && straight && even && into == n && from == n {
		var operand unsafe.Pointer
		if !none {
			operand = op.Origin.Addr()
		}
		code.Fetch(unsafe.Add(t.mem, op.Off), operand, op.Result.Addr(), n, t.locks)
		return true
	}
	if am.Whole(code, op.Type) {
		return false
	}
	var a, b osc.Pieces
	b.Init(op.Result, op.Off, op.Count, op.Type)
	var operand, result unsafe.Pointer
	var off, left, room int64
	if none {
		for {
			result, off, n = b.Next(mostCopy)
			if n == 0 {
				return true
			}
			code.Fetch(unsafe.Add(t.mem, off), nil, result, n/code.Size(), t.locks)
		}
	}
	a.Init(op.Origin, op.Off, op.Count, op.Type)
	for {
		if left == 0 {
			operand, _, left = a.Next(mostCopy)
		}
		if room == 0 {
			result, off, room = b.Next(mostCopy)
		}
		k := min(left, room)
		if k == 0 {
			return true
		}
		code.Fetch(unsafe.Add(t.mem, off), operand, result, k/code.Size(), t.locks)
		if left -= k; left > 0 {
			operand = unsafe.Add(operand, k)
		}
		if room -= k; room > 0 {
			result, off = unsafe.Add(result, k), off+k
		}
	}
}

// send has an operation carried out by messages.
func (m *module) send(t *target, op *osc.Op) error {
	code, err := codeOf(op)
	if err != nil {
		return err
	}
	s := am.Spec{Code: code, Origin: op.Origin, Off: op.Off, Count: op.Count, Type: op.Type, Arch: m.f.env.Btl.Arch}
	result := op.Result
	switch op.Kind {
	case osc.Put:
		s.Kind = am.Put
	case osc.Get:
		s.Kind, result = am.Get, op.Origin
	case osc.Accumulate:
		if op.Acc == core.NoOp {
			s.Count = 0
		}
		s.Kind = am.Accumulate
	case osc.GetAccumulate:
		s.Kind = am.Fetch
		if op.Acc == core.NoOp {
			s.Origin = core.Buffer{}
		}
	case osc.CompareAndSwap:
		s.Kind, s.Compare = am.Swap, op.Compare
	}
	w := m.newWork(t, op.Request)
	if op.Kind >= osc.Accumulate {
		w.fold = true
		t.folds++
	}
	if s.Kind == am.Get || s.Kind == am.Fetch || s.Kind == am.Swap {
		total := s.Count * s.Type.Size()
		if am.Whole(code, s.Type) {
			total = s.Count * extentOf(s.Type)
		}
		w.landing.Init(result, s.Type, code, total, s.Arch)
	}
	m.cut(w, &s, true)
	return nil
}

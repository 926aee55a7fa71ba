package osctest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// A program is a sequence of phases, each an epoch in which all ranks operate on all targets. Its outcome is determined: in a phase each origin has a stripe of
// every target's memory to itself and every operation in it a place of its own; what all origins accumulate into together commutes. So a model that knows
// nothing of windows predicts every byte of every window and of every result, and the outcome is the same over every component.

// action is one operation of a program.
type action struct {
	kind           actionKind
	origin, target int
	off            int64 // of the first item, in the target's memory
	mine, theirs   *shape
	minec, theirsc int // items on the two sides
	op             *ompi.Op
	data           []byte // packed elements of the origin
	compare        []byte // of compare-and-swap
	request        bool   // by a request-based call
	shared         bool   // others accumulate into this place
	result         []byte // packed, by the model; nil: not predicted
}

type actionKind int

const (
	doPut actionKind = iota
	doGet
	doAccumulate
	doGetAccumulate
	doFetchAndOp
	doCompareAndSwap
	actionKinds
)

func (k actionKind) String() string {
	return [...]string{"Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap"}[k]
}

func (a *action) String() string {
	s := fmt.Sprintf("%v of rank %d at rank %d, byte %d: %d of %s from %d of %s", a.kind, a.origin, a.target, a.off, a.theirsc, a.theirs.name, a.minec, a.mine.name)
	if a.op != nil {
		s += ", " + a.op.Name()
	}
	return s
}

// program is what all ranks know.
type program struct {
	rng    *rand.Rand
	ranks  int
	unit   int64
	stripe int64 // bytes of an origin's stripe
	joint  int64 // words that all accumulate into, behind the stripes
	elems  []*element
	mem    [][]byte // the model's windows
}

// element is a predefined type and shapes of it.
type element struct {
	typ    *datatype.Type
	size   int64
	shapes []*shape
	again  *shape
	float  bool
}

func elementOf[T any](float bool) *element {
	t := typeOf[T]()
	return &element{t, t.Size(), shapes(t, t.Size()), again(t, t.Size()), float}
}

func newProgram(seed uint64, ranks int, unit int64) *program {
	p := &program{rng: rand.New(rand.NewPCG(seed, 11)), ranks: ranks, unit: unit, stripe: 48 * 80, joint: 16,
		elems: []*element{elementOf[byte](false), elementOf[int16](false), elementOf[uint32](false), elementOf[int64](false), elementOf[float64](true)}}
	for range ranks {
		m := make([]byte, p.size())
		for k := range m {
			m[k] = byte(p.rng.Uint32())
		}
		p.mem = append(p.mem, m)
	}
	return p
}

func (p *program) size() int { return int(p.stripe*int64(p.ranks) + 8*p.joint) }

// phase makes the operations of one epoch, sorted by origin, and carries them out in the model.
func (p *program) phase(number int, passive bool) [][]*action {
	all := make([][]*action, p.ranks)
	before := make([][]byte, p.ranks)
	for r := range before {
		before[r] = append([]byte(nil), p.mem[r]...)
	}
	joint := [...]*ompi.Op{ompi.Sum, ompi.BXor, ompi.Max, ompi.BOr}[p.rng.IntN(4)]
	for o := range p.ranks {
		for t := range p.ranks {
			at := int64((o+number)%p.ranks) * p.stripe
			end := at + p.stripe
			for range 2 + p.rng.IntN(5) {
				a := p.action(o, t)
				a.request = passive && a.kind < doFetchAndOp && p.rng.IntN(3) == 0
				lo, hi := a.theirs.span(a.theirsc)
				a.off = roundUp(at-lo, p.unit)
				if a.off+hi > end {
					break
				}
				if a.kind != doPut && a.kind != doGet && a.theirs.elem&(a.theirs.elem-1) == 0 && p.rng.IntN(4) != 0 {
					// Aligned elements are the common case of accumulates; others must work, too.
					if off := roundUp(at-lo, p.unit*a.theirs.elem); off+hi <= end {
						a.off = off
					}
				}
				at = a.off + hi
				if raceEnabled { // words hold several small elements, which the detector does not tell from one another
					at = roundUp(at, 8)
				}
				p.apply(a)
				all[o] = append(all[o], a)
			}
			for range p.rng.IntN(3) {
				a := &action{kind: doAccumulate, origin: o, target: t, op: joint, shared: true}
				if p.rng.IntN(2) == 0 {
					a.kind = doGetAccumulate
				}
				e := p.elems[3]
				a.mine, a.theirs, a.minec, a.theirsc = e.shapes[0], e.shapes[0], 3, 3
				if p.rng.IntN(2) == 0 {
					a.theirs, a.theirsc = e.shapes[1], 1
				}
				a.off = p.stripe*int64(p.ranks) + roundUp(8*p.rng.Int64N(p.joint-8), 8*p.unit)
				if a.off+24 > int64(p.size()) {
					continue
				}
				a.data = p.bytes(24)
				p.apply(a)
				a.result = nil
				all[o] = append(all[o], a)
			}
		}
	}
	return all
}

func roundUp(v, to int64) int64 { return (v + to - 1) / to * to }

func (p *program) bytes(n int64) []byte {
	b := make([]byte, n)
	for k := range b {
		b[k] = byte(p.rng.Uint32())
	}
	return b
}

func (p *program) action(origin, target int) *action {
	a := &action{kind: actionKind(p.rng.IntN(int(actionKinds))), origin: origin, target: target}
	e := p.elems[p.rng.IntN(len(p.elems))]
	switch a.kind {
	case doFetchAndOp, doCompareAndSwap:
		if e.float {
			e = p.elems[3]
		}
		a.mine, a.theirs, a.minec, a.theirsc = e.shapes[0], e.shapes[0], 1, 1
	default:
		n := 12 * p.rng.IntN(3) // 0, too
		a.mine, a.theirs = e.shapes[p.rng.IntN(len(e.shapes))], e.shapes[p.rng.IntN(len(e.shapes))]
		if a.kind == doPut && p.rng.IntN(8) == 0 {
			a.mine = e.again
		}
		a.minec, a.theirsc = n/len(a.mine.offs), n/len(a.theirs.offs)
		if a.theirs.name == "single" && a.mine.name == "single" {
			a.minec = p.rng.IntN(25)
			a.theirsc = a.minec
		}
	}
	n := int64(a.minec*len(a.mine.offs)) * e.size
	switch {
	case a.mine == e.again:
		one := p.bytes(e.size)
		for range a.minec {
			a.data = append(a.data, one...)
		}
	default:
		a.data = p.bytes(n)
	}
	switch a.kind {
	case doAccumulate, doGetAccumulate, doFetchAndOp:
		ops := []*ompi.Op{ompi.Replace, ompi.NoOp}
		if !e.float { // sums of random bits are no numbers
			ops = append(ops, ompi.Sum, ompi.Prod, ompi.Max, ompi.Min, ompi.BAnd, ompi.BOr, ompi.BXor, ompi.LAnd, ompi.LOr, ompi.LXor)
		}
		a.op = ops[p.rng.IntN(len(ops))]
		if a.kind == doAccumulate && a.op == ompi.NoOp {
			a.op = ompi.Replace
		}
		if e == p.elems[0] && a.op != ompi.Replace && a.op != ompi.NoOp && a.op.CheckAccumulate(e.typ) != nil {
			a.op = ompi.Replace
		}
	case doCompareAndSwap:
		a.compare = p.bytes(e.size)
	}
	return a
}

// apply carries out an action in the model.
func (p *program) apply(a *action) {
	m := p.mem[a.target]
	there := a.theirs.gather(m, a.off, a.theirsc)
	if a.kind == doCompareAndSwap && p.rng.IntN(2) == 0 {
		a.compare = there // succeeds
	}
	a.result = append([]byte(nil), there...)
	switch a.kind {
	case doPut:
		a.theirs.scatter(m, a.off, a.theirsc, a.data)
	case doAccumulate, doGetAccumulate, doFetchAndOp:
		reduce(a.op, there, a.data, p.elemOf(a))
		a.theirs.scatter(m, a.off, a.theirsc, there)
	case doCompareAndSwap:
		if string(there) == string(a.compare) {
			a.theirs.scatter(m, a.off, 1, a.data)
		}
	}
}

func (p *program) elemOf(a *action) *datatype.Type {
	for _, e := range p.elems {
		for _, s := range e.shapes {
			if s == a.theirs {
				return e.typ
			}
		}
	}
	panic("a shape of no element")
}

// flight is an action under way, with its buffers.
type flight struct {
	a       *action
	out     side
	in      side
	compare []byte
	req     ompi.Request
}

// side is a buffer, and where in it the first item begins.
type side struct {
	mem  []byte
	want []byte // as it must be at the end
	at   int64
}

func (p *program) side(s *shape, count int, packed []byte, fill bool) side {
	lo, hi := s.span(count)
	b := side{at: -lo + 8}
	b.mem = p.scratch(hi - lo + 16)
	if fill {
		s.scatter(b.mem, b.at, count, packed)
		b.want = append([]byte(nil), b.mem...)
		return b
	}
	b.want = append([]byte(nil), b.mem...)
	s.scatter(b.want, b.at, count, packed)
	return b
}

func (p *program) scratch(n int64) []byte {
	b := make([]byte, n)
	for k := range b {
		b[k] = 0xa5
	}
	return b
}

// issue begins an action of this rank.
func (p *program) issue(w *window, a *action) *flight {
	f := &flight{a: a}
	f.out = p.side(a.mine, a.minec, a.data, true)
	result := a.result
	if result == nil {
		result = make([]byte, len(a.data))
	}
	f.in = p.side(a.mine, a.minec, result, false)
	out := ompi.TypedAt(f.out.mem, int(f.out.at), a.minec, a.mine.typ)
	in := ompi.TypedAt(f.in.mem, int(f.in.at), a.minec, a.mine.typ)
	at := w.typed(a.target, a.off, a.theirsc, a.theirs.typ)
	if a.mine == a.theirs && a.minec > 0 {
		at = w.at(a.target, a.off) // count and type as the origin's
	}
	noOp := a.op == ompi.NoOp && a.off%2 == 0
	if noOp {
		out = ompi.Buffer{}
		at = w.typed(a.target, a.off, a.theirsc, a.theirs.typ)
	}
	switch a.kind {
	case doPut:
		if a.request {
			f.req = w.Rput(out, at)
		} else {
			ok(w.Put(out, at))
		}
	case doGet:
		if a.request {
			f.req = w.Rget(in, at)
		} else {
			ok(w.Get(in, at))
		}
	case doAccumulate:
		if a.request {
			f.req = w.Raccumulate(out, at, a.op)
		} else {
			ok(w.Accumulate(out, at, a.op))
		}
	case doGetAccumulate:
		if a.request {
			f.req = w.RgetAccumulate(out, in, at, a.op)
		} else {
			ok(w.GetAccumulate(out, in, at, a.op))
		}
	case doFetchAndOp:
		ok(w.FetchAndOp(out, in, at, a.op))
	case doCompareAndSwap:
		f.compare = a.compare
		ok(w.CompareAndSwap(out, ompi.Typed(f.compare, 1, a.theirs.typ), in, at))
	}
	return f
}

// check looks at a rank's buffers after the epoch.
func (f *flight) check() {
	same(f.out.mem, f.out.want, "the origin buffer of %v", f.a)
	switch f.a.kind {
	case doPut, doAccumulate:
		return
	}
	if f.a.result == nil {
		return
	}
	same(f.in.mem, f.in.want, "the result of %v", f.a)
}

// wait waits for the request, which is null afterwards.
func (f *flight) wait() {
	done(f.req)
	f.req = ompi.Request{}
}

// run carries out a program over a window, checks everything, and gives a checksum of all windows.
func (p *program) run(w *window, phases int) uint64 {
	w.store(func(mem []byte) { copy(mem, p.mem[w.r.me]) })
	w.r.barrier()
	shift := p.rng.IntN(int(epochs))
	for number := range phases {
		e := epoch((number + shift) % int(epochs))
		all := p.phase(number, e.passive())
		var flights []*flight
		w.during(e, func(target int) {
			for _, a := range all[w.r.me] {
				if a.target == target {
					flights = append(flights, p.issue(w, a))
				}
			}
			for _, f := range flights { // requests may be waited for in any order, or left to the end of the epoch
				if f.a.request && f.a.off%3 != 0 {
					f.wait()
				}
			}
		})
		for _, f := range flights {
			if f.a.request {
				f.wait()
			}
			f.check()
		}
		same(w.load(), p.mem[w.r.me], "%v window (unit %d), phase %d, %v: memory of rank %d", w.flavor, p.unit, number, e, w.r.me)
		w.r.barrier()
	}
	h := fnv.New64a()
	h.Write(w.load()) // never fails
	sum, total := h.Sum64(), uint64(0)
	ok(w.r.Allreduce(ompi.Value(&sum), ompi.Value(&total), ompi.Sum))
	return total
}

// sum is the checksum that run must give.
func (p *program) sum() (total uint64) {
	for _, m := range p.mem {
		h := fnv.New64a()
		h.Write(m) // never fails
		total += h.Sum64()
	}
	return total
}

// programCases run the same programs over every kind of window.
func programCases() []suite {
	return []suite{{"Programs", 0, testPrograms, anyFlavor}, {"ProgramsAlone", 1, testPrograms, anyFlavor}}
}

func testPrograms(r *rank) {
	for seed := range r.cfg.Seeds {
		for k, f := range r.cfg.Flavors {
			unit := [...]int{1, 8, 3, 2}[(seed+k)%4]
			if f == Dynamic {
				unit = 1
			}
			p := newProgram(uint64(seed*100+unit), r.n, int64(unit))
			w := r.window(f, int(roundUp(int64(p.size()), 48)), unit)
			for m := range p.mem {
				p.mem[m] = append(p.mem[m], make([]byte, len(w.mem)-len(p.mem[m]))...)
			}
			got := p.run(w, int(epochs))
			that(got == p.sum(), "seed %d, %v: checksum %x, want %x", seed, f, got, p.sum())
			w.free()
		}
	}
}

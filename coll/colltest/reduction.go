package colltest

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"testing"
	"unsafe"

	"github.com/ompi-go/ompi-go/coll/alg"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/datatype"
)

// reduction is an operation on a type, with operands on which it is exactly associative.
type reduction struct {
	name string
	op   *core.Op
	t    *datatype.Type
	tame func([]byte) // makes noise into packed operands; nil: any bytes will do
	long int64        // a count above small eager limits; 0: not tried
	huge int64        // a count above all of them, for few ranks; 0: not tried

	sample bool // of the short suite, too
}

// affine is x -> A*x + B; composition is associative and does not commute. The hole behind Tag is to be left alone by messages.
type affine struct {
	Tag  uint8 // of the leftmost operand
	A, B uint32
}

func compose(in, inout []affine) {
	for i, f := range in {
		g := &inout[i]
		*g = affine{Tag: f.Tag, A: f.A * g.A, B: f.A*g.B + f.B}
	}
}

// composeRaw is compose on two uint32 that lie at the given offsets from an element's address.
func composeRaw(a, b int64) *core.Op {
	return core.NewRawOp(false, func(in, inout unsafe.Pointer, n int, t *datatype.Type) {
		_, extent := t.Extent()
		for i := range int64(n) {
			f, g := unsafe.Add(in, i*extent), unsafe.Add(inout, i*extent)
			fa, fb := *(*uint32)(unsafe.Add(f, a)), *(*uint32)(unsafe.Add(f, b))
			ga, gb := (*uint32)(unsafe.Add(g, a)), (*uint32)(unsafe.Add(g, b))
			*ga, *gb = fa**ga, fa**gb+fb
		}
	})
}

// smallFloats makes small whole numbers, whose sums are exact.
func smallFloats(b []byte) {
	for i := 0; i+8 <= len(b); i += 8 {
		binary.NativeEndian.PutUint64(b[i:], math.Float64bits(float64(int8(b[i]))))
	}
}

// smallPairs makes packed Loc[float64] of few different values and indexes.
func smallPairs(b []byte) {
	for i := 0; i+12 <= len(b); i += 12 {
		binary.NativeEndian.PutUint64(b[i:], math.Float64bits(float64(b[i]%3)))
		binary.NativeEndian.PutUint32(b[i+8:], uint32(b[i+8]))
	}
}

func truths(b []byte) {
	for i := range b {
		b[i] &= 1
	}
}

func makeReductions(t *testing.T) []reduction {
	ok := must(t)
	vector := ok(datatype.Vector(2, 1, 2, datatype.Uint32))
	vector = ok(datatype.Resized(vector, 0, 16))
	around := ok(datatype.HIndexed([]int{1, 1}, []int64{-8, 4}, datatype.Uint32))
	around = ok(datatype.Resized(around, -8, 16))
	maximum := core.NewOp(true, func(in, inout []int16) {
		for i, x := range in {
			inout[i] = max(x, inout[i])
		}
	})
	list := []reduction{
		{"sum of int32", core.Sum, datatype.Int32, nil, 1100, 0, true},
		{"sum of float64", core.Sum, datatype.Float64, smallFloats, 600, 9000, false},
		{"max of float64", core.Max, datatype.Float64, smallFloats, 0, 0, false},
		{"product of uint8", core.Prod, datatype.Uint8, nil, 0, 0, false},
		{"exclusive or of uint64", core.BXor, datatype.Uint64, nil, 0, 0, false},
		{"and of bool", core.LAnd, datatype.Bool, truths, 0, 0, false},
		{"maxloc", core.MaxLoc, ok(datatype.For[core.Loc[float64]]()), smallPairs, 400, 0, true},
		{"sum of arrays", core.Sum, ok(datatype.For[[3]int16]()), nil, 0, 0, false},
		{"user maximum", maximum, datatype.Int16, nil, 0, 0, false},
		{"composition", core.NewOp(false, compose), ok(datatype.For[affine]()), nil, 500, 8000, true},
		{"raw composition", composeRaw(0, 8), vector, nil, 520, 0, true},
		{"composition around the address", composeRaw(-8, 4), around, nil, 0, 0, true},
	}
	for _, o := range list {
		if err := o.op.Check(o.t); err != nil {
			t.Fatalf("%s: %v", o.name, err)
		}
	}
	return list
}

// operand is what rank contributes.
func (o *reduction) operand(count int64, key, rank int) []byte {
	b := noise(count*o.t.Size(), key, rank)
	if o.tame != nil {
		o.tame(b)
	}
	return b
}

// result is what all ranks' operands give. The first rank that asks computes it.
func (r *rankTest) result(o *reduction, count int64, key int) []byte {
	f, ok := r.results.Load(key)
	if !ok {
		f, _ = r.results.LoadOrStore(key, sync.OnceValue(func() []byte { return o.result(count, key, r.n) }))
	}
	return f.(func() []byte)()
}

// result combines the operands of n ranks in order, one after the other.
func (o *reduction) result(count int64, key, n int) []byte {
	acc := newMemory(o.t, count)
	acc.fill(0, count, o.operand(count, key, n-1))
	for i := n - 2; i >= 0; i-- {
		in := newMemory(o.t, count)
		in.fill(0, count, o.operand(count, key, i))
		o.op.Apply(in.buffer().Addr(), acc.buffer().Addr(), count, o.t)
	}
	return pack(acc.buffer())
}

func (r *rankTest) reductions(o *reduction) {
	for _, count := range r.elements(o.long, o.huge, 0, 1, 40, 5) {
		for _, inPlace := range []bool{false, true} {
			for _, root := range r.roots(count) {
				r.reduce(o, count, root, inPlace)
			}
			r.allreduce(o, count, inPlace)
		}
		if r.worth(count) {
			r.sums(o, count)
		}
	}
}

func (r *rankTest) reduce(o *reduction, count int64, root int, inPlace bool) {
	if r.skips(alg.Reduce) {
		return
	}
	key := r.next()
	send, recv := newMemory(o.t, count), newMemory(o.t, count+spare(inPlace))
	own := o.operand(count, key, r.rank)
	send.fill(0, count, own)
	from, to := send.buffer(), nowhere()
	if r.rank == root {
		to = recv.buffer()
		if inPlace {
			from = place()
			recv.fill(0, count, own)
		}
		recv.expect(0, count, r.result(o, count, key))
	}
	err := r.tbl.Reduce.Reduce(from, to, o.op, root)
	r.done(firstError(err, recv.checkData(), send.check()), "reduce (%s) of %d to %d, in place %v", o.name, count, root, inPlace)
}

func (r *rankTest) allreduce(o *reduction, count int64, inPlace bool) {
	if r.skips(alg.Allreduce) {
		return
	}
	key := r.next()
	send, recv := newMemory(o.t, count), newMemory(o.t, count+spare(inPlace))
	own := o.operand(count, key, r.rank)
	send.fill(0, count, own)
	from := send.buffer()
	if inPlace {
		from = place()
		recv.fill(0, count, own)
	}
	recv.expect(0, count, r.result(o, count, key))
	err := r.tbl.Allreduce.Allreduce(from, recv.buffer(), o.op)
	r.done(firstError(err, recv.checkData(), send.check()), "allreduce (%s) of %d, in place %v", o.name, count, inPlace)
}

// sameBits: programs branch on the result of an allreduce, so it must be equal on all ranks even where the order of operands
// matters a little: rounding, NaN, the two zeros.
func (r *rankTest) sameBits() {
	for _, op := range []*core.Op{core.Sum, core.Max, core.Min} {
		for _, odd := range []float64{math.NaN(), math.Copysign(0, -1), 1e-17} {
			in, out := []float64{float64(r.rank+1) * 0.1, 0, 0}, make([]float64, 3)
			if r.rank == r.n/2 {
				in[1], in[2] = odd, odd
			}
			buf := core.MakeBuffer(unsafe.Pointer(&in[0]), 3, datatype.Float64)
			err := r.tbl.Allreduce.Allreduce(buf, core.MakeBuffer(unsafe.Pointer(&out[0]), 3, datatype.Float64), op)
			all := make([]uint64, 3*r.n)
			mine := core.MakeBuffer(unsafe.Pointer(&out[0]), 3, datatype.Uint64)
			again := r.tbl.Allgather.Allgather(mine, core.MakeBuffer(unsafe.Pointer(&all[0]), int64(len(all)), datatype.Uint64))
			if err = firstError(err, again); err == nil {
				for i, bits := range all {
					if bits != math.Float64bits(out[i%3]) {
						err = fmt.Errorf("rank %d has %#x where this rank has %v (%#x)", i/3, bits, out[i%3], math.Float64bits(out[i%3]))
						break
					}
				}
			}
			r.done(err, "allreduce with %s, %v on rank %d", op.Name(), odd, r.n/2)
		}
	}
}

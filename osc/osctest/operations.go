package osctest

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

func operationCases() []suite {
	return []suite{
		{"Operations", 2, testOperations, anyFlavor},
		{"OperationsTogether", 0, testTogether, anyFlavor},
		{"IllegalOperations", 1, testIllegalOperations, anyFlavor},
	}
}

func allOps() []*ompi.Op {
	return []*ompi.Op{ompi.Sum, ompi.Prod, ompi.Max, ompi.Min, ompi.LAnd, ompi.LOr, ompi.LXor, ompi.BAnd, ompi.BOr, ompi.BXor, ompi.MaxLoc, ompi.MinLoc, ompi.Replace, ompi.NoOp}
}

// testOperations: every predefined operation on every type for which it is legal (MPI-3.1 §11.3.4), against ReduceLocal.
func testOperations(r *rank) {
	r.flavors(4096, 1, func(w *window) {
		ok(w.LockAll(0))
		opsOn(w, func(k int) int8 { return int8(k*37 - 60) })
		opsOn(w, func(k int) int16 { return int16(k*3700 - 60) })
		opsOn(w, func(k int) int32 { return int32(k*370000 - 60) })
		opsOn(w, func(k int) int64 { return int64(k)*370000000007 - 60 })
		opsOn(w, func(k int) uint8 { return uint8(k * 37) })
		opsOn(w, func(k int) uint16 { return uint16(k * 3700) })
		opsOn(w, func(k int) uint32 { return uint32(k * 370000000) })
		opsOn(w, func(k int) uint64 { return uint64(k) * 0x9e3779b97f4a7c15 })
		opsOn(w, func(k int) float32 { return float32(k)*1.5 - 7 })
		opsOn(w, func(k int) float64 { return float64(k)*1.25 - 7 })
		opsOn(w, func(k int) complex64 { return complex(float32(k)-4, 2-float32(k)) })
		opsOn(w, func(k int) complex128 { return complex(float64(k)-4, 2-float64(k)) })
		opsOn(w, func(k int) bool { return k%3 == 0 })
		opsOn(w, func(k int) [3]int32 { return [3]int32{int32(k), -1, int32(k * k)} })
		opsOn(w, func(k int) [2]float64 { return [2]float64{float64(k), -1} })
		opsOn(w, func(k int) ompi.Loc[int8] { return ompi.Loc[int8]{Value: int8(k % 5), Index: int32(-k)} })
		opsOn(w, func(k int) ompi.Loc[int16] { return ompi.Loc[int16]{Value: int16(k % 5), Index: int32(k)} })
		opsOn(w, func(k int) ompi.Loc[int32] { return ompi.Loc[int32]{Value: int32(k % 5), Index: int32(k * 7 % 6)} })
		opsOn(w, func(k int) ompi.Loc[int64] { return ompi.Loc[int64]{Value: int64(k % 5), Index: int32(k * 7 % 6)} })
		opsOn(w, func(k int) ompi.Loc[uint64] { return ompi.Loc[uint64]{Value: uint64(k % 5), Index: int32(k * 7 % 6)} })
		opsOn(w, func(k int) ompi.Loc[float32] {
			return ompi.Loc[float32]{Value: float32(k % 5), Index: int32(k * 7 % 6)}
		})
		opsOn(w, func(k int) ompi.Loc[float64] {
			return ompi.Loc[float64]{Value: float64(k % 5), Index: int32(k * 7 % 6)}
		})
		ok(w.UnlockAll())
		r.barrier()
	})
}

// fits tells that op is legal and that ReduceLocal, the model, knows it: pairs of one kind could be summed up as well, as two elements each.
func fits(op *ompi.Op, t *datatype.Type) bool {
	return op.CheckAccumulate(t) == nil && (op == ompi.Replace || op == ompi.NoOp || op.Check(t) == nil)
}

func bytesOf[T any](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

// opsOn tries all operations on one type: an array, one with gaps at the target, and a single element.
func opsOn[T comparable](w *window, value func(int) T) {
	t := typeOf[T]()
	const n = 8
	size := int64(unsafe.Sizeof(*new(T)))
	gaps, err := datatype.Vector(n/2, 1, 2, t)
	ok(err)
	ok(gaps.Commit())
	peer, at := (w.r.me+1)%w.r.n, int64(w.r.me)*1024
	for _, op := range allOps() {
		if !fits(op, t) {
			continue
		}
		was, with := make([]T, n), make([]T, n)
		for k := range n {
			was[k], with[k] = value(k), value(3*k+1)
		}
		set := func() {
			ok(w.Put(ompi.Slice(was), w.at(peer, at)))
			ok(w.Flush(peer))
		}
		now := func() []T {
			s := make([]T, n)
			ok(w.Flush(peer))
			ok(w.Get(ompi.Slice(s), w.at(peer, at)))
			ok(w.Flush(peer))
			return s
		}
		expect := func(what string, got, want []T) {
			for k := range want {
				that(got[k] == want[k], "%s %s of %T, element %d: %v, want %v (it was %v, the operand %v)", op.Name(), what, got[k], k, got[k], want[k], was[k], with[k])
			}
		}
		model := func(step int) []T {
			s := append([]T(nil), was...)
			for k := range n / step {
				switch op {
				case ompi.NoOp:
				case ompi.Replace:
					s[k*step] = with[k]
				default:
					ok(ompi.ReduceLocal(ompi.Value(&with[k]), ompi.Value(&s[k*step]), op))
				}
			}
			return s
		}
		old := make([]T, n)
		for _, fetch := range []bool{false, true} {
			if !fetch && op == ompi.NoOp {
				continue
			}
			set()
			if fetch {
				ok(w.GetAccumulate(ompi.Slice(with), ompi.Slice(old), w.at(peer, at), op))
				expect("on an array", now(), model(1))
				expect("before", old, was)
			} else {
				ok(w.Accumulate(ompi.Slice(with), w.at(peer, at), op))
				expect("on an array", now(), model(1))
			}
			if _, alike := t.Homogeneous(); !alike || op == ompi.MaxLoc || op == ompi.MinLoc {
				continue // accumulates take pairs alone, nothing derived from them
			}
			set()
			if fetch {
				ok(w.GetAccumulate(ompi.Slice(with[:n/2]), ompi.Slice(old[:n/2]), w.typed(peer, at, 1, gaps), op))
			} else {
				ok(w.Accumulate(ompi.Slice(with[:n/2]), w.typed(peer, at, 1, gaps), op))
			}
			expect("on every other", now(), model(2))
			if fetch {
				for k := range n / 2 {
					that(old[k] == was[2*k], "%s on every other of %T: %d was %v, want %v", op.Name(), old[k], k, old[k], was[2*k])
				}
			}
		}
		if t.Kind() != datatype.KindNone {
			set()
			ok(w.FetchAndOp(ompi.Value(&with[2]), ompi.Value(&old[0]), w.at(peer, at+2*size), op))
			got, want := now(), model(1)
			that(got[2] == want[2] && got[1] == was[1] && got[3] == was[3] && old[0] == was[2], "Fetch_and_op %s of %T: %v, was %v, want %v", op.Name(), old[0], got[:4], old[0], want[2])
		}
	}
	switch t.Kind() {
	case datatype.KindNone, datatype.KindFloat32, datatype.KindFloat64, datatype.KindComplex64, datatype.KindComplex128:
		return
	}
	a, b := value(1), value(2)
	two, old := []T{a, b}, b
	ok(w.Put(ompi.Slice(two), w.at(peer, at)))
	ok(w.Flush(peer))
	ok(w.CompareAndSwap(ompi.Value(&b), ompi.Value(&a), ompi.Value(&old), w.at(peer, at)))
	ok(w.Flush(peer))
	that(old == a, "Compare_and_swap of %T: was %v, want %v", old, old, a)
	c := value(3)
	ok(w.CompareAndSwap(ompi.Value(&c), ompi.Value(&a), ompi.Value(&old), w.at(peer, at)))
	ok(w.Flush(peer))
	that(old == b || a == b, "Compare_and_swap of %T that fails: was %v, want %v", old, old, b)
	ok(w.Get(ompi.Slice(two), w.at(peer, at)))
	ok(w.Flush(peer))
	that(two[1] == b && (two[0] == b || a == b), "Compare_and_swap of %T leaves %v", old, two)
}

// testTogether: operations of all origins, and of several goroutines of each, on the same elements: each element changes as a whole, its neighbours in the
// same word with it.
func testTogether(r *rank) {
	r.flavors(2048, 1, func(w *window) {
		together(w, func(k int) int8 { return int8(k*5 + 1) })
		together(w, func(k int) int16 { return int16(k*331 + 1) })
		together(w, func(k int) uint32 { return uint32(k*77771 + 1) })
		together(w, func(k int) int64 { return int64(k)*77777777771 + 1 })
		together(w, func(k int) float32 { return float32(k) })
		together(w, func(k int) float64 { return float64(k) })
		together(w, func(k int) complex64 { return complex(float32(k), 1) })
		together(w, func(k int) complex128 { return complex(1, float64(k)) })
		together(w, func(k int) ompi.Loc[int32] { return ompi.Loc[int32]{Value: int32(k * 7 % 5), Index: int32(k)} })
		together(w, func(k int) ompi.Loc[float64] { return ompi.Loc[float64]{Value: float64(k * 7 % 5), Index: int32(k)} })
	})
}

func together[T comparable](w *window, value func(int) T) {
	t := typeOf[T]()
	const n, threads = 9, 2 // an odd number: neighbours of small ones are in several words
	rounds := 6
	if raceEnabled {
		rounds = 3 // each kind of operation still meets itself and the other
	}
	size := int64(unsafe.Sizeof(*new(T)))
	for _, op := range allOps() {
		if !fits(op, t) || op == ompi.Replace || op == ompi.NoOp {
			continue
		}
		if k := t.Kind(); op == ompi.Prod && k >= datatype.KindFloat32 && k <= datatype.KindComplex128 {
			continue // rounding depends on the order
		}
		operand := func(rank, thread, round int) []T {
			s := make([]T, n)
			for k := range s {
				s[k] = value((rank*threads+thread)%5*3 + round%3 + k)
			}
			return s
		}
		start := make([]T, n)
		for k := range start {
			start[k] = value(k % 3)
		}
		w.store(func(mem []byte) { copy(mem[size:], bytesOf(start)) })
		w.r.barrier()
		ok(w.LockAll(0))
		w.r.threads(threads, func(thread int) {
			for round := range rounds {
				s, old := operand(w.r.me, thread, round), make([]T, n)
				for k := range w.r.n {
					t := (w.r.me + k) % w.r.n
					if round%3 == 2 {
						ok(w.GetAccumulate(ompi.Slice(s), ompi.Slice(old), w.at(t, size), op))
						continue
					}
					for i := 0; i < n; i += 3 {
						ok(w.Accumulate(ompi.Slice(s[i:i+3]), w.at(t, size*int64(1+i)), op))
					}
				}
				ok(w.FlushLocalAll())
			}
			ok(w.FlushAll())
		})
		ok(w.UnlockAll())
		w.r.barrier()
		for rank := range w.r.n {
			for thread := range threads {
				for round := range rounds {
					s := operand(rank, thread, round)
					ok(ompi.ReduceLocal(ompi.Slice(s), ompi.Slice(start), op))
				}
			}
		}
		got := make([]T, n)
		copy(bytesOf(got), w.load()[size:])
		for k := range got {
			that(got[k] == start[k], "%s of %T by all, element %d: %v, want %v", op.Name(), got[k], k, got[k], start[k])
		}
		w.r.barrier()
	}
}

// testIllegalOperations: ErrOp at the origin.
func testIllegalOperations(r *rank) {
	mine := ompi.NewOp(true, func(in, inout []int64) {})
	r.flavors(64, 1, func(w *window) {
		ok(w.LockAll(0))
		v, f := []int64{1}, []float64{1}
		refused(w.Accumulate(ompi.Slice(v), w.at(0, 0), mine), ompi.ErrOp, "a user's operation")
		refused(w.Accumulate(ompi.Slice(v), w.at(0, 0), nil), ompi.ErrOp, "no operation")
		refused(w.Accumulate(ompi.Slice(f), w.at(0, 0), ompi.BXor), ompi.ErrOp, "BXor of float64")
		refused(w.Accumulate(ompi.Slice(v), w.at(0, 0), ompi.MaxLoc), ompi.ErrOp, "MaxLoc of int64")
		refused(w.GetAccumulate(ompi.Slice(f), ompi.Slice(f), w.at(0, 0), ompi.LAnd), ompi.ErrOp, "LAnd of float64")
		refused(w.FetchAndOp(ompi.Slice(f), ompi.Slice(f), w.at(0, 0), ompi.BOr), ompi.ErrOp, "BOr of float64")
		ok(w.UnlockAll())
	})
}

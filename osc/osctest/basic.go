package osctest

import (
	"bytes"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

func basicCases() []suite {
	return []suite{
		{"NothingToDo", 0, testNothing, anyFlavor},
		{"ProcNull", 2, testProcNull, anyFlavor},
		{"DifferentMembers", 0, testDifferent, anyFlavor},
		{"LargeTransfers", 2, testLarge, anyFlavor},
		{"MixedStructs", 2, testMixedStructs, anyFlavor},
		{"ManyWindows", 0, testManyWindows, anyFlavor},
		{"FreedWithTraffic", 0, testFreedWithTraffic, anyFlavor},
	}
}

// testNothing: empty windows, zero counts and epochs without operations are legal.
func testNothing(r *rank) {
	for _, f := range r.cfg.Flavors {
		w := r.window(f, 0, 1)
		for e := range epochs {
			w.during(e, func(t int) {
				var none []byte
				if f != Dynamic {
					ok(w.Put(ompi.Slice(none), ompi.At(t, 0)))
					ok(w.Get(ompi.Slice(none), ompi.At(t, 0)))
					ok(w.Accumulate(ompi.Slice([]int32{}), ompi.At(t, 0), ompi.Sum))
				}
			})
			w.during(e, func(int) {})
		}
		w.free()
		r.flavors(64, 8, func(w *window) {
			w.store(func(mem []byte) { fill(mem, 1) })
			r.barrier()
			for e := range epochs {
				w.during(e, func(t int) {
					ok(w.Put(ompi.Slice([]byte{}), w.at(t, 8)))
					ok(w.GetAccumulate(ompi.Slice([]int64{}), ompi.Slice([]int64{}), w.at(t, 64), ompi.Sum))
				})
			}
			want := make([]byte, 64)
			fill(want, 1)
			same(w.load(), want, "memory that nothing was put into")
			r.barrier()
		})
	}
}

func fill(mem []byte, seed int) {
	for k := range mem {
		mem[k] = byte(seed*131 + k*7)
	}
}

// testProcNull: operations on it do nothing and complete (MPI-3.1 §11.3).
func testProcNull(r *rank) {
	r.flavors(64, 1, func(w *window) {
		ok(w.LockAll(0))
		a, b := []int64{5}, []int64{7}
		null := ompi.At(ompi.ProcNull, 0)
		ok(w.Put(ompi.Slice(a), null))
		ok(w.Get(ompi.Slice(b), null))
		ok(w.Accumulate(ompi.Slice(a), null, ompi.Sum))
		ok(w.GetAccumulate(ompi.Slice(a), ompi.Slice(b), null, ompi.Sum))
		ok(w.FetchAndOp(ompi.Slice(a), ompi.Slice(b), null, ompi.Sum))
		ok(w.CompareAndSwap(ompi.Slice(a), ompi.Slice(a), ompi.Slice(b), null))
		done(w.Rput(ompi.Slice(a), null))
		done(w.Rget(ompi.Slice(b), null))
		done(w.Raccumulate(ompi.Slice(a), null, ompi.Sum))
		done(w.RgetAccumulate(ompi.Slice(a), ompi.Slice(b), null, ompi.Sum))
		that(a[0] == 5 && b[0] == 7, "buffers are %d %d", a[0], b[0])
		ok(w.UnlockAll())
		r.barrier()
	})
}

// testDifferent: sizes and displacement units may differ among members.
func testDifferent(r *rank) {
	for _, f := range r.cfg.Flavors {
		units := []int{1, 8, 3, 4, 2}
		unit := units[r.me%len(units)]
		if f == Shared {
			unit = 8 // its layout is of words
		}
		size := 240 * r.me // rank 0 has none
		w := r.window(f, size, unit)
		for e := range epochs {
			w.during(e, func(t int) {
				if w.size[t] == 0 {
					return
				}
				buf := make([]byte, 24)
				fill(buf, 100*r.me+int(e))
				slot := int64(r.me) * w.size[t] / int64(r.n) / 24 * 24
				if e == lockAllFlushLocal || e == lockAllFlush { // the buffer is left alone meanwhile
					ok(w.Put(ompi.Slice(buf[:12]), w.at(t, slot)))
					ok(w.Put(ompi.Slice(buf[12:]), w.typed(t, slot, 12, shiftedByte(12))))
				} else {
					ok(w.Put(ompi.Slice(buf), w.at(t, slot)))
				}
			})
			mem := w.load()
			for o := range r.n {
				if size < 24*r.n && o > 0 {
					break // slots coincide
				}
				if size == 0 {
					continue
				}
				want := make([]byte, 24)
				fill(want, 100*o+int(e))
				slot := o * size / r.n / 24 * 24
				same(mem[slot:slot+24], want, "%v, %v: what rank %d put at %d", f, e, o, slot)
			}
			r.barrier()
		}
		w.free()
	}
}

// shiftedByte is a byte that lies some bytes behind its place.
func shiftedByte(by int64) *datatype.Type {
	t, err := datatype.HIndexed([]int{1}, []int64{by}, typeOf[byte]())
	ok(err)
	t, err = datatype.Resized(t, 0, 1)
	ok(err)
	ok(t.Commit())
	return t
}

// testLarge: operations that no transport takes in one piece.
func testLarge(r *rank) {
	n := 1 << 20
	if raceEnabled {
		n = 1 << 18
	}
	cells := n / 256 // elements with gaps between them: each may be a message of its own
	r.flavors(n, 8, func(w *window) {
		peer := 1 - r.me
		out, in := make([]byte, n), make([]byte, n)
		fill(out, r.me)
		want := make([]byte, n)
		fill(want, peer)
		for _, e := range []epoch{fence, pscw, lockAll} {
			w.during(e, func(t int) {
				if t == peer {
					ok(w.Put(ompi.Slice(out), w.at(t, 0)))
				}
			})
			that(bytes.Equal(w.load(), want), "%v, %v: %d bytes have not come as they were", w.flavor, e, n)
			r.barrier()
			w.during(e, func(t int) {
				if t == peer {
					ok(w.Get(ompi.Slice(in), w.at(t, 0)))
				}
			})
			that(bytes.Equal(in, out), "%v, %v: %d bytes read differ", w.flavor, e, n)
			r.barrier()
			w.store(func(mem []byte) { clear(mem) })
			r.barrier()
			ones := make([]int32, n/4)
			for k := range ones {
				ones[k] = int32(k)
			}
			old := make([]int32, n/4)
			column, err := datatype.Vector(cells/2, 1, 2, typeOf[int32]())
			ok(err)
			ok(column.Commit())
			w.during(e, func(t int) {
				if t == peer {
					ok(w.Accumulate(ompi.Slice(ones), w.at(t, 0), ompi.Sum))
					ok(w.GetAccumulate(ompi.Slice(ones[:cells]), ompi.Slice(old[:cells]), w.typed(t, 0, 2, mustResized(column, int64(4*cells))), ompi.Sum))
				}
			})
			mem := words(w.load())
			for k, v := range mem {
				i := int64(2 * k)
				low, high := i, i+1
				if k < cells {
					low += i / 2
				}
				that(v == low|high<<32, "%v, %v: word %d is %x, want %x and %x", w.flavor, e, k, v, low, high)
			}
			for k := range cells {
				that(old[k] == int32(2*k), "%v, %v: element %d was %d, want %d", w.flavor, e, k, old[k], 2*k)
			}
			r.barrier()
		}
	})
}

func mustResized(t *datatype.Type, extent int64) *datatype.Type {
	t, err := datatype.Resized(t, 0, extent)
	ok(err)
	ok(t.Commit())
	return t
}

// testMixedStructs: put and get of elements of several kinds, described differently on the two sides.
func testMixedStructs(r *rank) {
	type record struct {
		A int8
		B float64
		C [3]int16
	}
	plain := typeOf[record]()
	apart, err := datatype.Struct([]int{1, 1, 3}, []int64{24, 8, 2}, []*datatype.Type{typeOf[int8](), typeOf[float64](), typeOf[int16]()})
	ok(err)
	apart = mustResized(apart, 32)
	r.flavors(32*10, 1, func(w *window) {
		peer := 1 - r.me
		for e := range epochs {
			out := make([]record, 10)
			for k := range out {
				out[k] = record{int8(k), float64(100*r.me + k), [3]int16{int16(k), int16(e), -1}}
			}
			in := make([]record, 10)
			w.during(e, func(t int) {
				if t == peer {
					ok(w.Put(ompi.Slice(out), w.typed(t, 0, 10, apart)))
				}
			})
			w.during(e, func(t int) {
				if t == peer {
					ok(w.Get(ompi.Typed(in, 10, plain), w.typed(t, 0, 10, apart)))
				}
			})
			for k := range in {
				that(in[k] == out[k], "%v, %v: record %d is %v, want %v", w.flavor, e, k, in[k], out[k])
			}
			r.barrier()
		}
	})
}

// testManyWindows: windows do not mix, over the same communicator and over others.
func testManyWindows(r *rank) {
	half, err := r.Split(r.me%2, -r.me)
	ok(err)
	h := &rank{Comm: half, cfg: r.cfg, log: r.log, me: half.Rank(), n: half.Size()}
	for _, f := range r.cfg.Flavors {
		var ws []*window
		for k := range 3 {
			ws = append(ws, r.window(f, 64*(k+1), 8), h.window(f, 64, 1))
		}
		for k, w := range ws {
			ok(w.LockAll(0))
			ok(w.Accumulate(ompi.Slice([]int64{int64(k + 1)}), w.at((w.r.me+1)%w.r.n, 8), ompi.Sum))
		}
		for _, w := range ws {
			ok(w.UnlockAll())
		}
		r.barrier()
		for k, w := range ws {
			got := words(w.load())[1]
			that(got == int64(k+1), "%v window %d has %d", f, k, got)
		}
		r.barrier()
		for k := range ws {
			ws[(k+2)%len(ws)].free()
		}
	}
	ok(half.Free())
}

// testFreedWithTraffic: operations are complete at their targets when Free returns, though the last epochs ended just before it at the origins.
func testFreedWithTraffic(r *rank) {
	for round := range 10 {
		for _, f := range r.cfg.Flavors {
			w := r.window(f, 8*r.n*16, 8)
			mem := w.mem
			ok(w.LockAll(0))
			for t := range r.n {
				for k := range 16 {
					ok(w.Put(ompi.Slice([]int64{int64(1000*r.me + 10*k + round)}), w.at(t, int64(8*(r.me*16+k)))))
				}
			}
			ok(w.UnlockAll())
			if f == Create || f == Dynamic {
				ok(w.Free())
				for k, v := range words(mem) {
					want := int64(1000*(k/16) + 10*(k%16) + round)
					that(v == want, "%v: word %d is %d after Free, want %d", f, k, v, want)
				}
				continue
			}
			w.free()
		}
	}
}

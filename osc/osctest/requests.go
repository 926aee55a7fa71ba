package osctest

import (
	"runtime"

	"github.com/ompi-go/ompi-go/ompi"
)

func requestCases() []suite {
	return []suite{{"Requests", 2, testRequests, anyFlavor}, {"ManyRequests", 0, testManyRequests, anyFlavor}}
}

// testRequests: completion of a request-based operation is that at the origin, with the result in place (MPI-3.1 §11.3.5).
func testRequests(r *rank) {
	const n = 1000
	r.flavors(8*n, 8, func(w *window) {
		peer := 1 - r.me
		out, in, old := make([]int64, n), make([]int64, n), make([]int64, n)
		ok(w.Lock(ompi.LockShared, peer, 0))
		for k := range 12 {
			size := []int{1, 16, n}[k%3]
			for i := range size {
				out[i] = int64(100*k + i)
			}
			wait := func(req ompi.Request) {
				switch k % 4 {
				case 0:
					done(req)
				case 1:
					for {
						_, over, err := req.Test()
						ok(err)
						if over {
							break
						}
						runtime.Gosched()
					}
				case 2:
					index, _, err := ompi.WaitAny(ompi.Request{}, req)
					ok(err)
					that(index == 1, "WaitAny says %d", index)
				case 3:
					ok(ompi.WaitAll(req))
				}
			}
			wait(w.Rput(ompi.Slice(out[:size]), w.at(peer, 0)))
			for i := range size {
				out[i] = 1
			}
			ok(w.Flush(peer))
			wait(w.Rget(ompi.Slice(in[:size]), w.at(peer, 0)))
			for i := range size {
				that(in[i] == int64(100*k+i), "%v: Rget %d: element %d is %d", w.flavor, k, i, in[i])
			}
			wait(w.Raccumulate(ompi.Slice(out[:size]), w.at(peer, 0), ompi.Sum))
			for i := range size {
				out[i] = 2
			}
			wait(w.RgetAccumulate(ompi.Slice(out[:size]), ompi.Slice(old[:size]), w.at(peer, 0), ompi.Sum))
			for i := range size {
				that(old[i] == int64(100*k+i+1), "%v: RgetAccumulate %d: element %d was %d", w.flavor, k, i, old[i])
			}
			ok(w.Flush(peer))
			wait(w.RgetAccumulate(ompi.Buffer{}, ompi.Slice(in[:size]), w.typed(peer, 0, size, typeOf[int64]()), ompi.NoOp))
			for i := range size {
				that(in[i] == int64(100*k+i+3), "%v: at the end of %d element %d is %d", w.flavor, k, i, in[i])
			}
			ok(w.Flush(peer))
		}
		ok(w.Unlock(peer))
		r.barrier()
	})
}

// testManyRequests: many under way, completed in any order.
func testManyRequests(r *rank) {
	const many = 64
	r.flavors(8*many*r.n, 8, func(w *window) {
		ok(w.LockAll(0))
		for k := range 4 {
			var reqs []ompi.Request
			vals := make([]int64, many*r.n)
			for t := range r.n {
				for i := range many {
					vals[t*many+i] = int64(1000*r.me + 10*i + k)
					reqs = append(reqs, w.Rput(ompi.Value(&vals[t*many+i]), w.at(t, int64(8*(r.me*many+i)))))
				}
			}
			if k%2 == 0 {
				ok(ompi.WaitAll(reqs...))
			} else {
				for range reqs {
					index, _, err := ompi.WaitAny(reqs...)
					ok(err)
					reqs[index] = ompi.Request{}
				}
			}
			ok(w.FlushAll())
			r.barrier()
			got := make([]int64, many)
			var gets []ompi.Request
			for i := range many {
				gets = append(gets, w.Rget(ompi.Value(&got[i]), w.at((r.me+1)%r.n, int64(8*(r.me*many+i)))))
			}
			ok(ompi.WaitAll(gets...))
			for i, v := range got {
				that(v == int64(1000*r.me+10*i+k), "%v: %d is %d", w.flavor, i, v)
			}
			r.barrier()
		}
		ok(w.UnlockAll())
		r.barrier()
	})
}

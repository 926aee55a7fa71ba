package osctest

import "github.com/ompi-go/ompi-go/ompi"

func fenceCases() []suite {
	return []suite{
		{"FenceSequence", 0, testFenceSequence, anyFlavor},
		{"FenceAssertions", 0, testFenceAssertions, anyFlavor},
		{"FenceThenOthers", 0, testFenceThenOthers, anyFlavor},
	}
}

// testFenceSequence: each fence ends an epoch and begins one, for accesses and for the members' own loads and stores (MPI-3.1 §11.5.1).
func testFenceSequence(r *rank) {
	r.flavors(8*2*r.n, 8, func(w *window) {
		ok(w.Fence(ompi.ModeNoPrecede))
		next := (r.me + 1) % r.n
		token := int64(r.me)
		for k := range 20 {
			// A token goes round by put, and comes back by get.
			ok(w.Put(ompi.Value(&token), w.at(next, int64(8*(k%2)))))
			ok(w.Fence(0))
			got := words(w.mem)[k%2]
			want := int64((r.me - k - 1 + 32*r.n) % r.n)
			that(got == want, "%v, fence %d: %d, want %d", w.flavor, k, got, want)
			back := int64(-1)
			ok(w.Get(ompi.Value(&back), w.at(next, int64(8*(k%2)))))
			ok(w.Fence(ompi.ModeNoStore))
			that(back == token, "%v, fence %d: %d, want %d", w.flavor, k, back, token)
			token = got
		}
		// All at one.
		for t := range r.n {
			v := int64(r.me + 1)
			ok(w.Accumulate(ompi.Value(&v), w.at(t, 8), ompi.Replace))
		}
		ok(w.Fence(0))
		got := words(w.mem)[1]
		that(got >= 1 && got <= int64(r.n), "%v: %d", w.flavor, got)
		ok(w.Fence(ompi.ModeNoSucceed))
	})
}

func testFenceAssertions(r *rank) {
	r.flavors(8*r.n, 8, func(w *window) {
		for k := range 10 {
			words(w.mem)[r.me] = int64(k)
			ok(w.Fence(ompi.ModeNoPrecede))
			for t := range r.n {
				if t != r.me {
					v := int64(100*k + r.me)
					ok(w.Put(ompi.Value(&v), w.at(t, int64(8*r.me))))
				}
			}
			ok(w.Fence(ompi.ModeNoStore | ompi.ModeNoSucceed))
			for o, v := range words(w.mem) {
				want := int64(100*k + o)
				if o == r.me {
					want = int64(k)
				}
				that(v == want, "%v, round %d: from rank %d came %d", w.flavor, k, o, v)
			}
			in := make([]int64, r.n)
			ok(w.Fence(ompi.ModeNoPrecede | ompi.ModeNoStore | ompi.ModeNoPut))
			for t := range r.n {
				ok(w.Get(ompi.Value(&in[t]), w.at(t, int64(8*r.me))))
			}
			ok(w.Fence(ompi.ModeNoStore | ompi.ModeNoPut | ompi.ModeNoSucceed))
			for t, v := range in {
				want := int64(100*k + r.me)
				if t == r.me {
					want = int64(k)
				}
				that(v == want, "%v, round %d: at rank %d is %d", w.flavor, k, t, v)
			}
		}
	})
}

// testFenceThenOthers: after fences without operations, and after one that nothing succeeds, other epochs may follow.
func testFenceThenOthers(r *rank) {
	r.flavors(64, 8, func(w *window) {
		next := (r.me + 1) % r.n
		for k := range 5 {
			v := int64(k + 1)
			ok(w.Fence(0))
			ok(w.Put(ompi.Value(&v), w.at(next, 0)))
			ok(w.Fence(ompi.ModeNoSucceed))
			that(words(w.mem)[0] == v, "%v: %d, want %d", w.flavor, words(w.mem)[0], v)
			r.barrier()
			ok(w.Lock(ompi.LockExclusive, next, 0))
			ok(w.Put(ompi.Value(&v), w.at(next, 8)))
			ok(w.Unlock(next))
			r.barrier()
			all := r.Group()
			ok(w.Post(all, 0))
			ok(w.Start(all, 0))
			ok(w.Put(ompi.Value(&v), w.at(next, 16)))
			ok(w.Complete())
			ok(w.Wait())
			got := words(w.load())
			that(got[0] == v && got[1] == v && got[2] == v, "%v: %v, want %d", w.flavor, got[:3], v)
			r.barrier()
		}
	})
}

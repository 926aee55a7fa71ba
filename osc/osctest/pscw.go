package osctest

import (
	"errors"
	"runtime"

	"github.com/ompi-go/ompi-go/ompi"
)

func pscwCases() []suite {
	return []suite{
		{"PostStartRing", 0, testRing, anyFlavor},
		{"PostStartPairs", 4, testPairs, anyFlavor},
		{"EarlyPosts", 3, testEarlyPosts, anyFlavor},
		{"EmptyGroups", 0, testEmptyGroups, anyFlavor},
		{"WinTest", 2, testWinTest, anyFlavor},
		{"PostStartNoCheck", 2, testNoCheckPost, anyFlavor},
		{"ManyToOne", 0, testManyToOne, anyFlavor},
	}
}

// testRing: neighbours exchange halos, each group overlapping the next, without any other synchronisation.
func testRing(r *rank) {
	r.flavors(8*4, 8, func(w *window) {
		left, right := (r.me+r.n-1)%r.n, (r.me+1)%r.n
		near := []int{left}
		if right != left {
			near = append(near, right)
		}
		g := r.group(near...)
		for k := range 30 {
			v := int64(1000*r.me + k)
			ok(w.Post(g, 0))
			ok(w.Start(g, 0))
			ok(w.Put(ompi.Value(&v), w.at(right, int64(8*(k%2)))))
			ok(w.Put(ompi.Value(&v), w.at(left, int64(16+8*(k%2)))))
			ok(w.Complete())
			ok(w.Wait())
			got := words(w.mem)
			that(got[k%2] == int64(1000*left+k) && got[2+k%2] == int64(1000*right+k), "%v, round %d: %v", w.flavor, k, got)
		}
	})
}

// testPairs: disjoint groups, and exposure without access and access without exposure.
func testPairs(r *rank) {
	r.flavors(64, 8, func(w *window) {
		peer := r.me ^ 1
		g := r.group(peer)
		for k := range 20 {
			v := int64(k + 1)
			if r.me%2 == 0 {
				ok(w.Start(g, 0))
				ok(w.Put(ompi.Value(&v), w.at(peer, 8)))
				ok(w.Accumulate(ompi.Value(&v), w.at(peer, 0), ompi.Sum))
				ok(w.Complete())
				v = -5 // buffers may be used again
				continue
			}
			ok(w.Post(g, 0))
			ok(w.Wait())
			got := words(w.mem)
			that(got[1] == int64(k+1) && got[0] == int64((k+1)*(k+2)/2), "%v, round %d: %v", w.flavor, k, got[:2])
		}
		r.barrier()
	})
}

// testEarlyPosts: a post of another rank does not stand in for that of the target (MPI-3.1 §11.5.2: Start is matched by Post of its own group).
func testEarlyPosts(r *rank) {
	r.flavors(64, 8, func(w *window) {
		a, b, c := 0, 1, 2
		for k := range 10 {
			v := int64(k + 1)
			switch r.me {
			case a:
				var none []byte
				_, err := r.Recv(ompi.Slice(none), c, 1) // c has posted
				ok(err)
				ok(w.Start(r.group(b), 0))
				ok(w.Put(ompi.Value(&v), w.at(b, 0)))
				ok(w.Complete())
				ok(w.Start(r.group(c), 0))
				ok(w.Put(ompi.Value(&v), w.at(c, 0)))
				ok(w.Complete())
			case b:
				var none []byte
				_, err := r.Recv(ompi.Slice(none), c, 1)
				ok(err)
				for range 200 {
					runtime.Gosched() // a has every chance to go wrong
				}
				words(w.mem)[0] = -1
				ok(w.Post(r.group(a), 0))
				ok(w.Wait())
				that(words(w.mem)[0] == v, "%v, round %d: %d", w.flavor, k, words(w.mem)[0])
			case c:
				words(w.mem)[0] = -1
				ok(w.Post(r.group(a), 0))
				var none []byte
				ok(r.Send(ompi.Slice(none), a, 1))
				ok(r.Send(ompi.Slice(none), b, 1))
				ok(w.Wait())
				that(words(w.mem)[0] == v, "%v, round %d: %d", w.flavor, k, words(w.mem)[0])
			}
		}
		r.barrier()
	})
}

func testEmptyGroups(r *rank) {
	r.flavors(64, 8, func(w *window) {
		none := r.group()
		for range 3 {
			ok(w.Post(none, 0))
			ok(w.Start(none, 0))
			ok(w.Complete())
			ok(w.Wait())
			ok(w.Post(none, 0))
			done, err := w.Test()
			ok(err)
			that(done, "%v: an exposure to nobody is not over", w.flavor)
		}
		r.barrier()
	})
}

// testWinTest: it tells when the exposure epoch is over, and ends it.
func testWinTest(r *rank) {
	r.flavors(64, 8, func(w *window) {
		g := r.group(1 - r.me)
		var none []byte
		for k := range 10 {
			v := int64(k + 1)
			if r.me == 0 {
				ok(w.Start(g, 0))
				ok(w.Put(ompi.Value(&v), w.at(1, 0)))
				_, err := r.Recv(ompi.Slice(none), 1, 2)
				ok(err)
				ok(w.Complete())
				continue
			}
			ok(w.Post(g, 0))
			over, err := w.Test()
			ok(err)
			that(!over, "%v: an exposure is over before its origin completed", w.flavor)
			ok(r.Send(ompi.Slice(none), 0, 2))
			for !over {
				over, err = w.Test()
				ok(err)
				runtime.Gosched()
			}
			that(words(w.mem)[0] == v, "%v, round %d: %d", w.flavor, k, words(w.mem)[0])
			_, err = w.Test()
			that(errors.Is(err, ompi.ErrRMASync), "%v: a Test without exposure epoch: %v", w.flavor, err)
		}
		r.barrier()
	})
}

// testNoCheckPost: both sides assert that the post comes first.
func testNoCheckPost(r *rank) {
	r.flavors(64, 8, func(w *window) {
		g := r.group(1 - r.me)
		for k := range 10 {
			v := int64(k + 1)
			ok(w.Post(g, ompi.ModeNoCheck|ompi.ModeNoStore))
			r.barrier()
			ok(w.Start(g, ompi.ModeNoCheck))
			ok(w.Put(ompi.Value(&v), w.at(1-r.me, 0)))
			ok(w.Complete())
			ok(w.Wait())
			that(words(w.mem)[0] == v, "%v, round %d: %d", w.flavor, k, words(w.mem)[0])
		}
	})
}

// testManyToOne: all others access one, which exposes again at once.
func testManyToOne(r *rank) {
	if r.n == 1 {
		return
	}
	r.flavors(8*r.n, 8, func(w *window) {
		var others []int
		for k := 1; k < r.n; k++ {
			others = append(others, k)
		}
		for k := range 20 {
			if r.me == 0 {
				ok(w.Post(r.group(others...), 0))
				ok(w.Wait())
				for _, o := range others {
					that(words(w.mem)[o] == int64(k+1), "%v, round %d: from rank %d %d", w.flavor, k, o, words(w.mem)[o])
				}
				that(words(w.mem)[0] == int64((k+1)*(r.n-1)), "%v, round %d: sum %d", w.flavor, k, words(w.mem)[0])
				continue
			}
			v, one := int64(k+1), int64(1)
			ok(w.Start(r.group(0), 0))
			ok(w.Put(ompi.Value(&v), w.at(0, int64(8*r.me))))
			ok(w.Accumulate(ompi.Value(&one), w.at(0, 0), ompi.Sum))
			ok(w.Complete())
		}
		r.barrier()
	})
}

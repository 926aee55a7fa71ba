package osctest

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/ompi"
)

func sharedCases() []suite {
	return []suite{{"SharedLayout", 0, testSharedLayout, Shared}, {"SharedLoadsAndStores", 0, testSharedLoads, Shared}}
}

// testSharedLayout: the members' parts follow one another in the order of ranks, unless the info key says that they need not (MPI-3.1 §11.2.3).
func testSharedLayout(r *rank) {
	for _, apart := range []bool{false, true} {
		var opts []ompi.WinOption
		if apart {
			info := ompi.NewInfo()
			ok(info.Set("alloc_shared_noncontig", "true"))
			opts = append(opts, ompi.WinInfo(info))
		}
		n := 10 + 7*r.me
		if r.me == 0 {
			n = 0
		}
		w, mine, err := ompi.WinAllocateShared[int32](r.Comm, n, opts...)
		ok(err)
		that(len(mine) == n, "%d elements, want %d", len(mine), n)
		for k := range mine {
			mine[k] = int32(1000*r.me + k)
		}
		ok(w.Fence(0))
		var end unsafe.Pointer
		for t := range r.n {
			s, unit, err := ompi.SharedQuery[int32](w, t)
			ok(err)
			want := 10 + 7*t
			if t == 0 {
				want = 0
			}
			that(len(s) == want && unit == 4, "rank %d has %d elements and unit %d, want %d and 4", t, len(s), unit, want)
			for k, v := range s {
				that(v == int32(1000*t+k), "element %d of rank %d is %d", k, t, v)
			}
			if t == r.me && n > 0 {
				that(&s[0] == &mine[0], "this rank's own part is elsewhere")
			}
			if len(s) > 0 {
				p := unsafe.Pointer(&s[0])
				that(apart || end == nil || p == end, "the part of rank %d does not follow the one before", t)
				end = unsafe.Add(p, 4*len(s))
			}
		}
		s, _, err := ompi.SharedQuery[int32](w, ompi.ProcNull)
		ok(err)
		that(r.n == 1 && len(s) == 0 || len(s) == 17, "the lowest part is of %d elements", len(s))
		ok(w.Fence(ompi.ModeNoSucceed))
		ok(w.Free())
	}
}

// testSharedLoads: loads and stores by all, beside operations, ordered by Sync and barriers.
func testSharedLoads(r *rank) {
	w, mine, err := ompi.WinAllocateShared[int64](r.Comm, 16)
	ok(err)
	parts := make([][]int64, r.n)
	for t := range parts {
		parts[t], _, err = ompi.SharedQuery[int64](w, t)
		ok(err)
	}
	ok(w.LockAll(0))
	meet := func() {
		ok(w.Sync())
		r.barrier()
		ok(w.Sync())
	}
	meet()
	for k := range 20 {
		next := (r.me + 1) % r.n
		parts[next][0] = int64(100*k + r.me) // a store into another's part
		v := int64(100*k + r.me + 50)
		ok(w.Put(ompi.Value(&v), ompi.At(next, 1)))
		ok(w.Flush(next))
		meet()
		from := (r.me + r.n - 1) % r.n
		that(mine[0] == int64(100*k+from) && mine[1] == int64(100*k+from+50), "round %d: %v", k, mine[:2])
		var got int64
		far := (r.me + 2) % r.n
		ok(w.Get(ompi.Value(&got), ompi.At(far, 0)))
		ok(w.Flush(far))
		that(got == parts[far][0] && got == int64(100*k+(far+r.n-1)%r.n), "round %d: a get says %d, a load %d", k, got, parts[far][0])
		one := int64(1)
		ok(w.Accumulate(ompi.Value(&one), ompi.At(0, 5), ompi.Sum))
		ok(w.Flush(0))
		meet()
		that(parts[0][5] == int64((k+1)*r.n), "round %d: %d accumulated, want %d", k, parts[0][5], (k+1)*r.n)
		meet()
	}
	ok(w.UnlockAll())
	r.barrier()
	ok(w.Free())
}

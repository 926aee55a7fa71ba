package osctest

import (
	"errors"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

func errorCases() []suite {
	return []suite{
		{"EpochErrors", 2, testEpochErrors, anyFlavor},
		{"RangeErrors", 2, testRangeErrors, Create},
		{"ArgumentErrors", 2, testArgumentErrors, anyFlavor},
		{"AfterFree", 2, testAfterFree, anyFlavor},
		{"NoLocks", 2, testNoLocks, anyFlavor},
	}
}

// testEpochErrors: calls that no open epoch allows are refused at once, by an error that tells what is open; the window goes on to work.
func testEpochErrors(r *rank) {
	peer := 1 - r.me
	v, old := int64(1), int64(0)
	r.flavors(64, 8, func(w *window) {
		sync := func(what string, err error, words ...string) {
			refused(err, ompi.ErrRMASync, w.flavor.String()+": "+what, words...)
		}
		request := func(what string, req ompi.Request) {
			_, err := req.Wait()
			sync(what, err)
		}
		all := func(where string, t int) {
			at := w.at(t, 0)
			sync("Put "+where, w.Put(ompi.Value(&v), at))
			sync("Get "+where, w.Get(ompi.Value(&v), at))
			sync("Accumulate "+where, w.Accumulate(ompi.Value(&v), at, ompi.Sum))
			sync("GetAccumulate "+where, w.GetAccumulate(ompi.Value(&v), ompi.Value(&old), at, ompi.Sum))
			sync("FetchAndOp "+where, w.FetchAndOp(ompi.Value(&v), ompi.Value(&old), at, ompi.Sum))
			sync("CompareAndSwap "+where, w.CompareAndSwap(ompi.Value(&v), ompi.Value(&v), ompi.Value(&old), at))
			request("Rput "+where, w.Rput(ompi.Value(&v), at))
			request("Rget "+where, w.Rget(ompi.Value(&v), at))
			request("Raccumulate "+where, w.Raccumulate(ompi.Value(&v), at, ompi.Sum))
			request("RgetAccumulate "+where, w.RgetAccumulate(ompi.Value(&v), ompi.Value(&old), at, ompi.Sum))
			sync("Flush "+where, w.Flush(t))
			sync("FlushLocal "+where, w.FlushLocal(t))
		}
		none := func() {
			all("without epoch", peer)
			sync("FlushAll", w.FlushAll())
			sync("FlushLocalAll", w.FlushLocalAll())
			sync("Unlock", w.Unlock(peer))
			sync("UnlockAll", w.UnlockAll())
			sync("Complete", w.Complete())
			sync("Wait", w.Wait())
			_, err := w.Test()
			sync("Test", err)
		}
		none()
		g := r.group(peer)

		ok(w.Lock(ompi.LockShared, peer, 0))
		all("to a rank that is not locked", r.me)
		sync("Lock twice", w.Lock(ompi.LockExclusive, peer, 0))
		sync("LockAll beside Lock", w.LockAll(0))
		sync("UnlockAll after Lock", w.UnlockAll())
		sync("Start beside Lock", w.Start(g, 0))
		sync("Fence beside Lock", w.Fence(0))
		sync("Free beside Lock", w.Free())
		ok(w.Put(ompi.Value(&v), w.at(peer, 0)))
		ok(w.Unlock(peer))
		none()

		ok(w.LockAll(0))
		sync("LockAll twice", w.LockAll(0))
		sync("Lock beside LockAll", w.Lock(ompi.LockShared, peer, 0))
		sync("Unlock after LockAll", w.Unlock(peer))
		sync("Start beside LockAll", w.Start(g, 0))
		sync("Fence beside LockAll", w.Fence(0))
		sync("Free beside LockAll", w.Free())
		ok(w.Put(ompi.Value(&v), w.at(peer, 0)))
		ok(w.UnlockAll())
		none()
		r.barrier()

		ok(w.Post(g, 0))
		sync("Post twice", w.Post(g, 0))
		all("with an exposure epoch alone", peer)
		ok(w.Start(g, 0))
		sync("Start twice", w.Start(g, 0))
		sync("Lock beside Start", w.Lock(ompi.LockShared, peer, 0))
		sync("LockAll beside Start", w.LockAll(0))
		sync("Fence beside Start", w.Fence(0))
		sync("Flush beside Start", w.Flush(peer))
		sync("Put to a rank outside of the group", w.Put(ompi.Value(&v), w.at(r.me, 0)))
		request("Rput in an active target epoch", w.Rput(ompi.Value(&v), w.at(peer, 0)))
		sync("Free beside Start", w.Free())
		ok(w.Put(ompi.Value(&v), w.at(peer, 0)))
		ok(w.Complete())
		sync("Put after Complete", w.Put(ompi.Value(&v), w.at(peer, 0)))
		ok(w.Wait())
		none()
		r.barrier()

		ok(w.Fence(0))
		ok(w.Put(ompi.Value(&v), w.at(peer, 0)))
		sync("Lock in a fence epoch", w.Lock(ompi.LockShared, peer, 0))
		sync("LockAll in a fence epoch", w.LockAll(0))
		sync("Start in a fence epoch", w.Start(g, 0))
		sync("Flush in a fence epoch", w.Flush(peer))
		request("Rput in a fence epoch", w.Rput(ompi.Value(&v), w.at(peer, 0)))
		ok(w.Fence(ompi.ModeNoSucceed))
		none()
	})
}

// testRangeErrors: an operation that reaches beyond the target's memory is refused at its origin, and no byte changes.
func testRangeErrors(r *rank) {
	const size, guard = 96, 64
	peer := 1 - r.me
	whole := make([]byte, guard+size+guard)
	fill(whole, 5)
	want := append([]byte(nil), whole...)
	w, err := ompi.WinCreate(r.Comm, ompi.Slice(whole[guard:guard+size]), 8)
	ok(err)
	long := typeOf[int64]()
	back, err := datatype.HIndexed([]int{1}, []int64{-8}, long)
	ok(err)
	ok(back.Commit())
	wide, err := datatype.Vector(2, 1, 12, long)
	ok(err)
	ok(wide.Commit())
	ok(w.LockAll(0))
	v := make([]int64, 13)
	for _, at := range []ompi.Target{
		{Rank: peer, Disp: 12, Count: 1, Type: long},
		{Rank: peer, Disp: 11, Count: 2, Type: long},
		{Rank: peer, Disp: 0, Count: 13, Type: long},
		{Rank: peer, Disp: -1, Count: 1, Type: long},
		{Rank: peer, Disp: 0, Count: 1, Type: back},
		{Rank: peer, Disp: 13, Count: 1, Type: back},
		{Rank: peer, Disp: 0, Count: 1, Type: wide},
		{Rank: peer, Disp: 1 << 60, Count: 1, Type: long},
		{Rank: peer, Disp: 1 << 61, Count: 1, Type: long}, // times 8 it is 0, without care
		{Rank: peer, Disp: -1 << 63, Count: 1, Type: long},
		{Rank: peer, Disp: 1<<63 - 1, Count: 1, Type: long},
		{Rank: peer, Disp: 1 << 61, Count: 1, Type: back},
		{Rank: r.me, Disp: 12, Count: 1, Type: long},
	} {
		n := int64(at.Count) * at.Type.Size() / 8
		out := ompi.Slice(v[:n])
		check := func(what string, err error) {
			if !errors.Is(err, ompi.ErrRMARange) && (at.Disp >= 0 || !errors.Is(err, ompi.ErrDisp)) {
				fail("%s at %+v: %v, want %v", what, at, err, ompi.ErrRMARange)
			}
		}
		check("Put", w.Put(out, at))
		check("Get", w.Get(out, at))
		check("Accumulate", w.Accumulate(out, at, ompi.Sum))
		check("GetAccumulate", w.GetAccumulate(out, ompi.Slice(make([]int64, n)), at, ompi.Sum))
		_, err := w.Rput(out, at).Wait()
		check("Rput", err)
		_, err = w.Rget(out, at).Wait()
		check("Rget", err)
		if n == 1 && at.Type == long {
			check("FetchAndOp", w.FetchAndOp(out, ompi.Slice(v[1:2]), at, ompi.Sum))
			check("CompareAndSwap", w.CompareAndSwap(out, out, ompi.Slice(v[1:2]), at))
		}
	}
	// The last element, and nothing behind it, are inside.
	ok(w.Get(ompi.Slice(v[:1]), ompi.At(peer, 11)))
	ok(w.Put(ompi.Slice([]int64{}), ompi.At(peer, 12)))
	ok(w.UnlockAll())
	r.barrier()
	same(whole, want, "memory in and around the window")
	ok(w.Free())
}

func testArgumentErrors(r *rank) {
	_, err := ompi.WinCreate(r.Comm, ompi.Slice(make([]byte, 8)), 0)
	that(err != nil, "a displacement unit of 0 is accepted")
	r.barrier()
	r.flavors(64, 8, func(w *window) {
		v := []int64{1, 2}
		ok(w.LockAll(0))
		refused(w.Put(ompi.Slice(v), ompi.At(2, 0)), ompi.ErrRank, "Put to rank 2 of 2")
		refused(w.Put(ompi.Slice(v), ompi.At(-1, 0)), ompi.ErrRank, "Put to rank -1")
		refused(w.Put(ompi.Slice(v), w.typed(0, 0, -1, typeOf[int64]())), ompi.ErrCount, "a negative count")
		that(w.Put(ompi.Slice(v), w.typed(0, 0, 1, typeOf[int64]())) != nil, "two elements fit into one")
		that(w.GetAccumulate(ompi.Slice(v), ompi.Slice(v[:1]), w.at(0, 0), ompi.Sum) != nil, "two results fit into one")
		that(w.FetchAndOp(ompi.Slice(v), ompi.Slice(make([]int64, 2)), w.at(0, 0), ompi.Sum) != nil, "Fetch_and_op takes two elements")
		that(w.CompareAndSwap(ompi.Slice([]float64{1}), ompi.Slice([]float64{1}), ompi.Slice([]float64{1}), w.at(0, 0)) != nil, "Compare_and_swap takes floating-point numbers")
		refused(w.Flush(2), ompi.ErrRank, "Flush of rank 2 of 2")
		ok(w.UnlockAll())
		refused(w.Lock(77, 0, 0), ompi.ErrLockType, "Lock of type 77")
		refused(w.Lock(ompi.LockShared, 2, 0), ompi.ErrRank, "Lock of rank 2 of 2")
		refused(w.Lock(ompi.LockShared, 0, 1<<20), ompi.ErrAssert, "an assertion that is none")
		refused(w.Fence(1<<20), ompi.ErrAssert, "an assertion that is none")
		refused(w.Start(nil, 0), ompi.ErrGroup, "Start without a group")
		refused(w.Post(nil, 0), ompi.ErrGroup, "Post without a group")
		if w.flavor != Dynamic {
			_, err := w.Attach(ompi.Slice(v))
			refused(err, ompi.ErrRMAFlavor, "Attach")
			refused(w.Detach(0), ompi.ErrRMAFlavor, "Detach")
		}
		if w.flavor != Shared {
			_, _, err := ompi.SharedQuery[byte](w.Win, 0)
			refused(err, ompi.ErrRMAFlavor, "SharedQuery")
		}
		r.barrier()
	})
}

func testAfterFree(r *rank) {
	for _, f := range r.cfg.Flavors {
		w := r.window(f, 64, 8)
		w.free()
		v := int64(1)
		gone := func(what string, err error) { refused(err, ompi.ErrWin, what+" after Free") }
		gone("Put", w.Put(ompi.Value(&v), w.at(0, 0)))
		gone("Get", w.Get(ompi.Value(&v), w.at(0, 0)))
		gone("Accumulate", w.Accumulate(ompi.Value(&v), w.at(0, 0), ompi.Sum))
		_, err := w.Rput(ompi.Value(&v), w.at(0, 0)).Wait()
		gone("Rput", err)
		gone("Fence", w.Fence(0))
		gone("Lock", w.Lock(ompi.LockShared, 0, 0))
		gone("LockAll", w.LockAll(0))
		gone("Unlock", w.Unlock(0))
		gone("Flush", w.Flush(0))
		gone("FlushAll", w.FlushAll())
		gone("Start", w.Start(r.group(0), 0))
		gone("Post", w.Post(r.group(0), 0))
		gone("Complete", w.Complete())
		gone("Wait", w.Wait())
		gone("Sync", w.Sync())
		gone("Free", w.Free())
	}
}

// testNoLocks: a window whose info says no_locks serves active targets, and refuses passive ones.
func testNoLocks(r *rank) {
	info := ompi.NewInfo()
	ok(info.Set("no_locks", "true"))
	r.flavors(64, 8, func(w *window) {
		that(w.Lock(ompi.LockShared, 0, 0) != nil, "%v: Lock works in spite of no_locks", w.flavor)
		that(w.LockAll(0) != nil, "%v: LockAll works in spite of no_locks", w.flavor)
		for _, e := range []epoch{fence, pscw} {
			v := int64(r.me + int(e) + 5)
			w.during(e, func(t int) { ok(w.Put(ompi.Value(&v), w.at(t, int64(8*r.me)))) })
			got := words(w.mem)
			that(got[0] == int64(e)+5 && got[1] == int64(e)+6, "%v, %v: %v", w.flavor, e, got[:2])
			r.barrier()
		}
	}, ompi.WinInfo(info))
}

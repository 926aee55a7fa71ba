package osctest

import (
	"unsafe"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// window is a window of any kind, whose members' memory is named by a rank and an offset in bytes.
type window struct {
	*ompi.Win
	r       *rank
	flavor  Flavor
	mem     []byte  // this rank's
	base    []int64 // of each rank, added to offsets in bytes
	unit    []int64
	size    []int64
	cleanup func()
}

// window makes one. Sizes and units may differ among ranks; the unit is 1, 2, 3, 4, 8 or 16 unless the kind is Create, and 1 if it is Dynamic.
func (r *rank) window(f Flavor, size, unit int, opts ...ompi.WinOption) *window {
	w := &window{r: r, flavor: f, cleanup: func() {}}
	var err error
	switch f {
	case Create:
		// Odd units lead to elements that are not aligned; the memory itself is.
		words := make([]uint64, (size+7)/8+1)
		w.mem = unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), size)
		w.Win, err = ompi.WinCreate(r.Comm, ompi.Slice(w.mem), unit, opts...)
	case CreateMem:
		w.mem, err = ompi.AllocMem[byte](r.Instance(), size)
		ok(err)
		w.cleanup = func() { ok(ompi.FreeMem(r.Instance(), w.mem)) }
		w.Win, err = ompi.WinCreate(r.Comm, ompi.Slice(w.mem), unit, opts...)
	case Dynamic:
		unit = 1
		words := make([]uint64, (size+7)/8+1)
		w.mem = unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), size)
		w.Win, err = ompi.WinCreateDynamic(r.Comm, opts...)
	default:
		switch unit {
		case 1:
			allocate[byte](w, size, opts)
		case 2:
			allocate[uint16](w, size, opts)
		case 3:
			allocate[[3]byte](w, size, opts)
		case 4:
			allocate[uint32](w, size, opts)
		case 8:
			allocate[uint64](w, size, opts)
		case 16:
			allocate[[2]uint64](w, size, opts)
		default:
			fail("a unit of %d", unit)
		}
	}
	ok(err)
	mine := [3]int64{0, int64(unit), int64(size)}
	if f == Dynamic && size > 0 {
		a, err := w.Attach(ompi.Slice(w.mem))
		ok(err)
		mine[0] = int64(a)
	}
	all := make([]int64, 3*r.n)
	ok(r.Allgather(ompi.Slice(mine[:]), ompi.Slice(all)))
	for k := range r.n {
		w.base, w.unit, w.size = append(w.base, all[3*k]), append(w.unit, all[3*k+1]), append(w.size, all[3*k+2])
	}
	return w
}

func allocate[T any](w *window, size int, opts []ompi.WinOption) {
	var zero T
	var s []T
	var err error
	n := size / int(unsafe.Sizeof(zero))
	if w.flavor == Shared {
		w.Win, s, err = ompi.WinAllocateShared[T](w.r.Comm, n, opts...)
	} else {
		w.Win, s, err = ompi.WinAllocate[T](w.r.Comm, n, opts...)
	}
	ok(err)
	that(len(s) == n, "%v gave %d elements of %d", w.flavor, len(s), n)
	w.mem = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), size)
}

func (w *window) free() {
	ok(w.Free())
	w.cleanup()
}

// at is the target at a rank and an offset in bytes.
func (w *window) at(rank int, off int64) ompi.Target {
	if off%w.unit[rank] != 0 {
		fail("offset %d is no multiple of the displacement unit %d", off, w.unit[rank])
	}
	return ompi.At(rank, w.base[rank]+off/w.unit[rank])
}

// typed is at with count elements of t.
func (w *window) typed(rank int, off int64, count int, t *datatype.Type) ompi.Target {
	a := w.at(rank, off)
	a.Count, a.Type = count, t
	return a
}

// load gives a copy of this rank's memory, between epochs.
func (w *window) load() []byte {
	ok(w.Lock(ompi.LockExclusive, w.r.me, 0))
	s := append([]byte(nil), w.mem...)
	ok(w.Unlock(w.r.me))
	return s
}

// store changes this rank's memory, between epochs.
func (w *window) store(f func(mem []byte)) {
	ok(w.Lock(ompi.LockExclusive, w.r.me, 0))
	f(w.mem)
	ok(w.Unlock(w.r.me))
}

// words are bytes as 64-bit words.
func words(mem []byte) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(mem))), len(mem)/8)
}

// epoch is a way of synchronising.
type epoch int

const (
	fence epoch = iota
	fenceAsserted
	pscw
	lockShared
	lockExclusive
	lockMany // locks of all targets at once
	lockAll
	lockAllFlush      // each target is flushed
	lockAllFlushAll   // all are
	lockAllFlushLocal // buffers are used again after a local flush
	epochs
)

func (e epoch) String() string {
	return [...]string{"fence", "fence with assertions", "post-start-complete-wait", "shared locks", "exclusive locks", "shared locks of all", "lock_all", "lock_all and flush",
		"lock_all and flush_all", "lock_all and flush_local"}[e]
}

func (e epoch) passive() bool { return e >= lockShared }

// during calls f for each target inside an access epoch of kind e, which is open at all ranks at once. before and after are called inside, before the first
// and after the last operation. Afterwards all operations of all ranks are complete.
func (w *window) during(e epoch, f func(target int)) {
	each := func(after func(target int)) {
		for k := range w.r.n {
			t := (w.r.me + k) % w.r.n
			f(t)
			if after != nil {
				after(t)
			}
		}
	}
	switch e {
	case fence:
		ok(w.Fence(0))
		each(nil)
		ok(w.Fence(0))
		ok(w.Fence(ompi.ModeNoSucceed | ompi.ModeNoPrecede))
	case fenceAsserted:
		ok(w.Fence(ompi.ModeNoPrecede))
		each(nil)
		ok(w.Fence(ompi.ModeNoSucceed | ompi.ModeNoPut))
	case pscw:
		all := w.r.Group()
		ok(w.Post(all, 0))
		ok(w.Start(all, 0))
		each(nil)
		ok(w.Complete())
		ok(w.Wait())
	case lockShared, lockExclusive:
		kind := ompi.LockShared
		if e == lockExclusive {
			kind = ompi.LockExclusive
		}
		for k := range w.r.n {
			t := (w.r.me + k) % w.r.n
			ok(w.Lock(kind, t, 0))
			f(t)
			ok(w.Unlock(t))
		}
	case lockMany:
		for t := range w.r.n {
			ok(w.Lock(ompi.LockShared, t, 0))
		}
		each(nil)
		for t := range w.r.n {
			ok(w.Unlock(t))
		}
	case lockAll:
		ok(w.LockAll(0))
		each(nil)
		ok(w.UnlockAll())
	case lockAllFlush:
		ok(w.LockAll(0))
		each(func(t int) { ok(w.Flush(t)) })
		ok(w.UnlockAll())
	case lockAllFlushAll:
		ok(w.LockAll(0))
		each(nil)
		ok(w.FlushAll())
		ok(w.UnlockAll())
	case lockAllFlushLocal:
		ok(w.LockAll(0))
		each(func(t int) { ok(w.FlushLocal(t)) })
		ok(w.FlushLocalAll())
		ok(w.UnlockAll())
	}
	if e.passive() {
		w.r.barrier()
	}
}

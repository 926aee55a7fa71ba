package progress

import (
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/internal/relaxed"
)

// token is the engine's mutex, made for one goroutine that takes and returns it millions of times a second: as long as no other has
// ever had to wait, giving it back is a plain store. A locked instruction there would also wait for all earlier stores, which have
// just missed the cache: a sixth of the time of a small message.
//
// What the plain store lacks is the barrier that makes a waiter, which looks at the token and at its condition and then sleeps, visible
// to who gives it back. So the first goroutine that must wait announces that from now on the token is shared, and has every running
// thread of the process pass a barrier (membarrier(2)) before it looks: who gives the token back either had stored before, which is
// seen, or sees the announcement afterwards. A shared token stays so.
type token struct {
	state   uint32 // atomic; 1: held
	shared  uint32 // atomic; who gives it back must look for others
	settled uint32 // atomic; the barrier after shared is done
	fence   uint32
	waiting atomic.Int32
	sema    chan struct{} // one slot
}

// init makes the token shared from the beginning where goroutines are known to wait, or the kernel has no such barrier.
func (t *token) init(shared bool) {
	t.sema = make(chan struct{}, 1)
	if shared || !canSettle() {
		t.shared, t.settled = 1, 1
	}
}

// TryLock takes the token if it is free.
func (t *token) TryLock() bool {
	return atomic.LoadUint32(&t.state) == 0 && atomic.CompareAndSwapUint32(&t.state, 0, 1)
}

// tokenSpins is how often Lock looks before it lets others run, and tokenYields how often it does that before it sleeps. tokenTrust is how often it
// looks before it makes the token shared, some microseconds: the agent of asynchronous progress has it for less when the program does not wait, and
// its looks should not cost each of the program's calls a locked instruction from then on.
const (
	tokenSpins  = 100
	tokenYields = 2
	tokenTrust  = 2000
)

// Lock takes the token.
func (t *token) Lock() {
	if t.TryLock() {
		return
	}
	for k := 0; k < tokenTrust && atomic.LoadUint32(&t.shared) == 0; k++ {
		if t.TryLock() {
			return
		}
	}
	t.share()
	for range tokenYields {
		for range tokenSpins {
			if t.TryLock() {
				return
			}
		}
		runtime.Gosched()
	}
	for {
		t.waiting.Add(1) // before the look: see settle
		taken := t.TryLock()
		if !taken {
			<-t.sema
		}
		t.waiting.Add(-1)
		if taken || t.TryLock() {
			return
		}
	}
}

// give stores that the token is free, and reports whether others must be looked for.
func (t *token) give() bool {
	relaxed.Store32(&t.state, 0)
	return atomic.LoadUint32(&t.shared) != 0
}

// Unlock gives the token back.
func (t *token) Unlock() {
	if t.give() {
		t.settle()
	}
}

// settle is the rest of giving back a shared token: the barrier, and a signal for one that waits.
func (t *token) settle() {
	atomic.AddUint32(&t.fence, 1)
	if t.waiting.Load() != 0 {
		select {
		case t.sema <- struct{}{}:
		default:
		}
	}
}

// share makes the token shared. When it returns, who gives the token back sees what the caller does from now on.
func (t *token) share() {
	if atomic.LoadUint32(&t.settled) != 0 {
		return
	}
	atomic.StoreUint32(&t.shared, 1)
	settleAll()
	atomic.StoreUint32(&t.settled, 1)
}

// barrier makes what the caller has stored visible to whoever gives the token back from now on.
func (t *token) barrier() {
	if atomic.LoadUint32(&t.settled) == 0 {
		settleAll()
	}
}

// Commands of membarrier(2).
const (
	membarrierQuery              = 0
	membarrierGlobal             = 1 << 0
	membarrierPrivate            = 1 << 3
	membarrierRegisterPrivate    = 1 << 4
	membarrierNeeded             = membarrierPrivate | membarrierRegisterPrivate
	membarrierSlow, noMembarrier = membarrierGlobal, -1
)

func membarrier(cmd uintptr) int {
	r, _, errno := unix.RawSyscall(unix.SYS_MEMBARRIER, cmd, 0, 0)
	if errno != 0 {
		return noMembarrier
	}
	return int(r)
}

// canSettle reports whether settleAll works here.
func canSettle() bool {
	have := membarrier(membarrierQuery)
	return have > 0 && have&membarrierNeeded == membarrierNeeded
}

// settleAll has every running thread of the process pass a memory barrier. Registration may take milliseconds, so it is done with the
// first need.
func settleAll() {
	if membarrier(membarrierRegisterPrivate) == 0 && membarrier(membarrierPrivate) == 0 {
		return
	}
	if membarrier(membarrierSlow) != 0 {
		panic("progress: the kernel has membarrier and does not do it")
	}
}

package elem

import (
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Locks are for elements without an atomic instruction. The zero value is ready; it holds no pointers, so that it may lie in shared memory.
type Locks struct {
	stripes [64]stripe
}

// LocksSize is the size of Locks in bytes.
const LocksSize = int64(unsafe.Sizeof(Locks{}))

// stripeBytes is how much memory has one lock: the elements that begin in it. They come again with every page.
const (
	stripeBytes = 64
	pageMask    = 4095
)

// stripe is a spin lock among goroutines and processes: 0, or the process that holds it.
type stripe struct {
	word uint32
	_    [60]byte
}

// self is this process in a stripe.
var self = uint32(os.Getpid())

// of is the stripe of the element at p.
func (l *Locks) of(p unsafe.Pointer) *stripe {
	return &l.stripes[(uintptr(p)&pageMask)/stripeBytes]
}

func (s *stripe) lock() {
	if !atomic.CompareAndSwapUint32(&s.word, 0, self) {
		s.wait()
	}
}

func (s *stripe) unlock() { atomic.StoreUint32(&s.word, 0) }

// How often a lock is looked at before the core is offered to others, and before it is asked whether its holder lives.
const (
	spins  = 100
	doubts = 1 << 12
)

// wait takes the lock when it gets free. It is held for some dozen instructions: who waits longer waits for a holder that has no core, or has died, whose place the
// first to find out takes. What that one had under way is lost or half done, as its other operations are.
func (s *stripe) wait() {
	for i := 1; ; i++ {
		was := atomic.LoadUint32(&s.word)
		switch {
		case was == 0:
			if atomic.CompareAndSwapUint32(&s.word, 0, self) {
				return
			}
		case i%doubts == 0 && was != self && unix.Kill(int(was), 0) == unix.ESRCH:
			if atomic.CompareAndSwapUint32(&s.word, was, self) {
				return
			}
		case i > spins:
			runtime.Gosched() // the holder may be a goroutine of this process
			unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		}
	}
}

package sm

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl"
	"github.com/ompi-go/ompi-go/shm"
)

// The helper's end of a cooperative copy (coop.go), and the registrations that tell it which memory it may push.

// A handle between processes is A = address in the low 48 bits, name of the registration in the high 16; B = length in the low 48 bits,
// number of memory that peers can map in the high 16 (region.go). The kernel checks what a peer reads, so the name serves only the helper: it finds the memory by it, while it is
// registered. Name 0 is memory that is not in the table, for want of room; nobody helps with it.
const (
	handleBits = 48
	handleMask = 1<<handleBits - 1
	nameBits   = 10 // of the slot, plus one; the generation's are above
	windowsMax = 1<<nameBits - 1
)

func parseHandle(h btl.MemHandle) (addr uint64, n int64) {
	return h.A & handleMask, int64(h.B & handleMask)
}

// windows are the registrations of a process.
type windows struct {
	slots []window
	free  []uint16
}

type window struct {
	mem unsafe.Pointer // nil: free
	n   int64
	gen uint16
}

func (w *windows) add(mem unsafe.Pointer, n int64) (btl.MemHandle, error) {
	if n < 0 || n > handleMask || uint64(uintptr(mem)) > handleMask {
		return btl.MemHandle{}, fmt.Errorf("btl sm: %d bytes at %p do not fit into a handle", n, mem)
	}
	h := btl.MemHandle{A: uint64(uintptr(mem)), B: uint64(n)}
	var i uint16
	switch k := len(w.free); {
	case mem == nil:
		return h, nil
	case k > 0:
		i = w.free[k-1]
		w.free = w.free[:k-1]
	case len(w.slots) < windowsMax:
		i = uint16(len(w.slots))
		w.slots = append(w.slots, window{})
	default:
		return h, nil
	}
	s := &w.slots[i]
	s.mem, s.n = mem, n
	s.gen = (s.gen + 1) & (1<<(64-handleBits-nameBits) - 1)
	h.A |= (uint64(s.gen)<<nameBits | uint64(i+1)) << handleBits
	return h, nil
}

// find is the registration that a handle names, nil when there is none any more.
func (w *windows) find(h btl.MemHandle) *window {
	name := uint16(h.A >> handleBits)
	i := int(name&(1<<nameBits-1)) - 1
	if i < 0 || i >= len(w.slots) {
		return nil
	}
	s := &w.slots[i]
	if addr, n := parseHandle(h); s.mem == nil || s.gen != name>>nameBits || uint64(uintptr(s.mem)) != addr || s.n != n {
		return nil
	}
	return s
}

func (w *windows) remove(h btl.MemHandle) {
	if s := w.find(h); s != nil {
		s.mem = nil
		w.free = append(w.free, uint16(h.A>>handleBits)&(1<<nameBits-1)-1)
	}
}

// helpable reports whether the owner of a handle may know the memory.
func (m *module) helpable(h btl.MemHandle) bool {
	return m.shm.InProcess() || h.A>>handleBits != 0
}

// help is a request of a peer, as its helper sees it.
type help struct {
	c      *consumer
	b      *board
	peer   *shm.Peer
	seq    uint32
	unit   int64
	units  int
	high   int    // units [high, units) are taken by this end, and done
	local  uint64 // with nothing above the address
	number uint32 // of the memory that it lies in, to be mapped; 0: none, or that failed
	maps   bool   // there was one
	remote btl.MemHandle
	off, n int64
	rest   bool // the receiver does something else meanwhile: take all at once
}

// helpAsked takes a peer's request; it reports false when that makes no sense.
func (m *module) helpAsked(c *consumer, slot unsafe.Pointer) bool {
	h := help{
		c: c, local: *(*uint64)(unsafe.Add(slot, helpLocal)), remote: btl.MemHandle{A: *(*uint64)(unsafe.Add(slot, helpA)), B: *(*uint64)(unsafe.Add(slot, helpB))},
		off: *(*int64)(unsafe.Add(slot, helpOff)), n: *(*int64)(unsafe.Add(slot, helpN)), unit: int64(*(*uint32)(unsafe.Add(slot, helpUnit))), seq: *(*uint32)(unsafe.Add(slot, helpSeq)),
	}
	h.rest = *(*uint32)(unsafe.Add(slot, helpRest)) != 0
	i := *(*uint32)(unsafe.Add(slot, helpBoard))
	if h.unit == 0 || h.n <= 0 || h.off < 0 || (h.n-1)/h.unit >= unitsMax || i >= boards {
		return false
	}
	h.units = int((h.n-1)/h.unit) + 1
	h.high = h.units
	h.b = (*board)(unsafe.Add(c.data, int64(c.size)+int64(i)*line))
	h.b.done.Store(doneWord(h.seq, 0, helpGoesOn)) // seen
	if h.peer = c.rank; h.peer == nil {
		p, err := m.shm.Attach(c.peer)
		if err != nil {
			h.b.done.Store(doneWord(h.seq, 0, helpNever))
			return true
		}
		h.peer, c.rank = p, p
	}
	if !m.shm.InProcess() {
		h.number, h.local = uint32(h.local>>handleBits), h.local&handleMask
		if h.maps = h.number != 0 && m.opt.SingleCopy != "cma"; h.maps { // now, since nobody waits yet
			_ = m.mapLocal(&h, 0, h.n)
		}
	}
	for k := range m.helps {
		if m.helps[k].b == h.b { // the last one there is over
			m.helps[k] = h
			return true
		}
	}
	m.helps = append(m.helps, h)
	return true
}

// help pushes one piece of what peers are reading from this rank. It returns how many.
func (m *module) help() int {
	for len(m.helps) > 0 {
		h := &m.helps[0]
		if k := h.take(); k > 0 {
			state, ok := m.push(h, k)
			if ok {
				h.high -= k
				h.tell(m, helpGoesOn)
				return 1
			}
			h.tell(m, state)
		}
		m.helps = append(m.helps[:0], m.helps[1:]...)
	}
	return 0
}

// take takes units from the end; 0: nothing is left, or the cursor belongs to another request.
func (h *help) take() int {
	for {
		w := h.b.cursor.Load()
		seq, low, high := cursorAt(w)
		if seq != h.seq || high != h.high || low >= high {
			return 0
		}
		k := share(high-low, h.unit)
		if h.rest {
			k = max(k, min(high-low, int(shareMax/h.unit)))
		}
		if h.b.cursor.CompareAndSwap(w, cursorWord(seq, low, high-k)) {
			return k
		}
	}
}

// tell tells the receiver what is done and, by the state, whether it goes on; if not, what this end took and did not do is the
// receiver's again. Should it sleep by now, nobody else would wake it. The store is a barrier: one of the two sees the other.
func (h *help) tell(m *module, state uint64) {
	h.b.done.Store(doneWord(h.seq, h.units-h.high, state))
	m.shm.Ring(h.peer)
}

// push copies the k units below h.high into the receiver's memory. ok is false when that is not possible.
func (m *module) push(h *help, k int) (state uint64, ok bool) {
	at := int64(h.high-k) * h.unit
	n := min(int64(h.high)*h.unit, h.n) - at
	if m.shm.InProcess() {
		mine, err := m.shm.Registered(uint32(h.remote.A), uint32(h.remote.B), h.off+at, n)
		if err != nil {
			return helpStopped, false
		}
		theirs, err := h.peer.Registered(uint32(h.local), uint32(h.local>>32), at, n)
		if err != nil {
			return helpStopped, false
		}
		copy(unsafe.Slice((*byte)(theirs), n), unsafe.Slice((*byte)(mine), n))
		return helpGoesOn, true
	}
	w := m.windows.find(h.remote)
	if w == nil || h.off > w.n || h.n > w.n-h.off {
		return helpStopped, false
	}
	if to := m.mapLocal(h, at, n); to != nil {
		copyPieces(to, unsafe.Add(w.mem, h.off+at), n)
		return helpGoesOn, true
	}
	never := uint64(helpNever)
	if h.maps && h.c.unmapped < mapTrials {
		never = helpStopped // the next may be mapped
	}
	if m.opt.SingleCopy == "map" {
		return never, false
	}
	err := copyPeer(unix.SYS_PROCESS_VM_WRITEV, h.peer.PID(), unsafe.Add(w.mem, h.off+at), h.local+uint64(at), int(n))
	switch {
	case err == nil:
		return helpGoesOn, true
	case errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS):
		return never, false
	default:
		return helpStopped, false
	}
}

// mapLocal gives the address, in this process, of n bytes at off in the memory of the receiver; nil when it is not to be mapped.
func (m *module) mapLocal(h *help, off, n int64) unsafe.Pointer {
	if !h.maps || h.number == 0 || h.c.unmapped >= mapTrials {
		return nil
	}
	mem, err := h.peer.Memory(m.shm, h.number, h.local+uint64(off), n)
	if err != nil {
		h.number = 0
		if !errors.Is(err, shm.ErrManyMapped) {
			h.c.unmapped++
		}
		if !errors.Is(err, os.ErrProcessDone) {
			m.sayUnmapped(err)
		}
		return nil
	}
	return mem
}

// dropHelps forgets the requests of a ring that is not listened to any more.
func (m *module) dropHelps(c *consumer) {
	rest := m.helps[:0]
	for _, h := range m.helps {
		if h.c != c {
			rest = append(rest, h)
		}
	}
	clear(m.helps[len(rest):])
	m.helps = rest
}

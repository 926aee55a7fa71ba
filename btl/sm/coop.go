package sm

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompi-go/ompi-go/btl"
)

// Cooperative copy: a large message is copied by both ends, which meet in the middle. The receiver asks its peer for help in a slot
// of the ring to it, and takes pieces from the message's beginning; the owner of the memory, when it polls, finds the request and
// pushes pieces from the end into the receiver's memory (help.go). They share a cursor on a board behind the ring's data area.
//
// In a burst of messages the receiver copies the first half of each, leaves the other to a helper that has proved to be one, and goes on with
// the next; when it has nothing else to do it takes back what the helper has not begun.
//
// The owner may never look, or look late: then it finds the cursor closed and the receiver has copied everything. The receiver waits
// only for a piece that the owner has begun, in its progress passes; what the owner could not copy it copies itself.
//
// Small pieces and more talk cost more than they save where both ends have Gets at the same time, and where ranks outnumber cores: so who is of
// no help is asked more seldom, and with more ranks than cores nobody is (component.Open).
//
// The request's slot is full like any other and says, behind its word,
//
//	 8         16         24         32      40      48     52      56         60
//	+---------+----------+----------+-------+-------+------+-------+----------+-------+
//	| local   | remote.A | remote.B | off   | n     | unit | board | sequence | rest  |
//	+---------+----------+----------+-------+-------+------+-------+----------+-------+
//
// local being the name of the receiver's registration between goroutine ranks, else its address in the low 48 bits and, above them, the
// number of the memory that it lies in if the helper can map that (region.go). Where both ends map each other's, neither makes a system call.
const (
	helpLocal = 8
	helpA     = 16
	helpB     = 24
	helpOff   = 32
	helpN     = 40
	helpUnit  = 48
	helpBoard = 52
	helpSeq   = 56
	helpRest  = 60
)

// boards is how many requests to one peer can wait for the peer's last piece, or for a peer that does not poll; without a free one a
// receiver copies alone.
const boards = 4

const boardsSize = boards * line

// unitsMax bounds the units of a message, so that the cursor is one word.
const unitsMax = 1<<16 - 1

// halvesMax bounds the messages of which each end begins with its own half, so that of a buffer that is used again and again the same half
// stays in the same cache. What is larger than the caches is taken piece by piece, which evens out better.
const halvesMax = 2 << 20

// helpMax bounds what is copied by both ends, so that a unit's length is 32 bits.
const helpMax = 1 << 40

// shareMax bounds a piece, in bytes: nobody waits longer for one.
const shareMax = 256 << 10

// board is where the two ends of a cooperative copy meet, one line. It lies in the helper's segment.
type board struct {
	// sequence u32 | low u16 | high u16: units [low, high) are not taken. The receiver raises low, the helper lowers high, each by
	// compare and swap: with another sequence than the helper's it fails, so that a late helper takes nothing.
	cursor atomic.Uint64
	// sequence u32 | units u16 | state u16, written by the helper alone: it has seen that request, and so many units from the end are
	// in place. A state that is not 0 says that it will not take nor finish any more.
	done atomic.Uint64
	_    [line - 16]byte
}

const (
	helpGoesOn  = 0
	helpStopped = 1 // this time
	helpNever   = 2 // it cannot write memory of the receiver's of that kind at all
)

func cursorWord(seq uint32, low, high int) uint64 {
	return uint64(seq)<<32 | uint64(low)<<16 | uint64(high)
}

func cursorAt(w uint64) (seq uint32, low, high int) {
	return uint32(w >> 32), int(w >> 16 & 0xffff), int(w & 0xffff)
}

func doneWord(seq uint32, units int, state uint64) uint64 {
	return uint64(seq)<<32 | uint64(units)<<16 | state
}

// share is how many of rest units an end takes at once: large pieces while much is left, small ones in the end, when one end may have
// to wait for the other.
func share(rest int, unit int64) int {
	return max(1, min((rest+1)/2, int(shareMax/unit)))
}

// unitOf is the unit in which n bytes are taken: halves are equal, of whole pages where there are some.
func (m *module) unitOf(n int64) int64 {
	half := (n + 1) / 2
	k := (half + m.opt.CoopChunk - 1) / m.opt.CoopChunk
	unit := (half + k - 1) / k
	if unit > page {
		unit = (unit + page - 1) &^ (page - 1)
	}
	return max(unit, (n+unitsMax-1)/unitsMax)
}

const page = 4096

// pull is a transfer that both ends copy, as the receiver sees it; an endpoint has one for each board.
type pull struct {
	ep    *endpoint
	b     *board
	seq   uint32 // of the newest request
	seen  bool   // the helper is known to have seen that
	maps  bool   // its number is in that, for the helper to map
	left  bool   // the receiver has done low units, and left the others to the helper
	low   int
	t     *btl.Transfer
	unit  int64
	units int
	taken int    // units [taken, units) are the helper's, once nothing is left
	err   error  // why this end stopped
	slot  uint32 // between goroutine ranks: the registration of t.Local
	gen   uint32
}

// A peer that was of no help missMax times in a row, perhaps since it has Gets of its own, is not asked the next skipMax times.
const (
	missMax = 3
	skipMax = 3
)

// learn notes whether the peer did a good part of a Get.
func (ep *endpoint) learn(helped bool) {
	if ep.helped = helped; helped {
		ep.misses = 0
	} else if ep.misses++; ep.misses >= missMax {
		ep.skip = skipMax
	}
}

// initBoards finds the boards of a ring to a peer.
func (ep *endpoint) initBoards() {
	for i := range ep.pulls {
		ep.pulls[i] = pull{ep: ep, b: (*board)(unsafe.Add(ep.ring.data, int64(ep.ring.size)+int64(i)*line)), seen: true}
	}
}

// never notes that the helper cannot write what it was asked to, nor other memory of that kind.
func (p *pull) never() {
	if p.maps {
		p.ep.noHelpMap = true
	} else {
		p.ep.noHelp = true
	}
}

// freeBoard finds a board whose last request is over and was seen; who does not poll is not asked again and again. maps is of the next.
func (ep *endpoint) freeBoard(maps bool) (*pull, int) {
	for i := range ep.pulls {
		p := &ep.pulls[i]
		switch {
		case p.t != nil:
		case p.seen:
			return p, i
		default:
			d := p.b.done.Load()
			if uint32(d>>32) != p.seq {
				continue
			}
			if p.seen = true; d&0xffff == helpNever {
				p.never()
				if p.maps == maps {
					return nil, 0
				}
			}
			return p, i
		}
	}
	return nil, 0
}

// getShared carries a Get out with the peer's help. ok is false when there is none to be had: nothing has been done.
func (ep *endpoint) getShared(t *btl.Transfer) (done, ok bool, err error) {
	p, board := ep.mayAsk(t)
	if p == nil {
		return false, false, nil
	}
	from, err := ep.source(t)
	if err != nil {
		return false, true, err
	}
	ep.count(from, t.N)
	low := p.ask(t, board, ep.helped && t.N <= halvesMax && ep.m.burst())
	if !p.left {
		p.copyFromLow(from, 0, low)
	} else if p.err = p.copy(from, 0, low); p.err != nil {
		p.takeBack()
	}
	if over, err := p.settle(false); over {
		p.end()
		return err == nil, true, err
	}
	ep.m.pulls = append(ep.m.pulls, p)
	return false, true, nil
}

// burst reports whether the ring that is being read has another message behind this one.
func (m *module) burst() bool {
	c := m.reading
	if c == nil {
		return false
	}
	next := c.pos + 1
	return uint32(atomic.LoadUint64((*uint64)(unsafe.Add(c.slots, uintptr(next&c.mask)*line)))) == next+1
}

// mayAsk decides whether the peer is asked for help, and finds a board.
func (ep *endpoint) mayAsk(t *btl.Transfer) (*pull, int) {
	m := ep.m
	if m.opt.CoopLimit == 0 || t.N < 2 || t.N > helpMax || !m.helpable(t.Remote) || uint64(uintptr(t.Local)) > handleMask || ep.ring.bad || ep.ready() != nil {
		return nil, 0
	}
	maps := ep.maps(t.Mem)
	switch {
	case maps && ep.noHelpMap, !maps && ep.noHelp, ep.noCopy != nil && !(maps && ep.maps(t.Remote)):
		return nil, 0
	}
	if ep.skip > 0 {
		ep.skip--
		return nil, 0
	}
	return ep.freeBoard(maps)
}

// ask puts a request into the ring, which has room. It returns how many units from the beginning the receiver has taken before.
// With leave it leaves the rest to the helper, for now.
func (p *pull) ask(t *btl.Transfer, board int, leave bool) (low int) {
	m, r := p.ep.m, &p.ep.ring
	p.t, p.unit, p.err = t, m.unitOf(t.N), nil
	p.units = int((t.N + p.unit - 1) / p.unit)
	local := uint64(uintptr(t.Local))
	if p.maps = p.ep.maps(t.Mem); p.maps {
		local |= t.Mem.B &^ handleMask
	}
	if m.shm.InProcess() {
		p.slot, p.gen = m.shm.Register(t.Local, t.N)
		local = uint64(p.slot) | uint64(p.gen)<<32
	}
	p.seq++
	if low = (p.units + 1) / 2; t.N > halvesMax {
		low = share(p.units, p.unit)
	}
	rest := uint32(0)
	if leave {
		rest = 1
	}
	p.seen, p.left, p.low, p.taken = false, leave, low, low
	publish((*uint64)(unsafe.Pointer(&p.b.cursor)), cursorWord(p.seq, low, p.units), unsafe.Pointer(p.b))
	slot := r.slot()
	*(*uint64)(unsafe.Add(slot, helpLocal)) = local
	*(*uint64)(unsafe.Add(slot, helpA)) = t.Remote.A
	*(*uint64)(unsafe.Add(slot, helpB)) = t.Remote.B
	*(*int64)(unsafe.Add(slot, helpOff)) = t.Off
	*(*int64)(unsafe.Add(slot, helpN)) = t.N
	*(*uint32)(unsafe.Add(slot, helpUnit)) = uint32(p.unit)
	*(*uint32)(unsafe.Add(slot, helpBoard)) = uint32(board)
	*(*uint32)(unsafe.Add(slot, helpSeq)) = p.seq
	*(*uint32)(unsafe.Add(slot, helpRest)) = rest
	r.commit(slot, word(r.pos, 0, 0, 0, kindHelp), r.tail)
	return low // the bell is not rung: a peer that sleeps would come too late
}

// copyFromLow copies the first low units, which are taken, and takes and copies more until nothing is left.
func (p *pull) copyFromLow(from source, at, low int) {
	high := p.units
	if at == low {
		low += p.take(low, &high, false)
	}
	for at < low {
		if p.err = p.copy(from, at, low); p.err != nil {
			p.take(low, &high, true)
			break
		}
		at = low
		low += p.take(low, &high, false)
	}
	p.taken, p.left = high, false
}

// take takes units from low on; 0: nothing is left. high is where the helper's begin, as last seen. With all it takes all, for nobody
// to copy, and returns 0.
func (p *pull) take(low int, high *int, all bool) int {
	for {
		w := p.b.cursor.Load()
		seq, l, h := cursorAt(w)
		if seq != p.seq || l != low || h > *high || h < l {
			p.err = p.spoiled()
			*high = p.units // of which nothing is awaited
			return 0
		}
		if *high = h; l == h {
			return 0
		}
		k := share(h-l, p.unit)
		if all {
			k = h - l
		}
		if p.b.cursor.CompareAndSwap(w, cursorWord(seq, l+k, h)) {
			if all {
				return 0
			}
			return k
		}
	}
}

// copy copies units [a, b).
func (p *pull) copy(from source, a, b int) error {
	at := int64(a) * p.unit
	return p.ep.copyIn(from, unsafe.Add(p.t.Local, at), at, min(int64(b)*p.unit, p.t.N)-at)
}

// takeBack has the receiver copy what the helper has not begun of a transfer that was left to it.
func (p *pull) takeBack() {
	var from source
	if p.err == nil {
		from, p.err = p.ep.source(p.t)
	}
	if p.err == nil {
		p.copyFromLow(from, p.low, p.low)
		return
	}
	high := p.units
	p.take(p.low, &high, true)
	p.taken, p.left = high, false
}

// settle finds out whether the helper has done what it took. gone tells that its process has ended. What it did not do is copied here.
func (p *pull) settle(gone bool) (over bool, err error) {
	n := p.units - p.taken
	if n == 0 {
		p.ep.learn(false)
		return true, p.err
	}
	d := p.b.done.Load()
	got, state := int(d>>16&0xffff), d&0xffff
	switch {
	case p.left && uint32(d>>32) != p.seq: // not seen yet
		return false, nil
	case uint32(d>>32) != p.seq || got > n:
		return true, p.spoiled()
	case got == n:
		p.seen = true
		p.ep.learn(n >= p.units/4)
		return true, p.err
	case state == helpGoesOn && !gone:
		return false, nil
	}
	if state == helpNever {
		p.never()
	}
	if p.err != nil {
		return true, p.err
	}
	from, err := p.ep.source(p.t)
	if err == nil {
		err = p.copy(from, p.taken, p.units-got)
	}
	return true, err
}

// spoiled gives up a peer that writes to a board what no peer of ours would.
func (p *pull) spoiled() error {
	p.ep.ring.bad = true
	return p.ep.full()
}

// end lets go of a transfer that is over.
func (p *pull) end() {
	if m := p.ep.m; m.shm.InProcess() {
		m.shm.Deregister(p.slot, p.gen)
	}
	p.t = nil
}

// busyMax bounds how many passes may find something else to do before the receiver goes on with what it has left to helpers.
const busyMax = 8

// idle reports whether a pass that found n things has time for what is left to helpers.
func (m *module) idle(n int) bool {
	if n > 0 && m.busy < busyMax {
		m.busy++
		return false
	}
	m.busy = 0
	return true
}

// reap ends the transfers whose helpers are done. A receiver that has nothing else to do, idle, shares the work that it had left to a helper.
func (m *module) reap(idle bool) int {
	n := 0
	for i := 0; i < len(m.pulls); {
		p := m.pulls[i]
		gone := p.ep.proc.Failed() != nil && !m.shm.InProcess() && !m.watches(p.ep.proc)
		if p.left && (idle || gone) {
			p.takeBack()
		}
		over, err := p.settle(gone)
		if !over {
			i++
			continue
		}
		m.pulls = append(m.pulls[:i], m.pulls[i+1:]...)
		t := p.t
		p.end()
		t.Owner.TransferDone(t, err)
		n++
	}
	return n
}

// reapOf ends the transfers that a peer was helping with whose process has ended.
func (m *module) reapOf(ep *endpoint) {
	for i := range ep.pulls {
		p := &ep.pulls[i]
		for k, q := range m.pulls {
			if q == p {
				m.pulls = append(m.pulls[:k], m.pulls[k+1:]...)
				if p.left {
					p.takeBack()
				}
				_, err := p.settle(true)
				t := p.t
				p.end()
				t.Owner.TransferDone(t, err)
				break
			}
		}
	}
}

// Divert implements btl.Diverter: no helper is waited for any more. A goroutine rank that is in the middle of a piece is, since that takes
// microseconds; a process may have been stopped, and what it writes meets memory that its request keeps.
func (m *module) Divert(err error) {
	for len(m.pulls) > 0 {
		p := m.pulls[0]
		m.pulls = append(m.pulls[:0], m.pulls[1:]...)
		if p.err == nil {
			p.err = err
		}
		if p.left {
			p.takeBack()
		}
		for over := !m.shm.InProcess(); !over; over, _ = p.settle(false) {
			runtime.Gosched()
		}
		t := p.t
		p.end()
		t.Owner.TransferDone(t, err)
	}
}

// copyIn copies n bytes, which lie at off from the source, to local.
func (ep *endpoint) copyIn(from source, local unsafe.Pointer, off, n int64) error {
	if from.here != nil {
		copyPieces(local, unsafe.Add(from.here, off), n)
		return nil
	}
	return ep.copyError(copyPeer(unix.SYS_PROCESS_VM_READV, ep.peer.PID(), local, from.there+uint64(off), int(n)))
}
